"""What is asked of `crashcart data`, by the command or by `cc.data`; and the command that asks the same again.

Covers: refusing, before hours of checking and not after them, what cannot be meant; limits that were not given; the options
in the words of a shell.
Does not cover: parsing (`data.py`), doing it (`data_run.py`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from crashcart.cli.data_engines import DASK, LOCAL
from crashcart.data.pool import Limits
from crashcart.data.shares import LEAST_BYTES, most_processes, share_bytes
from crashcart.errors import UsageError
from crashcart.probe.cores import usable_cores
from crashcart.sound import Wanted
from crashcart.units import parse_size, size

TIMEOUT_S = 60.0


@dataclass(frozen=True)
class Order:
    """What is asked for."""

    paths: tuple[str, ...]
    wanted: Wanted = field(default_factory=lambda: Wanted(duplicates=True))
    out: str | None = None
    good: str | None = None
    quarantine: str | None = None
    hidden: bool = False
    workers: int | None = None
    timeout_s: float = TIMEOUT_S
    memory: str | int | None = None
    state: str | None = None
    fresh: bool = False
    engine: str = LOCAL
    scheduler: str | None = None
    html: str | None = None
    may_fork: bool = False
    """This process is a command of ours: what checks may be a copy of it."""

    def __post_init__(self) -> None:
        """UsageError for what cannot be meant."""
        if not self.paths:
            raise UsageError("received no path", "As in: crashcart data images/")
        if self.workers is not None and self.workers < 1:
            raise UsageError(f"received --workers {self.workers}; expected 1 or more")
        if self.timeout_s <= 0:
            raise UsageError(f"received --timeout {self.timeout_s:g}; expected more than 0 seconds")
        if self.wanted.classes is not None and self.wanted.classes < 1:
            raise UsageError(f"received --classes {self.wanted.classes}; expected 1 or more")
        if self.engine not in (LOCAL, DASK):
            raise UsageError(f"received --engine {self.engine}; expected {LOCAL} or {DASK}")
        if self.scheduler is not None and self.engine != DASK:
            raise UsageError(f"received --scheduler {self.scheduler} without --engine dask", "Add --engine dask.")
        for name in (self.out, self.good, self.html):
            _refuse_a_place_that_is_not_there(name)

    @cached_property
    def processes(self) -> int:
        """One for each core that we may use, as far as there is memory for them."""
        return most_processes(usable_cores()) if self.workers is None else self.workers

    @property
    def own_processes(self) -> int | None:
        """The same, where they are ours: those of a cluster come and go."""
        return self.processes if self.scheduler is None else None

    @property
    def given_memory_bytes(self) -> int | None:
        """What the user said that one process may take."""
        try:
            given = parse_size(self.memory) if isinstance(self.memory, str) else self.memory
        except ValueError as error:
            raise UsageError(str(error)) from None
        if given is not None and given < LEAST_BYTES:
            raise UsageError(f"received --memory {self.memory}; expected at least {size(LEAST_BYTES)}")
        return given

    @cached_property
    def limits(self) -> Limits:
        """What one file may take."""
        given = self.given_memory_bytes
        return Limits(self.timeout_s, memory_bytes=share_bytes(self.processes) if given is None else given)

    @property
    def options(self) -> tuple[str, ...]:
        """How files are to be checked, as words of a command. Not `--fresh`: asked again, it would forget this run."""
        wanted = self.wanted
        values = {
            "--classes": wanted.classes, "--label": wanted.label, "--workers": self.workers,
            "--timeout": None if self.timeout_s == TIMEOUT_S else f"{self.timeout_s:g}", "--memory": self.memory,
            "--engine": None if self.engine == LOCAL else self.engine, "--scheduler": self.scheduler, "--state": self.state,
        }  # fmt: skip
        flags = {"--no-duplicates": not wanted.duplicates, "--quick": wanted.quick, "--hidden": self.hidden}
        return (*_given(values), *(name for name, on in flags.items() if on))

    @property
    def results(self) -> tuple[str, ...]:
        """What is to be written and moved, as words of a command."""
        names = {"--out": self.out, "--good": self.good, "--quarantine": self.quarantine, "--html": self.html}
        return tuple(_given(names))


def _given(values: Mapping[str, object]) -> Iterator[str]:
    for name, value in values.items():
        if value is not None:
            yield from (name, str(value))


def _refuse_a_place_that_is_not_there(name: str | None) -> None:
    """Before hours of checking, not after them."""
    if name and not os.path.isdir(os.path.dirname(os.path.abspath(name))):
        raise UsageError(f"cannot write {name}: there is no folder {os.path.dirname(name)}", "Name another file.")
    if name and os.path.isdir(name):
        raise UsageError(f"cannot write {name}: it is a folder", "Name a file.")
