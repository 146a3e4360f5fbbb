"""Measure plain and watched kernels in turn, and write docs/benchmarks.md.

    python -m bench.kernel_cost [--starts 15] [--cells 200]

Covers: the time from starting a kernel to its first answer, the round trip of an empty and of a `pass` cell, the watcher's size.
Does not cover: what the guard costs a cell that works (`bench.guard_cost`).
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

from bench.kernel_cost.timed import TimedKernel
from bench.kernels import make_plain, make_watched
from bench.report import spread, table, write_section

BLOCK = 20
NOTE = """Kernels of ipykernel, watched with the guard on as `crashcart jupyter enable` leaves them. Starts alternate: {starts} of each,
from the request to start to the kernel's first answer. Cells alternate in blocks of {block} between two kernels that live at once:
{cells} cells each, from sending the request until both the reply and the `idle` status are there. The difference is the
median over neighbours; in parentheses the least and the most of single measurements."""


def main() -> int:
    parser = argparse.ArgumentParser("bench.kernel_cost")
    parser.add_argument("--starts", type=int, default=25)
    parser.add_argument("--cells", type=int, default=200)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="crashcart-kernels-") as folder:
        kinds = {"plain": Path(folder) / "plain", "watched": Path(folder) / "watched"}
        make_plain(kinds["plain"])
        make_watched(kinds["watched"])
        starts = start_times(kinds, options.starts)
        empty, passing, resident_bytes = cell_times(kinds, options.cells)
    rows = [
        _row("start until the first answer", starts, "≤ +150 ms"),
        _row("an empty cell", empty, "≤ +2 ms"),
        _row("a cell with `pass`", passing, "≤ +2 ms"),
        ["watcher, resident", "–", f"{resident_bytes / 1e6:.1f} MB", "–", "≤ 35 MB"],
    ]
    body = table(["what", "plain", "watched", "difference", "target"], rows)
    note = NOTE.format(starts=options.starts, cells=options.cells, block=BLOCK)
    print(f"{body}\n\n{note}")
    write_section("Cost of a watched kernel", "make bench-kernel-cost", f"{body}\n\n{note}")
    return 0


Times = dict[str, list[float]]


def start_times(kinds: dict[str, Path], count: int) -> Times:
    """Milliseconds to the first answer, one kernel of each kind after the other."""
    found: Times = {name: [] for name in kinds}
    for number in range(count + 1):
        for name in sorted(kinds, reverse=bool(number % 2)):
            kernel = TimedKernel(kinds[name])
            if number:  # the first start of each fills the caches
                found[name].append(kernel.started_ms)
            kernel.close()
    return found


def cell_times(kinds: dict[str, Path], count: int) -> tuple[Times, Times, int]:
    """Milliseconds per empty cell and per `pass` cell, and the watcher's resident bytes after them."""
    kernels = {name: TimedKernel(folder) for name, folder in kinds.items()}
    try:
        measured = []
        for code in ("", "pass"):
            _in_turn(kernels, BLOCK, code)
            measured.append(_in_turn(kernels, count, code))
        return measured[0], measured[1], kernels["watched"].lead_resident_bytes()
    finally:
        for kernel in kernels.values():
            kernel.close()


def _in_turn(kernels: dict[str, TimedKernel], count: int, code: str) -> Times:
    found: Times = {name: [] for name in kernels}
    for block in range(count // BLOCK):
        for name in sorted(kernels, reverse=bool(block % 2)):
            found[name].extend(kernels[name].cell_ms(code) for _ in range(BLOCK))
    return found


def _row(what: str, times: Times, target: str) -> list[str]:
    added = statistics.median(mine - other for mine, other in zip(times["watched"], times["plain"], strict=True))
    return [what, spread(times["plain"], "ms"), spread(times["watched"], "ms"), f"{added:+.1f} ms", target]


if __name__ == "__main__":
    sys.exit(main())
