"""One hooked process: its stacks, read from outside, and its largest named objects, asked for.

Covers: finding out how to read its interpreter, reading its stacks without disturbing it, and asking for a survey of
holders by a pipe or a signal that cannot hurt it.
Does not cover: when to do either (`pace.py`). The one signal is sent only where the hook's own handler will take it, and
never while the main thread waits for signals (`pause`, `sigwait`), because any caught signal would end that wait.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from crashcart.blackbox.ring import ForeignFileError, read_payloads
from crashcart.probe.process import ProcessReader
from crashcart.probe.python_stack import FrameFacts, Interpreter, PythonStackReader
from crashcart.record.inside._crashcart_hook import HOLDERS_SIGNAL

MOST_KEPT_FRAMES = 60

# pause, rt_sigsuspend, rt_sigtimedwait; a signalfd shows as read and is harmless (ours is not in its set).
_WAITS_FOR_SIGNALS = {
    "x86_64": frozenset({34, 130, 128}),
    "aarch64": frozenset({133, 137}),
}.get(os.uname().machine, frozenset())


class Respondent:
    """A process below us in which the hook runs."""

    def __init__(self, pid: int, folder: Path) -> None:
        self.pid = pid
        self._process = ProcessReader(pid)
        self._pipe = folder / f"ask-{pid}"
        self._stacks = _stack_reader(pid, folder / f"program-{pid}.ring")
        self._main_cpu_ns: int | None = None

    def main_stack(self) -> list[dict[str, Any]] | None:
        """The main thread's stack, if it has done anything since the last time."""
        cpu_ns = self._process.main_thread_cpu_ns()
        if self._stacks is None or cpu_ns is None or cpu_ns == self._main_cpu_ns:
            return None
        self._main_cpu_ns = cpu_ns
        frames = self._stacks.main_thread()
        return None if not frames else [_thread(frames, main=True)]

    def all_stacks(self) -> list[dict[str, Any]] | None:
        """The stacks of all threads."""
        if self._stacks is None:
            return None
        frames = self._stacks.main_thread()
        main = [_thread(frames, main=True)] if frames else []
        return [*main, *(_thread(each, main=False) for each in self._stacks.other_threads())] or None

    def ask_holders(self) -> bool:
        """Ask for the largest named objects: the hook's own thread if there is one, else the main thread, which answers
        when it next runs Python code."""
        try:
            pipe = os.open(self._pipe, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return self._signal()
        try:
            return os.write(pipe, b"h") == 1
        except OSError:
            return False
        finally:
            os.close(pipe)

    def _signal(self) -> bool:
        """Signal the process if, at this moment, its handler is in place and its main thread may be disturbed."""
        caught, blocked = self._process.signals_caught(), self._process.signals_blocked_main()
        bit = 1 << (HOLDERS_SIGNAL - 1)
        if caught is None or not caught & bit or (blocked or 0) & bit:
            return False
        if self._process.main_thread_sleeping_in() in _WAITS_FOR_SIGNALS:
            return False
        try:
            os.kill(self.pid, HOLDERS_SIGNAL)
        except OSError:
            return False
        return True

    def close(self) -> None:
        """Give the descriptors back."""
        self._process.close()
        if self._stacks is not None:
            self._stacks.close()


def _stack_reader(pid: int, ring: Path) -> PythonStackReader | None:
    """A reader for the interpreter that the hook described in its first record; None where it cannot be read."""
    try:
        first: dict[str, Any] = next((json.loads(payload) for payload in read_payloads(ring.read_bytes())), {})
    except (OSError, ForeignFileError):
        return None
    if not first.get("version") or not first.get("thread_state"):
        return None
    major, minor = first["version"]
    interpreter = Interpreter((major, minor), first["thread_state"], first["code_type"], first["code_bytes"])
    reader = PythonStackReader(pid, interpreter)
    return None if reader.unreadable else reader


def _thread(frames: list[FrameFacts], main: bool) -> dict[str, Any]:
    """A stack as it is recorded: innermost first, the outermost left out where it is very deep."""
    return {"main": main, "frames": frames[:MOST_KEPT_FRAMES], "cut": len(frames) > MOST_KEPT_FRAMES}
