"""Open all shards of a dataset at once and read them round robin."""

import os
import pathlib
import tempfile

WORK = pathlib.Path(os.environ.get("CRASHCART_BENCH_TMP") or tempfile.mkdtemp())
SHARDS = 400


def write_shards():
    for number in range(SHARDS):
        (WORK / f"shard-{number:04d}.csv").write_text(f"{number},{number * 2}\n")


class ShardReader:
    def __init__(self, directory):
        paths = sorted(directory.glob("shard-*.csv"))
        self.files = [path.open() for path in paths]  # <-- dies here

    def rows(self):
        for file in self.files:
            yield from file


if __name__ == "__main__":
    write_shards()
    print(sum(1 for _ in ShardReader(WORK).rows()), "rows")
