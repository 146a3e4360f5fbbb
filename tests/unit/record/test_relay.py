"""Waiting for signals that are the program's: what CPython makes up when a wait was interrupted is none."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from crashcart.record import relay

_WAITS = """
import os, sys, time
from crashcart.record import relay
relay.block()
relay._reached_program = lambda pid, number: False
sent = []
relay._send = lambda pid, number: sent.append(number)
print("waits", flush=True)
for wait_s in (0.3, 0.1, 0.1):
    relay.wait(os.getpid(), wait_s)
print(*sent, flush=True)
"""


def _stopped_past_its_time(then: int | None) -> list[int]:
    process = subprocess.Popen([sys.executable, "-c", _WAITS], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(0.1)
    os.kill(process.pid, signal.SIGSTOP)
    time.sleep(0.5)
    if then is not None:
        os.kill(process.pid, then)
    os.kill(process.pid, signal.SIGCONT)
    return [int(word) for word in process.communicate(timeout=20)[0].split()]


def test_a_wait_that_was_stopped_past_its_time_makes_up_no_signal() -> None:
    assert _stopped_past_its_time(None) in ([], [signal.SIGCONT])  # that one was sent


def test_a_signal_that_came_while_stopped_is_handed_on() -> None:
    assert signal.SIGTERM in _stopped_past_its_time(signal.SIGTERM)


@pytest.mark.parametrize(
    ("number", "code", "real"),
    [(15, 0, True), (1, 128, True), (0, 0, False), (1, 970934352, False), (77, 0, False)],
)
def test_only_what_the_kernel_can_have_written_is_real(number: int, code: int, real: bool) -> None:
    assert relay._is_real(signal.struct_siginfo((number, code, 0, 42, 0, 0, 0))) is real
