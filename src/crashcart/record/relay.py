"""Waiting for the program's end while handing on the signals that are meant for it.

Covers: one wait that wakes for the end of the child, for signals sent to us, or after a while; forwarding; stopping and
continuing together with the program under a terminal.
Does not cover: sampling (`watch.py`). The terminal's own signals (Ctrl-C, Ctrl-Z, a hang-up) reach the program by
themselves, since it shares our process group; only what was sent to us alone is handed on.
"""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass

from crashcart.probe.process import process_name

FORWARDED = (
    signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGWINCH,
    signal.SIGALRM,
)  # fmt: skip
WAITED = frozenset({*FORWARDED, signal.SIGCHLD, signal.SIGTSTP, signal.SIGCONT, signal.SIGTTIN, signal.SIGTTOU})


@dataclass(frozen=True, slots=True)
class Passed:
    """A signal that reached us: its number and who sent it, in words."""

    number: int
    sender: str


def block() -> set[signal.Signals]:
    """Hold back the signals that `wait` takes; returns the mask to give to the program."""
    previous = signal.pthread_sigmask(signal.SIG_BLOCK, WAITED)
    return {signal.Signals(number) for number in previous}


def restore(mask: set[signal.Signals]) -> None:
    """Take signals again as before."""
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def wait(pid: int, timeout_s: float) -> Passed | None:
    """Wait for a signal; forward it if it was sent to us alone. Returns what passed, None at the end of the time or for
    news of the child."""
    info = signal.sigtimedwait(WAITED, timeout_s)
    if info is None or info.si_signo == signal.SIGCHLD:
        return None
    if info.si_signo in FORWARDED:
        from_terminal = info.si_code > 0
        if not from_terminal:
            _send(pid, info.si_signo)
        sender = "the terminal" if from_terminal else _sender(info.si_pid)
        return Passed(info.si_signo, sender)
    return None


def _sender(pid: int) -> str:
    name = process_name(pid)
    return f"pid {pid} ({name})" if name else f"pid {pid}"


def _send(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def stop_with(pid: int) -> None:
    """The program was stopped (Ctrl-Z): stop too, so that the shell gets the terminal back; go on when it goes on."""
    os.kill(os.getpid(), signal.SIGSTOP)
    _send(pid, signal.SIGCONT)
