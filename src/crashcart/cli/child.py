"""What every child that runs the user's model does first: it is the one to go where memory runs out, and it does not stay behind.

Covers: the kernel's choice of whom to kill, and a watch on the parent. Does not cover: limits (`contained.py`).
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from pathlib import Path

_LOOK_S = 1.0


def first_to_go() -> None:
    """If the memory runs out, this process is the one to go, and not the one that asked."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


def end_with(parent: int) -> None:
    """Whoever kills our parent cannot be told; a child that eats memory must not stay behind. The parent says who it is: it
    may be gone before we ask."""
    if os.getppid() != parent:
        os._exit(1)
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_LOOK_S)
    os._exit(1)
