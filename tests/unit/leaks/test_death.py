"""A program that dies of its leak while it is watched: the verdict is the leak, with its holder and its line."""

from __future__ import annotations

import json
import sys

import pytest

from bench import group
from tests.conftest import Crashcart

DYING = """\
import time

def main():
    history = []
    for step in range(3000):
        loss = bytearray(b"x" * (1 << 20))
        history.append(loss)
        time.sleep(0.01)

main()
"""


@pytest.mark.skipif(group.unavailable() is not None, reason=str(group.unavailable()))
def test_the_verdict_is_the_leak(crashcart: Crashcart) -> None:
    program = crashcart.program(DYING, "train.py")
    with group.memory_group(300) as place:
        done = crashcart("leaks", "--", sys.executable, program, timeout_s=120, preexec_fn=lambda: group.enter(place))
    assert done.returncode == 1, done.stderr
    assert "it died at its limit of 300 MiB" in " ".join(done.stderr.split())
    why = json.loads(crashcart("why", "--json").stdout)["findings"][0]
    assert (why["cause"], why["code"], why["holder"], why["where"]["line"]) == ("memory-leak", "W107", "history", 7)
    assert why["confidence"] == "certain" and 0.9 < why["bytes_per_step"] / (1 << 20) < 1.2
