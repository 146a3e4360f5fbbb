"""The one MemoryGuardError of a process.

Covers: the class that the guard raises, whoever loaded it first: the start-up hook under a name of its own, or an import.
Does not cover: raising it (`inside/_crashcart_guard.py`).
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crashcart.guard.inside._crashcart_guard import MemoryGuardError
else:
    from crashcart.guard.inside import _crashcart_guard as _packaged

    MemoryGuardError = sys.modules.setdefault("_crashcart_guard", _packaged).MemoryGuardError

__all__ = ["MemoryGuardError"]
