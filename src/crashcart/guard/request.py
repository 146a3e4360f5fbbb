"""Requests to the guard's module inside a process: whether it would take one, and sending it.

Covers: looking whether our handler is in place and may run now, and handing a request over.
Does not cover: what is asked, and when (`apply.py`); answering (`inside/_crashcart_guard.py`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress

from crashcart.guard.inside._crashcart_guard import GUARD_SIGNAL
from crashcart.guard.shared import Shared
from crashcart.probe.process import ProcessReader, is_ours

PATIENCE_S = 1.0
"""A program without memory may take this long to look at a request; one on top of it would only make it slower."""


class Requests:
    """The requests of one run, counted from 1."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._number = 0
        self._sent_at_s = float("-inf")

    def send(self, what: str, pid: int, facts: Mapping[str, object], at_s: float) -> None:
        """The request says whom it is for, and the signal has it read."""
        self._number += 1
        self._sent_at_s = at_s
        self._shared.write_request(self._number, {"pid": pid, "ask": what, **facts})
        if listens(pid):  # still: a program that took another's place would die of the signal
            with suppress(OSError):
                os.kill(pid, GUARD_SIGNAL)

    def is_waiting(self, at_s: float) -> bool:
        """Whether the last request has not been looked at, and may yet be."""
        return self._number > self._shared.seen_request and at_s - self._sent_at_s < PATIENCE_S


def may_be_disturbed(pid: int) -> bool:
    """Whether the main thread runs; a wait of native code would end early."""
    reader = ProcessReader(pid)
    try:
        return reader.main_thread_runs()
    finally:
        reader.close()


def listens(pid: int) -> bool:
    """Whether our handler is in place in that process and would run; a program that handles every signal there is has put its
    own in our place."""
    reader = ProcessReader(pid)
    try:
        caught, blocked = reader.signals_caught() or 0, reader.signals_blocked_main() or 0
        return is_ours(caught, GUARD_SIGNAL) and not blocked >> (GUARD_SIGNAL - 1) & 1
    finally:
        reader.close()
