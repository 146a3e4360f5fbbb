"""The side of a measured program in lockstep: a block of work for each line on stdin, answered by its seconds of both clocks.

Covers: the loop; wall time, and processor time of the whole process, which other load on the machine does not touch.
Does not cover: taking turns (`bench.lockstep`, `cost.py`). Imported by programs that run as scripts.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable


def serve(work: Callable[[], object]) -> None:
    """Say that the program is warm, then work whenever asked."""
    print("ready", flush=True)
    for _ in sys.stdin:
        wall_s, cpu_s = time.perf_counter(), time.process_time()
        work()
        print(time.perf_counter() - wall_s, time.process_time() - cpu_s, flush=True)
