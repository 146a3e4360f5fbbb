"""The side of a measured program in lockstep: a block of work for each line on stdin, answered by its seconds on stdout.

Covers: the loop. Does not cover: taking turns (`bench.lockstep`). Imported by programs that run as scripts.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable


def serve(work: Callable[[], object]) -> None:
    """Say that the program is warm, then work whenever asked."""
    print("ready", flush=True)
    for _ in sys.stdin:
        start_s = time.perf_counter()
        work()
        print(time.perf_counter() - start_s, flush=True)
