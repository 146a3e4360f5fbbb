"""Live tensors are counted where TensorFlow is there, and only when memory rises unexplained or every allocation is followed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from crashcart.blackbox.ring import read_payloads
from tests.conftest import Crashcart

INSIDE = Path(__file__).resolve().parents[4] / "src" / "crashcart" / "leaks" / "inside"
COUNTED = f"""
import sys
from pathlib import Path
from crashcart.blackbox.inside import load
tensors = load(Path({str(INSIDE)!r}) / "_crashcart_tensors.py")
print(tensors.alive())
import tensorflow as tf
tf.constant(1.0) + 1
before = tensors.alive()
kept = [tf.zeros((1000, 10), tf.float64) for _ in range(50)]
variable = tf.Variable(tf.zeros(1000))
after = tensors.alive()
print(after[0] - before[0], after[1] - before[1])
kept.clear()
print(tensors.alive()[0] - before[0] <= 2)
"""
LEAKING = """\
import time
import tensorflow as tf
class Node:
    def __init__(self, data, next):
        self.data, self.next = data, next
head = None
for step in range(60):
    head = Node(tf.random.uniform((256, 1024)) + 1, head)
    time.sleep(0.02)
"""


def test_eager_tensors_are_counted_with_their_bytes() -> None:
    pytest.importorskip("tensorflow")
    done = subprocess.run([sys.executable, "-c", COUNTED], capture_output=True, text=True, timeout=280)
    without, made, gone = done.stdout.splitlines()
    assert (without, gone) == ("None", "True"), done.stderr
    count, size = map(int, made.split())
    assert 50 <= count <= 52 and 50 * 80_000 <= size <= 50 * 80_000 + 10_000


def records(home: Path, kind: str) -> list[dict[str, Any]]:
    (ring,) = [each for each in home.rglob("leaks-*.ring") if "recent" not in each.name]
    found = [json.loads(payload) for payload in read_payloads(ring.read_bytes())]
    return [each for each in found if each["kind"] == kind]


@pytest.mark.parametrize("options", [(), ("--precise",)], ids=["default", "precise"])
def test_tensors_that_no_name_holds_are_in_the_recording(crashcart: Crashcart, options: tuple[str, ...]) -> None:
    pytest.importorskip("tensorflow")
    crashcart("leaks", *options, "--", sys.executable, crashcart.program(LEAKING, "train.py"), timeout_s=280)
    counted = records(crashcart.home, "leak-tensors")
    assert len(counted) >= 2 and counted[-1]["count"] - counted[0]["count"] >= 10
    assert counted[-1]["bytes"] - counted[0]["bytes"] >= 10 * (1 << 20)
