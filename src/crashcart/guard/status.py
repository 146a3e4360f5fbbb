"""How far a program would be protected here, and why not further.

Covers: the level of protection on this machine, the limits that the guard would keep to, and the runs guarded now.
Does not cover: printing it (`cli/guard.py`).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from crashcart.evidence import MemoryLimit
from crashcart.guard import airbag, place
from crashcart.guard.file import FILE_NAME
from crashcart.guard.shared import read_processes
from crashcart.guard.slots import FAILED, IN_USE, REACHED, Guarded
from crashcart.probe.memory import memory_limits
from crashcart.probe.process import has_ended
from crashcart.units import size

FULL, REFUSALS, INTERRUPTS, NONE = "full", "refusals", "interrupts", "none"
MEANING = {
    FULL: "large requests are refused or kept on disk, growth is interrupted",
    REFUSALS: "large requests are refused, growth is interrupted; native code that cannot be refused may still die",
    INTERRUPTS: "growth is interrupted between two lines of Python; one large request can still kill",
    NONE: "nothing",
}


@dataclass(frozen=True, slots=True, repr=False)
class Protection:
    """A level, what it means, and what stands in the way of a higher one."""

    level: str
    lacks: tuple[str, ...]
    limits: tuple[MemoryLimit, ...]
    airbag: place.Place

    def __str__(self) -> str:
        lines = [f"guard: {self.level} ({MEANING[self.level]})"]
        lines += [f"  lacks    {lack}" for lack in self.lacks]
        lines += [f"  limit    {size(each.bytes)} ({each.kind}: {each.source})" for each in self.limits]
        if self.airbag.directory:
            lines.append(f"  airbag   up to {size(self.airbag.bound_bytes)} in {self.airbag.directory}")
        return "\n".join(lines)

    __repr__ = __str__


@dataclass(frozen=True, slots=True)
class GuardedRun:
    """A run that is guarded now."""

    folder: Path
    processes: tuple[Guarded, ...]


def expected(folder: Path, environment: Mapping[str, str]) -> Protection:
    """What `crashcart run` would give a program that is started here now."""
    limits = memory_limits(os.getpid()) if sys.platform == "linux" else ()
    found = place.find_place(
        folder, min((each.bytes for each in limits), default=None), environment.get(place.VARIABLE)
    )
    if sys.platform != "linux":
        return Protection(NONE, (f"the guard knows Linux alone, and this is {sys.platform}",), (), found)
    native = airbag.library()
    if native is None:
        lack = "the airbag library was not built: install a C compiler, then `pip install --force-reinstall --no-deps crashcart`"
        return Protection(INTERRUPTS, (lack,), limits, found)
    if airbag.preloadable() is None:
        return Protection(
            INTERRUPTS, (f"the loader cannot preload a path with blanks or colons: {native}",), limits, found
        )
    if not found.directory:
        lack = f"no place for the airbag: {found.reason}; give one with --airbag DIR or {place.VARIABLE}=DIR"
        return Protection(REFUSALS, (lack,), limits, found)
    return Protection(FULL, (), limits, found)


def words(process: Guarded) -> str:
    """One guarded process in words."""
    if process.level & FAILED:
        return f"pid {process.pid}: refusals; its airbag could not be opened ({os.strerror(process.error)})"
    if not process.level & REACHED:
        return f"pid {process.pid}: interrupts; another library stands before the airbag in LD_PRELOAD"
    used = f", {size(process.airbag_bytes)} on disk" if process.level & IN_USE else ""
    return f"pid {process.pid}: full{used}"


def running(folders: Iterable[Path]) -> list[GuardedRun]:
    """The runs among these recordings that have a guarded process now."""
    found = []
    for folder in folders:
        alive = tuple(each for each in read_processes(folder / FILE_NAME) if not has_ended(each.pid))
        if alive:
            found.append(GuardedRun(folder, alive))
    return found
