"""Memory does not grow with the number of files."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import Crashcart

MIB = 1 << 20


def links(folder: Path, count: int) -> None:
    """So many names in a hundred folders; hard links are made faster than files."""
    first = folder.with_name(folder.name + ".txt")
    for number in range(count):
        if number % (count // 100) == 0:
            below = folder / f"{number:06d}"
            below.mkdir(parents=True)
        if number % 30_000 == 0:
            first.unlink(missing_ok=True)
            first.write_text(f"line {number}\n")
        os.link(first, below / f"{number:06d}.txt")


def peaks_bytes(pid: int) -> list[int]:
    """What a process and all below it have held at most, each. The kernel keeps that: how often we look does not matter."""
    try:
        found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    own = [int(found[1]) * 1024] if found is not None else []
    return [*own, *(each for child in children for each in peaks_bytes(int(child)))]


def peak_bytes(crashcart: Crashcart, folder: Path, files: int) -> int:
    """Of the largest of its processes."""
    process = subprocess.Popen(
        [sys.executable, "-m", "crashcart", "data", str(folder), "--no-duplicates", "--workers", "2"],
        env=crashcart.environment, cwd=crashcart.scratch, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    peak = 0
    while process.poll() is None:
        peak = max(peak, *peaks_bytes(process.pid), 0)
        time.sleep(0.1)
    assert f"all {files:,} files are sound" in process.communicate()[0]
    return peak


@pytest.mark.timeout(400)
def test_a_hundred_thousand_files_take_no_more_than_ten_thousand(crashcart: Crashcart) -> None:
    few, many = crashcart.scratch / "few", crashcart.scratch / "many"
    links(few, 10_000)
    links(many, 100_000)
    small, large = peak_bytes(crashcart, few, 10_000), peak_bytes(crashcart, many, 100_000)
    assert large < 100 * MIB
    assert large - small < 25 * MIB  # what SQLite keeps of its pages is full by then
