"""How far a run of `crashcart data` is, on stderr: a bar with rate and time to go on a terminal, a line every few
seconds elsewhere.

Covers: how many files there are, counted beside the run (it begins before they are all found); what was found so far.
Does not cover: the report. It prints nothing where stderr is closed, and nothing for a run that is over at once.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Sequence
from typing import Any, TextIO

from crashcart.probe.files_found import Aside, find
from crashcart.probe.files_remote import is_remote
from crashcart.sound import Checked
from crashcart.units import duration

_LINE_S = 5.0
_QUIET_S = 1.0
_DRAW_S = 0.1


class Progress:
    """What a run tells on its way. This one says nothing: for `cc.data` outside of a terminal."""

    def begin(self, paths: Sequence[str], hidden: bool) -> None:
        """The run begins."""

    def add(self, checked: Checked) -> None:
        """One more file."""

    def phase(self, what: str) -> None:
        """The files are checked; something else is done now."""

    def say(self, text: str) -> None:
        """A word that the user should have."""

    def close(self) -> None:
        """The run is over."""


class Lines(Progress):
    """A line every few seconds."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._began_s = time.monotonic()
        self._told_s = self._began_s
        self._files = self._damaged = 0
        self._count: Count | None = None

    def begin(self, paths: Sequence[str], hidden: bool) -> None:
        """From now on. What there is will be counted beside the run, where that takes long enough."""
        self._began_s = self._told_s = time.monotonic()
        self._count = Count(paths, hidden)

    def add(self, checked: Checked) -> None:
        """One more file."""
        self._files += 1
        self._damaged += bool(checked.faults) and checked.damaged
        now_s = time.monotonic()
        if self._count is not None and now_s - self._began_s > _QUIET_S:
            self._count.begin()
        if now_s - self._told_s >= self._every_s:
            self._told_s = now_s
            self._tell(now_s - self._began_s)

    _every_s = _LINE_S

    def _tell(self, after_s: float) -> None:
        total = self._count.total if self._count is not None else None
        of = f" of {total:,}" if total is not None else ""
        rate = self._files / max(1e-9, after_s)
        left = f", {duration((total - self._files) / rate)} to go" if total is not None and self._files < total else ""
        self._write(f"{self._files:,}{of} files, {self._damaged:,} damaged, {rate:,.0f} files/s{left}\n")

    def _write(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):
            self._stream.write(text)
            self._stream.flush()

    def phase(self, what: str) -> None:
        """Say it, where the run takes long enough for anybody to wait."""
        if time.monotonic() - self._began_s > _LINE_S:
            self._write(f"{what}\n")

    def say(self, text: str) -> None:
        """A line of its own."""
        self._write(f"crashcart: {text}\n")

    def close(self) -> None:
        """Stop counting."""
        if self._count is not None:
            self._count.end()


class Bar(Lines):
    """A bar, drawn by rich."""

    _every_s = _DRAW_S

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._bar: Any = None
        self._task: Any = None

    def _tell(self, after_s: float) -> None:
        if self._bar is None:
            if after_s < _QUIET_S:
                return
            self._begin_bar(after_s)
        total = self._count.total if self._count is not None else None
        rate = self._files / max(1e-9, after_s)
        self._bar.update(self._task, completed=self._files, total=total, damaged=self._damaged, rate=f"{rate:,.0f}")

    def _begin_bar(self, after_s: float) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress

        columns = (
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[damaged]} damaged"),
            TextColumn("{task.fields[rate]} files/s"), TimeRemainingColumn(),
        )  # fmt: skip
        self._bar = RichProgress(*columns, console=Console(file=self._stream), transient=True)
        self._task = self._bar.add_task("checking", total=None, damaged=0, rate="")
        self._bar.start()

    def phase(self, what: str) -> None:
        """In place of the word before the bar."""
        if self._bar is not None:
            self._bar.update(self._task, description=what)

    def say(self, text: str) -> None:
        """Above the bar."""
        if self._bar is not None:
            self._bar.console.print(f"crashcart: {text}", markup=False, highlight=False)
        else:
            super().say(text)

    def close(self) -> None:
        """Take the bar away."""
        super().close()
        if self._bar is not None:
            self._bar.stop()


class Count:
    """How many files there are, counted in a thread: names and sizes alone, faster than any check."""

    def __init__(self, paths: Sequence[str], hidden: bool) -> None:
        self._paths, self._hidden = paths, hidden
        self.total: int | None = None
        """None until all are counted."""
        self.thread: threading.Thread | None = None
        self._begun = self._ended = False

    def begin(self) -> None:
        """Count on, beside the run; once.

        Lists that can be read only once, and stores that charge for a listing, are not counted.
        """
        if not self._begun and all(map(_can_be_read_twice, self._paths)):
            self.thread = threading.Thread(target=self._count, name="crashcart-count", daemon=True)
            self.thread.start()
        self._begun = True

    def _count(self) -> None:
        count = 0
        with contextlib.suppress(Exception):
            for _ in find(self._paths, Aside(), self._hidden):
                count += 1
                if self._ended:
                    return
            self.total = count

    def end(self) -> None:
        """Stop."""
        self._ended = True


def _can_be_read_twice(path: str) -> bool:
    """Not so an address, and a list that comes out of a pipe: whoever reads it takes its names from the run."""
    if os.path.lexists(path):
        return True
    return os.path.isfile(path[1:]) if path.startswith("@") else not is_remote(path)


def progress(stream: TextIO | None) -> Progress:
    """The form that the stream can show."""
    if stream is None:
        return Progress()
    try:
        terminal = stream.isatty()
    except ValueError:
        return Progress()
    return Bar(stream) if terminal else Lines(stream)
