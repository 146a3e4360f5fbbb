"""One hooked process: its stacks, read from outside, and its largest named objects, asked for.

Covers: finding out how to read its interpreter, reading its stacks without disturbing it, and asking for a survey of
holders by a pipe or a signal that cannot hurt it.
Does not cover: when to do either (`pace.py`). The one signal is sent only where the hook's own handler will take it, and
only while the main thread runs or waits in a call that the kernel restarts: a sleep or `pause` would end early.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from crashcart.probe.process import ProcessReader, is_ours
from crashcart.probe.python_stack import FrameFacts, Interpreter, PythonStackReader
from crashcart.probe.source import source_line
from crashcart.record.inside._crashcart_hook import HOLDERS_SIGNAL

MOST_KEPT_FRAMES = 60

DEEPEST_STACK = 300
"""A handler needs some room below the recursion limit, which is 1000 unless the program lowered it."""
_PYTHON_SLEEP = re.compile(r"(?<![\w.])(?:time\.)?sleep\(")
_SLEEP = {"x86_64": 230, "aarch64": 115}.get(os.uname().machine)
# read, write, wait4, futex: the kernel takes these up again after a handler as if nothing had been. Sleeps, polls and
# waits for signals it does not.
_RESTARTED_CALLS: frozenset[int | None] = {
    "x86_64": frozenset({0, 1, 61, 202}),
    "aarch64": frozenset({63, 64, 98, 260}),
}.get(os.uname().machine, frozenset())


class Respondent:
    """A process below us in which the hook runs."""

    def __init__(self, pid: int, folder: Path) -> None:
        self.pid = pid
        self._process = ProcessReader(pid)
        self._pipe = folder / f"ask-{pid}"
        self._stacks = _stack_reader(pid, folder / f"program-{pid}.json")
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
        """Signal the process if, at this moment, its main thread may be disturbed and its handler is in place."""
        frames = self._stacks.main_thread() if self._stacks is not None else None
        if not frames or len(frames) > DEEPEST_STACK or not self._may_be_disturbed(frames[0]):
            return False
        caught, blocked = self._process.signals_caught(), self._process.signals_blocked_main()
        bit = 1 << (HOLDERS_SIGNAL - 1)
        if caught is None or not is_ours(caught, HOLDERS_SIGNAL) or (blocked or 0) & bit:
            return False
        try:
            os.kill(self.pid, HOLDERS_SIGNAL)
        except OSError:
            return False
        return True

    def _may_be_disturbed(self, innermost: FrameFacts) -> bool:
        """Whether a handler now would go unnoticed: the main thread runs, or waits in what the kernel takes up again, or in
        Python's own sleep, which Python takes up again."""
        if self._process.main_thread_runs():
            return True
        waits_in = self._process.main_thread_sleeping_in()
        if waits_in in _RESTARTED_CALLS:
            return True
        return waits_in == _SLEEP and _PYTHON_SLEEP.search(source_line(innermost[0], innermost[1]) or "") is not None

    def close(self) -> None:
        """Give the descriptors back."""
        self._process.close()
        if self._stacks is not None:
            self._stacks.close()


def _stack_reader(pid: int, introduction: Path) -> PythonStackReader | None:
    """A reader for the interpreter that the hook described; None where it cannot be read."""
    try:
        first: dict[str, Any] = json.loads(introduction.read_bytes())
    except (OSError, ValueError):
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
