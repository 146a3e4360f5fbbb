"""Read a compressed log with a flipped byte."""

import gzip
import os
import pathlib
import tempfile

WORK = pathlib.Path(os.environ.get("CRASHCART_BENCH_TMP") or tempfile.mkdtemp())


def write_log():
    path = WORK / "events.jsonl.gz"
    with gzip.open(path, "wt") as file:
        file.writelines(f'{{"event": {number}}}\n' for number in range(50_000))
    raw = bytearray(path.read_bytes())
    raw[-6] ^= 0xFF
    path.write_bytes(raw)
    return path


def events(path):
    with gzip.open(path, "rt") as file:
        for line in file:  # <-- dies here
            yield line.strip()


if __name__ == "__main__":
    print(sum(1 for _ in events(write_log())), "events")
