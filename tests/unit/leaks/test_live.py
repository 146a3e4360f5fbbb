"""`cc.leaks()` and `cc.step()` in the running process."""

from __future__ import annotations

import subprocess
import sys

import pytest

import crashcart as cc

LEAKING = """
import time
import crashcart as cc

kept = []
with cc.leaks() as watch:
    for _ in range(50):
        time.sleep(0.02)
        kept.append(bytearray(1 << 20))
        cc.step()
steps = watch.result.growth.steps
print(watch.result.leaks, steps.kind, steps.count, watch.result.bytes_per_step)
"""


def test_a_leak_is_found_in_a_block_and_printed_at_its_end() -> None:
    """In a process of its own: in one that others have filled and freed before, the arrays may lie in memory that it has."""
    done = subprocess.run([sys.executable, "-c", LEAKING], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "leak: +" in done.stderr, done.stdout + done.stderr
    leaks, kind, count, bytes_per_step = done.stdout.split()
    assert (leaks, kind, count) == ("True", "marked", "50"), done.stderr
    assert 0.8 < int(bytes_per_step) / (1 << 20) < 1.4


QUIET = """
import gc, time, weakref
import crashcart as cc

class Thing: pass

things = []
with cc.leaks(quiet=True) as watch:
    for number in range(40):
        time.sleep(0.02)
        thing = Thing()
        things.append(weakref.ref(thing))
        text = "x" * ((1 + number % 3) << 20) + str(thing)  # it comes and goes
        cc.step()
del thing, text
gc.collect()
print(sum(each() is not None for each in things), watch.result.leaks, watch)
"""


def test_a_quiet_block_is_told_as_that_and_nothing_is_kept() -> None:
    """In a process of its own: beside child processes that others have left, nothing would be told as quiet."""
    done = subprocess.run([sys.executable, "-c", QUIET], capture_output=True, text=True, timeout=60)
    assert done.stdout.startswith("0 False no leak was seen"), done.stdout + done.stderr


def test_a_block_without_steps_is_not_checked() -> None:
    with cc.leaks(quiet=True) as watch:
        sum(range(10))
    assert watch.result is not None and watch.result.leaks is None
    assert "not checked, because" in str(watch.result) and watch.result.holder is None


def test_an_error_in_the_block_goes_on_and_what_was_seen_is_there() -> None:
    with pytest.raises(ZeroDivisionError), cc.leaks(quiet=True) as watch:
        print(1 / 0)
    assert watch.result is not None


def test_a_step_that_nobody_watches_costs_next_to_nothing_and_loads_nothing_heavy() -> None:
    code = "import sys, crashcart as cc; cc.step(); print([each for each in ('numpy', 'tensorflow', 'rich') if each in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "[]\n"


CALLBACK = """
import numpy as np, keras
import crashcart as cc

class Kept(keras.callbacks.Callback):
    seen = []
    def on_train_batch_end(self, batch, logs=None):
        self.seen.append(np.ones((256, 512)))

watch = cc.LeakCallback(quiet=True)
model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(8)])
model.compile("sgd", "mse")
x = np.random.rand(1600, 8)
model.fit(x, x, batch_size=16, epochs=1, verbose=0, callbacks=[Kept(), watch])
print(watch.result.leaks, watch.result.growth.steps.kind, watch.result.growth.steps.count)
print(watch.result)
"""


def test_a_callback_watches_a_training() -> None:
    pytest.importorskip("keras")
    done = subprocess.run([sys.executable, "-c", CALLBACK], capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("True marked 100\n"), done.stdout


def test_a_watch_that_fails_is_told_and_harms_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    from crashcart.leaks import live

    def gone(*_: object) -> None:
        raise FileNotFoundError("the working directory is gone")

    monkeypatch.setattr(live, "Places", gone)
    with cc.leaks(quiet=True) as found:
        cc.step()
    assert found.result is not None and found.result.leaks is None
    assert "the working directory is gone" in str(found.result)
