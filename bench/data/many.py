"""Memory with very many small files: the whole command on both engines, and the most that its process ever held.

python -m bench.data.many [--write] [--files N] [--engine local|dask]

Covers: a million tiny text files and PNGs (hard links to a thousand different ones, so that they take no room; duplicates are not
looked for), the peak of the process that was started (it lists, keeps the state and counts; with Dask it also holds the scheduler of
its own cluster), the largest sum over it and the processes that check, and files a second.
Does not cover: large files; a check reads those in blocks.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from bench.data.clean_images import pillow
from bench.processes import resident_bytes
from bench.report import table, write_section

FILES = 1_000_000
AIM_BYTES = 500 * 1000 * 1000
_KINDS, _FOLDER_FILES, _BAD_EVERY = 1000, 1000, 250
_PEAK = re.compile(r"^VmHWM:\s+(\d+) kB", re.MULTILINE)


@dataclass(frozen=True)
class Held:
    """One run."""

    engine: str
    files: int
    damaged: int
    seconds: float
    peak_bytes: int
    all_bytes: int


def main() -> int:
    parser = argparse.ArgumentParser("bench.data.many")
    parser.add_argument("--write", action="store_true", help="write the results to docs/benchmarks.md")
    parser.add_argument("--files", type=int, default=FILES, help=f"how many files ({FILES})")
    parser.add_argument("--engine", action="append", choices=("local", "dask"), help="this engine alone")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="crashcart-many-") as folder:
        root = Path(folder)
        damaged = write_files(root / "files", root / "kinds", options.files)
        runs = [run(root, engine) for engine in options.engine or ("local", "dask")]
    wrong = [each for each in runs if (each.files, each.damaged) != (options.files, damaged)]
    text = summarise(runs, options.files, damaged)
    print(text)
    if options.write:
        write_section("A million files", "python -m bench.data.many --write", text)
    return 1 if wrong or any(each.peak_bytes > AIM_BYTES for each in runs) else 0


def write_files(folder: Path, kinds: Path, count: int) -> int:
    """The files, by a thousand in a folder; how many of them are damaged."""
    kinds.mkdir()
    damaged = 0
    for number in range(_KINDS):
        data = f"line {number}\n".encode() if number % 2 else pillow("PNG", width=8, height=8)(number)
        (kinds / str(number)).write_bytes(data[:30] if number % _BAD_EVERY == 0 else data)
    for number in range(count):
        place = folder / f"{number // _FOLDER_FILES:06}"
        if number % _FOLDER_FILES == 0:
            place.mkdir(parents=True)
        kind = number % _KINDS
        os.link(kinds / str(kind), place / f"{number:08}{'.txt' if kind % 2 else '.png'}")
        damaged += kind % _BAD_EVERY == 0
    return damaged


def run(root: Path, engine: str) -> Held:
    """The command as a user types it, watched from outside."""
    state = root / f"{engine}.sqlite"
    command = [
        sys.executable,
        "-m",
        "crashcart",
        "data",
        str(root / "files"),
        "--no-duplicates",
        "--json",
        "--engine",
        engine,
    ]
    out = root / f"{engine}.json"
    began_s = time.perf_counter()
    with out.open("wb") as stdout:
        process = subprocess.Popen([*command, "--state", str(state)], stdout=stdout, stderr=subprocess.DEVNULL)
        peak_bytes = all_bytes = 0
        while process.poll() is None:
            peak_bytes = max(peak_bytes, _peak_bytes(process.pid))
            all_bytes = max(all_bytes, _tree_bytes(process.pid))
            time.sleep(0.2)
    seconds = time.perf_counter() - began_s
    told = json.loads(out.read_bytes())
    held = Held(engine, told["files"], told["damaged_files"], seconds, peak_bytes, all_bytes)
    print(f"{engine}: {held}", flush=True)
    return held


def _peak_bytes(pid: int) -> int:
    try:
        found = _PEAK.search(Path(f"/proc/{pid}/status").read_text())
    except OSError:
        return 0
    return int(found.group(1)) * 1024 if found else 0


def _tree_bytes(pid: int) -> int:
    try:
        threads = os.listdir(f"/proc/{pid}/task")  # each has the children that it started itself
        begun = (Path(f"/proc/{pid}/task/{thread}/children").read_text().split() for thread in threads)
        return resident_bytes(pid) + sum(_tree_bytes(int(child)) for found in begun for child in found)
    except OSError:
        return 0


def summarise(runs: list[Held], files: int, damaged: int) -> str:
    rows = [
        [each.engine, f"{each.files:,}", f"{each.damaged:,}", f"{each.peak_bytes / 1e6:.0f} MB", f"{each.all_bytes / 1e6:.0f} MB",
         f"{each.seconds:.0f} s", f"{each.files / each.seconds:,.0f}"]
        for each in runs
    ]  # fmt: skip
    head = [
        "engine",
        "files counted",
        "damaged",
        "peak of the process",
        "largest sum with its workers",
        "took",
        "files/s",
    ]
    return (
        f"{files:,} small files, {damaged:,} of them damaged.\n\n{table(head, rows)}\n\nAim: the process holds ≤ {AIM_BYTES / 1e6:.0f} MB. "
        "The sum counts memory that processes share once for each of them."
    )


if __name__ == "__main__":
    sys.exit(main())
