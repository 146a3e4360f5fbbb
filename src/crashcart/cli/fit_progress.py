"""What `crashcart fit` is doing, shown where somebody looks: one line of a notebook's output, or of a terminal.

Covers: nothing while it is fast; in a notebook, work that does not report for a while (a trace), by a thread that only looks at
the clock. Does not cover: what is being done (`fit_step.py`, `fit_ask.py`).
"""

from __future__ import annotations

import contextvars
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Protocol, TextIO

from crashcart.cli.fit_ask import QUIET_S, Progress, Tick
from crashcart.units import duration

_EACH_S = 0.5


class Shown(Protocol):
    """A line that says what is being done, once it takes longer than a second."""

    def __call__(self, phase: str) -> None:
        """Say it, if it is time to."""

    def clear(self) -> None:
        """Give the line back."""


class NotebookProgress:
    """One line below the cell, which changes."""

    def __init__(self, display: Any) -> None:
        self._display, self._handle = display, None
        self._began_s = self._last_s = time.monotonic()

    def __call__(self, phase: str) -> None:
        """Show it, if it is time to."""
        now_s = time.monotonic()
        if now_s - self._began_s >= QUIET_S and (self._handle is None or now_s - self._last_s >= _EACH_S):
            self._last_s = now_s
            self._show(f"{phase}, {duration(now_s - self._began_s)}")

    def clear(self) -> None:
        """Leave nothing behind."""
        if self._handle is not None:
            self._show("")

    def _show(self, words: str) -> None:
        data = {"text/plain": words}
        with suppress(Exception):  # whatever the front end does not take: the estimate goes on without
            if self._handle is None:
                self._handle = self._display(data, raw=True, display_id=True)
            else:
                self._handle.update(data, raw=True)


def progress_here(stream: TextIO | None) -> Shown:
    """The notebook's output where there is one; else the stream, where it is a terminal."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if getattr(shell, "kernel", None) is None:
        return Progress(stream)
    from IPython.display import display

    return NotebookProgress(display)


@contextmanager
def told_meanwhile(shown: Shown) -> Iterator[Tick]:
    """Inside, what is told is shown over and over, by a thread, since the one that works has no time to."""
    over, phase = threading.Event(), ["starting"]

    def look() -> None:
        wait_s = QUIET_S
        while not over.wait(wait_s):
            shown(phase[0])
            wait_s = _EACH_S

    # In the cell's own context: the kernel knows by it which cell the line belongs to.
    thread = threading.Thread(target=contextvars.copy_context().run, args=(look,), daemon=True)
    thread.start()
    try:
        yield lambda now: phase.__setitem__(0, now)
    finally:
        over.set()
        thread.join()
        shown.clear()
