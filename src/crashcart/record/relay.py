"""Waiting for the program's end while handing on the signals that are meant for it.

Covers: one wait that wakes for the end of the child, for signals sent to us, or after a while; forwarding; stopping and
continuing together with the program under a terminal.
Jupyter, which signals the whole group of a kernel, is known to do so.
Does not cover: sampling (`watch.py`). The terminal's own signals (Ctrl-C, Ctrl-Z, a hang-up) reach the program by
themselves, since it shares our process group. A signal that a process sent may have been sent to the whole group, which
cannot be seen; it is handed on unless the program has it pending already or ends of it at once.
"""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass

from crashcart.probe.process import ProcessReader, process_name

_FAULTS = {signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGTRAP, signal.SIGABRT, signal.SIGSYS}
_NOT_OURS_TO_HOLD = {signal.SIGKILL, signal.SIGSTOP, *_FAULTS, 32, 33}
WAITED = frozenset(number for number in range(1, signal.NSIG) if number not in _NOT_OURS_TO_HOLD)
_NEWS_OF_CHILD = signal.SIGCHLD
_CODES = range(-60, 129)
"""From SI_ASYNCNL to SI_KERNEL."""
_latest: list[signal.struct_siginfo] = []
"""The signal that came last."""
GROUP_GRACE_S = 0.03
"""A signal to the whole group reaches its members within this."""


@dataclass(frozen=True, slots=True)
class Passed:
    """A signal that reached us: its number, who sent it, in words, and when (monotonic)."""

    number: int
    sender: str
    at_s: float
    pid: int | None = None
    """The sender; None for the terminal."""


def block() -> set[int]:
    """Hold back every signal that `wait` takes; returns the mask to give to the program."""
    return {int(number) for number in signal.pthread_sigmask(signal.SIG_BLOCK, WAITED)}


def restore(mask: set[int]) -> None:
    """Drop what came meanwhile (it was the program's), and take signals again as before."""
    while signal.sigtimedwait(WAITED, 0) is not None:
        pass
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def wait(pid: int, timeout_s: float, group_sender: int | None = None) -> Passed | None:
    """Wait for a signal; forward it if it was sent to us alone. Returns what passed, None at the end of the time or for
    news of the child. What comes from `group_sender` is known to reach the program by itself."""
    info = _taken(timeout_s)
    if info is None or info.si_signo == _NEWS_OF_CHILD:
        return None
    from_kernel = info.si_code > 0
    to_group = from_kernel or info.si_pid == group_sender
    if not to_group and not _reached_program(pid, info.si_signo):
        _send(pid, info.si_signo)
    return _passed(info)


def _taken(timeout_s: float) -> signal.struct_siginfo | None:
    """A signal that has come. Where the wait was interrupted (we were stopped, or traced) and its time is over when it goes
    on, CPython returns what happened to be in memory (seen with 3.11.7: `si_signo` 0, or 1 with a code of nine digits).
    That is no signal, and must not reach the program."""
    until_s = time.monotonic() + timeout_s
    info = signal.sigtimedwait(WAITED, timeout_s)
    if info is None or (time.monotonic() >= until_s and not _is_real(info)):
        return None
    _latest[:] = [info]
    return info


def _is_real(info: signal.struct_siginfo) -> bool:
    """Whether the kernel can have written that, and it is not what was left in memory of the signal before."""
    known = info.si_signo in WAITED and info.si_errno == 0 and info.si_code in _CODES
    return known and info not in _latest


def last_pending() -> Passed | None:
    """A signal that reached us and nobody has taken yet: one to the whole group may have ended the program before we looked."""
    info = signal.sigtimedwait(WAITED - {_NEWS_OF_CHILD}, 0)
    return _passed(info) if info is not None else None


def _passed(info: signal.struct_siginfo) -> Passed:
    from_kernel = info.si_code > 0
    sender = "the terminal" if from_kernel else _sender(info.si_pid)
    return Passed(info.si_signo, sender, time.monotonic(), None if from_kernel else info.si_pid)


def _reached_program(pid: int, number: int) -> bool:
    """Whether the program has the signal pending, or ends at once, as after a signal to the whole group."""
    reader = ProcessReader(pid)
    try:
        if (reader.signals_pending() or 0) >> (number - 1) & 1:
            return True
        time.sleep(GROUP_GRACE_S)
        return reader.sample() is None
    finally:
        reader.close()


def _sender(pid: int) -> str:
    name = process_name(pid)
    return f"pid {pid} ({name})" if name else f"pid {pid}"


def _send(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except OSError:  # gone, or of another user (sudo): nothing we could do about it
        return


def stop_with(pid: int) -> None:
    """The program was stopped (Ctrl-Z): stop too, so that the shell gets the terminal back; go on when it goes on."""
    os.kill(os.getpid(), signal.SIGSTOP)
    reader = ProcessReader(pid)
    sample = reader.sample()
    reader.close()
    if sample is not None and sample.state == "T":
        _send(pid, signal.SIGCONT)
