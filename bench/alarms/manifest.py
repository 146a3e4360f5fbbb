"""All programs of the bench: each uses much memory, or seems to, and is in the right.

Covers: their limits, arguments and needs. A program that is told how far to fill its memory gets that in megabytes of its own
anonymous memory; the watcher, which is in the same group, comes on top.
Does not cover: programs that run out of memory (`bench.survive`).
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.survive.setups import log_file
from bench.trial import Program

PROGRAMS = Path(__file__).resolve().parent / "programs"
# What the group is charged beside the program's anonymous memory: watcher and kernel memory, measured with these programs.
_WATCHER_MB = 16


@dataclass(frozen=True, slots=True)
class Peaceful:
    """A program that must run under the guard as it runs without it."""

    name: str
    program: Program
    does: str
    """What looks like a danger, in a few words."""


def _peaceful(name: str, limit_mb: int, does: str, fill: float | None = None, **more: Any) -> Peaceful:
    """With `fill`, the group is to be that full in the end, with the watcher in it."""
    args = () if fill is None else (str(int(limit_mb * fill) - _WATCHER_MB),)
    return Peaceful(name, Program(PROGRAMS / f"{name}.py", limit_mb, args, **more), does)


def _shell(limit: str) -> tuple[str, ...]:
    return ("/bin/sh", "-c", f'{limit}; exec "$0" "$@"', "{python}", "{program}")


def _count_library(tmp: Path) -> None:
    source, library = PROGRAMS / "count.c", tmp / "libcount.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"], check=True)


ALARMS: tuple[Peaceful, ...] = (
    _peaceful("one_block", 600, "92 % of the limit in one NumPy array", 0.92),
    _peaceful("small_objects", 600, "92 % of the limit in small Python objects", 0.92),
    _peaceful("tensors", 1200, "90 % of the limit in tensors", 0.90),
    _peaceful("spikes", 600, "20 times to 90 % of the limit and back", 0.90),
    _peaceful("sparse_zeros", 400, "20 GB of zeros, touched here and there"),
    _peaceful("sparse_mapping", 400, "10 GB mapped, touched here and there"),
    _peaceful("memmap_written", 400, "a 1.2 GB file written and read by `np.memmap`"),
    _peaceful("mapped_file", 300, "a 1.2 GB file read by `mmap`", setup=log_file("server.log", 1200)),
    _peaceful("page_cache", 300, "the page cache full of files", setup=log_file("server.log", 1200)),
    _peaceful("forked_pool", 500, "four forked workers that share 300 MB"),
    _peaceful("many_threads", 300, "200 threads"),
    _peaceful("many_subprocesses", 300, "300 programs started, none of them Python"),
    _peaceful("large_stacks", 300, "8 threads with 1 GB of stack each", argv=_shell("ulimit -s 1000000")),
    _peaceful("churn", 300, "100 MB taken and given back 300 times"),
    _peaceful("growing_buffer", 600, "a `bytearray` that grows to 85 % of the limit", 0.85),
    _peaceful("absurd_request", 300, "80 TB asked for, MemoryError caught"),
    _peaceful("sqlite_frames", 500, "sqlite and pandas, medium data"),
    _peaceful("garbage", 300, "rings of objects for the collector"),
    _peaceful("own_signals", 300, "handlers of its own, timers, sleeps"),
    _peaceful(
        "preloaded",
        300,
        "another library preloaded that takes malloc",
        setup=_count_library,
        env={"LD_PRELOAD": "{tmp}/libcount.so"},
    ),
    _peaceful("training", 1200, "a training with prefetch at 85 % of the limit", 0.85),
    _peaceful("address_space", 400, "`ulimit -v` of 2 GB", argv=_shell("ulimit -v 2000000")),
    _peaceful("closed_descriptors", 400, "all unknown descriptors closed"),
    _peaceful("replaced", 400, "`exec` of itself, four times"),
)
