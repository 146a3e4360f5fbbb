"""`cc.step`: the program says that a step is done.

Covers: telling whoever watches this process. Does not cover: watching (`cc.leaks` in `leaks_live.py`, `crashcart leaks`).
It imports nothing, because it is called in programs that nobody watches, too.
"""

from __future__ import annotations

import sys
from typing import Any


def step() -> None:
    """Mark the end of a step, for `crashcart leaks` and `cc.leaks()`; without either it does nothing."""
    watch: Any = sys.modules.get("_crashcart_leaks")
    if watch is not None:
        watch.mark()
