"""Runs the check of a format, and tells what kept it from its end: never a fault of the file.

Covers: a library that is not here, content too large or nested too deeply to be looked at, a surprise of a library.
Does not cover: reading (an OSError passes) and memory (a MemoryError passes: it may say more about the process than about the
file).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from crashcart.probe.file_content import Faults, TooLargeError
from crashcart.probe.file_lacking import LackingError
from crashcart.sound import UNCHECKED


def guarded(format: str, faults: Faults, check: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What the check learnt; nothing where it could not go on, which is told."""
    try:
        return check()
    except LackingError as lacking:
        faults.add("no-library", f"{format}: {lacking}", weight=UNCHECKED)
    except TooLargeError as large:
        faults.add("too-large", f"{large} bytes, which this format needs as a whole", weight=UNCHECKED)
    except RecursionError:  # the depth is that of the parser's own calls: no memory would change it
        faults.add("not-checked", f"{format}: nested too deeply for the parser", weight=UNCHECKED)
    except (MemoryError, OSError):
        raise
    except Exception as error:  # a library's surprise, or our own mistake: it says nothing against the file
        faults.add(
            "not-checked", f"{format}: the check failed ({type(error).__name__}: {error})"[:300], weight=UNCHECKED
        )
    return {}
