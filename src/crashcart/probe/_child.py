"""A child process that is bounded in time and in output.

Covers: its status and the end of what it printed, to either stream. It is in a session of its own, and it is ended when its
time is over; a process that it leaves behind may keep the pipe open, and is not waited for.
Does not cover: what the output means.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass

_MOST_OUTPUT_BYTES = 1 << 20
_CHUNK_BYTES = 1 << 16
# How often the child is looked at where its pipe stays open after its end; an ordinary end closes the pipe, which wakes us.
_LOOK_S = 0.05
# After its end, the pipe still holds 64 KiB at most, which take far less than this to be read.
_DRAIN_S = 0.5
_DEATH_S = 5.0


@dataclass(frozen=True, slots=True)
class Ended:
    """How a child ended."""

    code: int | None
    """Its exit status, negative for a signal; None where it was ended for taking too long."""
    output: str
    """The end of what it printed."""


def run_child(command: Sequence[str], timeout_s: float) -> Ended:
    """Run a command to its end, or to the end of its time. OSError where it cannot be started."""
    child = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
    )
    assert child.stdout is not None
    try:
        with child.stdout as pipe:
            tail = _followed(child, pipe.fileno(), time.monotonic() + timeout_s)
            code = child.poll()
    finally:
        _end(child)
    return Ended(code, tail[-_MOST_OUTPUT_BYTES:].decode("utf-8", "replace"))


def _followed(child: subprocess.Popen[bytes], pipe: int, deadline_s: float) -> bytearray:
    """What was printed last, when the child has ended or its time is over."""
    os.set_blocking(pipe, False)
    poller = select.poll()
    poller.register(pipe, select.POLLIN)
    tail = bytearray()
    while (left_s := deadline_s - time.monotonic()) > 0:
        ended = child.poll() is not None
        if ended:
            deadline_s = min(deadline_s, time.monotonic() + _DRAIN_S)
        ready = poller.poll(0 if ended else 1000 * min(left_s, _LOOK_S))
        part = _part(pipe) if ready else None
        if part == b"":
            _wait(child, left_s)
            break
        if part is None and ended:
            break
        tail += part or b""
        if len(tail) > 2 * _MOST_OUTPUT_BYTES:
            del tail[:-_MOST_OUTPUT_BYTES]
    return tail


def _part(pipe: int) -> bytes | None:
    """What can be read now; empty at the end of the stream, None where nothing is there yet."""
    try:
        return os.read(pipe, _CHUNK_BYTES)
    except BlockingIOError:
        return None


def _wait(child: subprocess.Popen[bytes], timeout_s: float) -> None:
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(timeout_s)


def _end(child: subprocess.Popen[bytes]) -> None:
    """Its session is its own: nothing of ours is in it."""
    if child.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        _wait(child, _DEATH_S)
