"""crashcart: no kernel dies unexplained, no kernel dies of memory that could have lived, no work is lost.

`import crashcart as cc` imports nothing heavy and never TensorFlow; each name below is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crashcart.api import note, recordings, run, why
    from crashcart.finding import Cause, Confidence, Finding, Report

__version__ = "0.1.0"
__all__ = ["Cause", "Confidence", "Finding", "Report", "note", "recordings", "run", "why"]

_HOMES = {
    **dict.fromkeys(("run", "why", "recordings", "note"), "crashcart.api"),
    **dict.fromkeys(("Cause", "Confidence", "Finding", "Report"), "crashcart.finding"),
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'crashcart' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
