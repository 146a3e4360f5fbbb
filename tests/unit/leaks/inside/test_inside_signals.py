"""What a signal handler of the program raises reaches the program, also where it ran in the middle of our own code."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from crashcart.blackbox.inside import load
from tests.conftest import Crashcart
from tests.unit.leaks.inside.test_inside_loops import python_with_monitoring

INSIDE = Path(__file__).resolve().parents[4] / "src" / "crashcart" / "leaks" / "inside"
steps: Any = load(INSIDE / "_crashcart_steps.py")
kept: Any = load(INSIDE / "_crashcart_kept.py")

LATE = """\
import signal, sys, time
{late}
fired = caught = 0

def handler(number, frame):
    global fired
    fired += 1
    raise Late

signal.signal(signal.SIGALRM, handler)
while fired < 800:
    before = fired
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.003 + 0.00001 * (fired % 100))
        until = time.monotonic() + 1.0
        for step in range(1_000_000):
            rows = [str(step)] * 50
            time.sleep(0.0001)
            if fired > before and time.monotonic() > until:
                break  # it was lost
    except Late:
        caught += 1
print(fired - caught)
"""


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="see `_hand_on`: not all of them can be kept there")
@pytest.mark.parametrize("late", ["class Late(Exception): pass", "Late = TimeoutError"])
@pytest.mark.parametrize("options", [(), ("--precise",)], ids=["default", "precise"])
def test_no_time_limit_of_the_program_is_lost(crashcart: Crashcart, late: str, options: tuple[str, ...]) -> None:
    """Where `except Exception` swallowed them, 5 to 14 of 800 were lost. In dozens of runs since, one was, once."""
    source = LATE.format(late=late)
    done = crashcart("leaks", *options, "--", sys.executable, crashcart.program(source, "train.py"), timeout_s=120)
    assert int(done.stdout) <= 1, done.stderr


PAUSES = """
import os, signal, threading, time
done = []
def work():
    for i in range(60):
        done.append(bytearray(100_000))
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGUSR1)
signal.signal(signal.SIGUSR1, lambda *_: None)
threading.Thread(target=work, daemon=True).start()
signal.pause()
print(len(done))
"""

WORKS = """
import sys
seen = 0
def count(*_):
    global seen
    seen += 1
{begin}
def work(a, b):
    total = a + b
    return inner(total) + total + a
def inner(x):
    y = x * 2
    return y
def main():
    n = 0
    for step in range({turns}):
        n += work(step, 1)
    print(n)
main()
"""


def test_a_program_that_waits_for_a_signal_is_not_woken_by_ours(crashcart: Crashcart) -> None:
    done = crashcart("leaks", "--", sys.executable, crashcart.program(PAUSES, "train.py"), timeout_s=60)
    assert done.stdout == "60\n", done.stderr


@pytest.mark.parametrize(
    ("options", "begin"), [(("-m", "profile"), ""), ((), "sys.setprofile(count)"), ((), "sys.settrace(count)")]
)
def test_a_program_that_is_profiled_or_traced_keeps_its_variables(
    crashcart: Crashcart, options: tuple[str, ...], begin: str
) -> None:
    """Where the interpreter writes a snapshot back that was emptied meanwhile, variables are gone."""
    turns = 60_000
    program = crashcart.program(WORKS.format(begin=begin, turns=turns), "train.py")
    done = crashcart("leaks", "--", sys.executable, *options, program, timeout_s=100)
    first = done.stdout.splitlines()[0]
    assert first == str(sum(4 * step + 3 for step in range(turns))), done.stderr


HAS_A_PROFILER = """
import cProfile, time
kept = []
def main():
    for step in range(100):
        kept.append(bytearray(200_000))
        time.sleep(0.005)
main()
"""


def test_loops_are_counted_where_a_profiler_is_loaded_and_does_not_run(crashcart: Crashcart, tmp_path: Path) -> None:
    """IPython 8 loads one into every kernel."""
    program, report = crashcart.program(HAS_A_PROFILER, "train.py"), tmp_path / "report.json"
    done = crashcart("leaks", "--json", str(report), "--", sys.executable, program, timeout_s=60)
    found = json.loads(report.read_text(encoding="utf-8"))
    assert found["steps"] is not None and found["steps"]["kind"] == "loop", done.stderr
    assert "loops" not in found["lacking"], found["lacking"]


class Late(Exception):  # noqa: N818
    pass


def handler(_number: int, _frame: Any) -> None:
    raise Late


class Trainer:
    def run(self) -> int:
        return 1


def test_a_hook_lets_pass_what_a_handler_raises() -> None:
    before = signal.signal(signal.SIGUSR1, handler)
    hooks = steps.Hooks(steps.Counts(lambda: None))
    hooks.count_look_up(Trainer, "run", lambda _: signal.raise_signal(signal.SIGUSR1))
    try:
        with pytest.raises(Late):
            Trainer().run()
    finally:
        hooks.remove()
        signal.signal(signal.SIGUSR1, before)


class Broken:
    def __init__(self, *_: Any) -> None:
        raise Late


def failure_of(call: Any) -> BaseException:
    try:
        call()
    except Exception as failure:
        return failure
    raise AssertionError


def test_what_a_library_raises_when_it_is_read_is_ours_to_swallow() -> None:
    assert not steps.is_theirs(failure_of(lambda: Broken(1)))
    assert not steps.is_theirs(failure_of(lambda: steps.Counts(None).step("loop", "a")))


AT_A_JUMP = """
import signal, sys, time
from importlib.machinery import SourceFileLoader
def part(name):
    module = type(sys)(name)
    module.__file__ = {inside!r} + "/" + name + ".py"
    SourceFileLoader(name, module.__file__).exec_module(module)
    return module
steps, loops = part("_crashcart_steps"), part("_crashcart_loops")
class Late(Exception): pass
def handler(number, frame): raise {late}
signal.signal(signal.SIGUSR1, handler)
def beat():
    if counts.counts[0] == 5: signal.raise_signal(signal.SIGUSR1)
counts = steps.Counts(beat)
monitored = loops.Monitored(counts, lambda file: file == "own", time.monotonic)
monitored.start()
space = {{"time": time, "Late": Late}}
exec(compile('''
def train():
    try:
        for step in range(50): time.sleep(0.0001)
    except {late}:
        return step
def outer():
    try:
        return train()
    except {late}:
        return "passed by"
''', "own", "exec"), space)
print(space["outer"](), space["train"]())
"""


@pytest.mark.skipif(python_with_monitoring() is None, reason="no Python with sys.monitoring is here")
@pytest.mark.parametrize("late", ["Late", "KeyboardInterrupt"])
def test_what_comes_up_while_a_turn_is_counted_reaches_the_function_that_turns(late: str) -> None:
    source = AT_A_JUMP.format(inside=str(INSIDE), late=late)
    command = [str(python_with_monitoring()), "-I", "-c", source]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.stdout == "4 None\n", done.stdout + done.stderr
