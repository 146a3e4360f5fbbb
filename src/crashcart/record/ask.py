"""Asking one hooked process for stacks and holders, by signals that cannot hurt it.

Covers: sending a request only where the hook's own handler will take it, and taking over what was written.
Does not cover: when to ask (`pace.py`). The process is never signalled while its main thread waits for signals
(`pause`, `sigwait`), because any caught signal would end that wait.
"""

from __future__ import annotations

import os
from pathlib import Path

from crashcart.probe.process import ProcessReader
from crashcart.record.inside._crashcart_hook import ALL_STACKS_SIGNAL, HOLDERS_SIGNAL, STACK_SIGNAL

LARGEST_FILE_BYTES = 512 * 1024
LARGEST_DUMP_BYTES = 24 * 1024

# pause, rt_sigsuspend, rt_sigtimedwait, signalfd reads show as read and are harmless (ours is not in the set).
_WAITS_FOR_SIGNALS = {
    "x86_64": frozenset({34, 130, 128}),
    "aarch64": frozenset({133, 137}),
}.get(os.uname().machine, frozenset())


class Respondent:
    """A process below us in which the hook runs."""

    def __init__(self, pid: int, folder: Path) -> None:
        self.pid = pid
        self.reader = ProcessReader(pid)
        self._path = folder / f"stacks-{pid}.txt"
        self._pipe = folder / f"ask-{pid}"
        self._taken_bytes = 0
        self._main_cpu_ns: int | None = None

    def ask_stack(self) -> bool:
        """Ask for the main thread's stack, if it has done anything since the last time."""
        cpu_ns = self.reader.main_thread_cpu_ns()
        if cpu_ns is None or cpu_ns == self._main_cpu_ns:
            return False
        if not self._send(STACK_SIGNAL):
            return False
        self._main_cpu_ns = cpu_ns
        return True

    def ask_all_stacks(self) -> bool:
        """Ask for the stacks of all threads: dearer, and only when the end may be near."""
        return self._send(ALL_STACKS_SIGNAL)

    def ask_holders(self) -> bool:
        """Ask for the largest named objects: the hook's own thread if there is one, else the main thread, which answers
        when it next runs Python code."""
        try:
            pipe = os.open(self._pipe, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return self._send(HOLDERS_SIGNAL)
        try:
            return os.write(pipe, b"h") == 1
        except OSError:
            return False
        finally:
            os.close(pipe)

    def _send(self, number: int) -> bool:
        """Signal the process if, at this moment, its handler is in place and its main thread may be disturbed."""
        caught, blocked = self.reader.signals_caught(), self.reader.signals_blocked_main()
        bit = 1 << (number - 1)
        if caught is None or not caught & bit or (blocked or 0) & bit:
            return False
        if self.reader.main_thread_sleeping_in() in _WAITS_FOR_SIGNALS:
            return False
        try:
            os.kill(self.pid, number)
        except OSError:
            return False
        return True

    def collect(self) -> tuple[str, int] | None:
        """What was written since the last time and how far the file is taken over; None where nothing new is there."""
        try:
            size_bytes = self._path.stat().st_size
            if size_bytes <= self._taken_bytes:
                return None
            with self._path.open("rb") as stream:
                stream.seek(max(self._taken_bytes, size_bytes - LARGEST_DUMP_BYTES))
                text = stream.read(LARGEST_DUMP_BYTES).decode("utf-8", "replace")
            self._taken_bytes = size_bytes
            if size_bytes > LARGEST_FILE_BYTES:
                os.truncate(self._path, 0)
                self._taken_bytes = 0
        except OSError:
            return None
        return text, self._taken_bytes
