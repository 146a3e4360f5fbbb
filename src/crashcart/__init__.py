"""crashcart: no kernel dies unexplained, no kernel dies of memory that could have lived, no work is lost.

`import crashcart as cc` imports nothing heavy and never TensorFlow; each name below is loaded when it is first used.
A room's name (`cc.why`) is the function of that name, also after the room's package has been imported.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crashcart.api import MemoryGuardError, doctor, fit, guard, largest_batch, note, recordings, run, why
    from crashcart.cli.data_live import data
    from crashcart.cli.leaks_live import LeakCallback, leaks
    from crashcart.cli.leaks_step import step
    from crashcart.cli.pipeline_functions import bounded, explain_errors, pipeline
    from crashcart.finding import Cause, Confidence, Finding, Report

__version__ = "0.1.0"
__all__ = [
    "Cause",
    "Confidence",
    "Finding",
    "LeakCallback",
    "MemoryGuardError",
    "Report",
    "bounded",
    "data",
    "doctor",
    "explain_errors",
    "fit",
    "guard",
    "largest_batch",
    "leaks",
    "note",
    "pipeline",
    "recordings",
    "run",
    "step",
    "why",
]

_HOMES = {
    **dict.fromkeys(
        ("MemoryGuardError", "doctor", "fit", "guard", "largest_batch", "run", "why", "recordings", "note"),
        "crashcart.api",
    ),
    **dict.fromkeys(("bounded", "explain_errors", "pipeline"), "crashcart.cli.pipeline_functions"),
    "data": "crashcart.cli.data_live",
    **dict.fromkeys(("LeakCallback", "leaks"), "crashcart.cli.leaks_live"),
    "step": "crashcart.cli.leaks_step",
    **dict.fromkeys(("Cause", "Confidence", "Finding", "Report"), "crashcart.finding"),
}


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext crashcart`: the commands as magics."""
    from crashcart.jupyter.magics import load_ipython_extension as load

    load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """`%unload_ext crashcart`."""
    from crashcart.jupyter.magics import unload_ipython_extension as unload

    unload(shell)


class _Lazy:
    """An attribute of the package that imports its home when it is first read.

    It is a data descriptor on the package's class, so it also wins over the binding of a sub-package by the same name,
    which Python makes on import.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, package: ModuleType | None, _kind: type | None = None) -> Any:
        from importlib import import_module

        return getattr(import_module(_HOMES[self.name]), self.name)

    def __set__(self, package: ModuleType, value: object) -> None:
        return


class _Room(_Lazy):
    """A room that is used by its own functions: `cc.remedy.accumulate`."""

    def __get__(self, package: ModuleType | None, _kind: type | None = None) -> Any:
        from importlib import import_module

        return import_module(f"crashcart.{self.name}")


class _Package(ModuleType):
    def __dir__(self) -> list[str]:
        return sorted([*__all__, "__version__", "remedy"])


for _name in _HOMES:
    setattr(_Package, _name, _Lazy(_name))
for _name in ("remedy",):
    setattr(_Package, _name, _Room(_name))
sys.modules[__name__].__class__ = _Package
