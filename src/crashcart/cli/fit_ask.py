"""Asking the child of `crashcart fit`: starts it, reads while it works, and tells how it ended where it said nothing.

Covers: one time limit over all of it, answers of any length, what is being done on a terminal, a child that dies.
Does not cover: what the child does (`fit_child.py`), or what the answer means (`fit.py`).
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TextIO

from crashcart.cli.child import retold, without_gpu
from crashcart.errors import CannotCheckError, CrashcartError
from crashcart.probe.memory import oom_kills_host
from crashcart.probe.onednn import without_onednn
from crashcart.units import duration

Tick = Callable[[str], None]

LOADING, TRACING, SEARCHING = "loading the model", "tracing the step", "searching for the largest batch"
"""Phases that decide what a failure means."""
COMMAND = (sys.executable, "-m", "crashcart.cli.fit_child")

_LOOK_S = 0.1
_END_S = 5.0
"""How long a child that has answered may take to end."""
QUIET_S = 1.0
"""What takes no longer is not told."""
_SPIN = "|/-\\"


@dataclass
class Answer:
    """What the child has said so far."""

    phase: str = "starting"
    step: dict[str, Any] | None = None
    remedies: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    error: CrashcartError | None = None
    done: bool = False
    timed_out: bool = False
    _rest: bytes = b""

    def take(self, data: bytes) -> None:
        """Read the lines that are whole."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._message(json.loads(line))

    def _message(self, message: dict[str, Any]) -> None:
        if "error" in message:
            self.error = retold(message)
        if "note" in message:
            self.notes.append(message["note"])
        if "remedy" in message:
            self.remedies.append(message["remedy"])
        self.phase = message.get("phase", self.phase)
        self.step = message.get("step", self.step)
        self.done = message.get("done", self.done)


class Progress:
    """What is being done, on one line of a terminal, once it takes longer than a second."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream if stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb" else None
        self._began_s = time.monotonic()
        self._shown = False

    def __call__(self, phase: str) -> None:
        """Show it, if it is time to."""
        since_s = time.monotonic() - self._began_s
        if self._stream is None or since_s < QUIET_S:
            return
        self._stream.write(f"\r\x1b[K{_SPIN[int(since_s / _LOOK_S) % len(_SPIN)]} {phase}, {duration(since_s)}")
        self._stream.flush()
        self._shown = True

    def clear(self) -> None:
        """Give the line back."""
        if self._shown and self._stream is not None:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._shown = False


def ask(request: dict[str, Any], timeout_s: float, tick: Tick) -> Answer:
    """The child's answer, which may be an error; CannotCheckError where it gave none. The estimate alone is an answer."""
    kills = oom_kills_host()
    answer = Answer()
    code = _listen(request, answer, time.monotonic() + timeout_s, tick)
    if answer.step is None and answer.error is None:
        raise _no_answer(request, answer, code, timeout_s, _rose(kills))
    return answer


def _listen(request: dict[str, Any], answer: Answer, until_s: float, tick: Tick) -> int | None:
    """Read until it is done, dead or out of time; its exit code."""
    ours, theirs = os.pipe()
    told = request | {"parent": os.getpid(), "until_s": until_s}  # of a clock that all processes have alike
    child = subprocess.Popen(
        [*COMMAND, json.dumps(told), str(theirs)],
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr if _has_descriptor(sys.stderr) else subprocess.DEVNULL,
        stderr=None if _has_descriptor(sys.stderr) else subprocess.DEVNULL,
        pass_fds=(theirs,),
        env=without_onednn(without_gpu()),
    )
    os.close(theirs)
    try:
        with selectors.DefaultSelector() as ready:
            ready.register(ours, selectors.EVENT_READ)
            while not answer.done and _heard(child, ours, ready, answer):
                tick(answer.phase)
                if time.monotonic() > until_s:
                    answer.timed_out = True
                    break
        if not answer.timed_out:
            child.wait(_END_S)
    except subprocess.TimeoutExpired:
        pass  # it has said all; what the user's code left running is not ours to wait for
    finally:
        if child.poll() is None:
            child.kill()
        child.wait()
        os.close(ours)
    return child.returncode


def _heard(child: subprocess.Popen[bytes], ours: int, ready: selectors.BaseSelector, answer: Answer) -> bool:
    """Whether there may be more to come. A process of the user's own may hold the other end: the child's end is enough."""
    if ready.select(_LOOK_S):
        data = os.read(ours, 1 << 16)
        answer.take(data)
        return bool(data)
    return child.poll() is None


def _has_descriptor(stream: Any) -> bool:
    """Whether a stream is a file of the system; in a notebook it may be none."""
    try:
        return stream is not None and stream.fileno() >= 0
    except (OSError, ValueError, AttributeError):
        return False


def _rose(before: int | None) -> bool:
    after = oom_kills_host()
    return before is not None and after is not None and after > before


def _no_answer(
    request: dict[str, Any], answer: Answer, code: int | None, timeout_s: float, kills_rose: bool
) -> CannotCheckError:
    if answer.timed_out:
        return CannotCheckError(
            f"no estimate after {duration(timeout_s)}; it was still {answer.phase}",
            'If the file does long work when it is imported, move that below `if __name__ == "__main__":`; else --timeout.',
        )
    if code == -signal.SIGKILL:
        return _killed(answer.phase, kills_rose)
    how = f"with code {code}" if code is None or code >= 0 else f"by {signal_name(-code)}"
    file = str(request["file"])
    return CannotCheckError(
        f"the process that loads the model ended {how} while {answer.phase}, and said nothing",
        f"`crashcart run -- {sys.executable} {file if file.endswith('.py') else f'-m {file}'}` tells why.",
    )


def signal_name(number: int) -> str:
    """SIGSEGV for 11; in words where the system has no name for it."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _killed(phase: str, kills_rose: bool) -> CannotCheckError:
    """By SIGKILL, which is mostly the kernel's answer to a lack of memory."""
    counted = (
        "the kernel's count of processes killed for lack of memory rose meanwhile" if kills_rose else "nobody says why"
    )
    if phase == LOADING:
        return CannotCheckError(
            f"the process was killed while loading the model (SIGKILL; {counted})",
            "Building the model takes more memory than there is here: its weights, or data that the file loads, do not fit. "
            'Load data below `if __name__ == "__main__":`, or ask on a larger machine.',
        )
    return CannotCheckError(
        f"the process was killed while {phase} (SIGKILL; {counted})", "Ask again where more memory is free."
    )
