"""Requests to the guard's module inside a process: whether it would take one, and the files that carry them.

Covers: looking whether our handler is in place and may run now, and lines of facts that need no parser to be imported.
Does not cover: what is asked, and when (`apply.py`); answering (`inside/_crashcart_guard.py`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from crashcart.guard.inside._crashcart_guard import GUARD_SIGNAL
from crashcart.probe.process import ProcessReader, is_ours


def write_facts(path: Path, facts: Mapping[str, object]) -> None:
    """Lines of a name, a blank and a value, under a temporary name first: a reader sees all of them or none."""
    scratch = path.with_name(f"{path.name}.new")
    handle = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as stream:
        stream.writelines(f"{name} {value}\n" for name, value in facts.items())
    scratch.rename(path)


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
