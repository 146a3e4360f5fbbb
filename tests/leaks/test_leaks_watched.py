"""Programs without any framework under the watch: what is found, and that they run as they would have."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from watched import plain, watch

from crashcart.evidence import Evidence
from crashcart.leaks import examine_leaks
from crashcart.leaks.collect import why_not

LEAKING = """
import time

history = []

def main():
    for i in range(120):
        history.append(bytearray(60_000))
        time.sleep(0.01)

main()
"""


def test_a_list_that_grows_with_a_loop_is_found_with_its_line(tmp_path: Path) -> None:
    found = watch(tmp_path, LEAKING)
    assert (found.code, found.out, found.err) == (0, "", "")
    growth = found.growth
    assert growth.steps is not None
    assert growth.steps.kind == "loop"
    assert 90 <= growth.steps.count <= 120
    assert growth.steps.frame is not None
    assert growth.steps.frame.source == "for i in range(120):"
    private = growth.named("private")
    assert private is not None
    assert len(private.steps) >= 16
    assert private.values[-1] - private.values[0] > 60 * 60_000
    kept = found.kept("history")
    assert kept.counts[-1] is not None
    assert kept.counts[-1] > 60
    assert kept.filled_at is not None
    assert (kept.filled_at.spot, kept.filled_at.source) == ("train.py:8", "history.append(bytearray(60_000))")
    assert growth.cost_s is not None


def test_precise_follows_from_the_first_step_to_the_last(tmp_path: Path) -> None:
    growth = watch(tmp_path, LEAKING, precise=True).growth
    assert growth.precise
    assert growth.sites[0].frame.spot == "train.py:8"
    assert growth.sites[0].bytes > 60 * 60_000


def test_what_was_written_outlives_a_kill(tmp_path: Path) -> None:
    source = LEAKING.replace("        time.sleep(0.01)\n", "        time.sleep(0.01)\n        if i == 100:\n"
                             "            import os, signal\n            os.kill(os.getpid(), signal.SIGKILL)\n")  # fmt: skip
    found = watch(tmp_path, source)
    assert found.code == -9
    assert found.growth.steps is not None
    assert found.growth.steps.count >= 80
    assert found.kept("history").filled_at is not None


FLAT = """
import time
buffer = []
for i in range(60):
    buffer = [bytearray(60_000)]
    time.sleep(0.01)
"""


def test_what_does_not_grow_is_told_as_flat(tmp_path: Path) -> None:
    growth = watch(tmp_path, FLAT).growth
    private = growth.named("private")
    assert private is not None
    late = private.values[len(private.values) // 3 :]
    assert max(late) - min(late) < 2_000_000
    assert why_not(growth, busy=1.0) is None
    report = examine_leaks(Evidence(growth=growth), "train.py")
    assert (report.findings, report.figures["not_checked"]) == ((), [])


def test_a_program_without_steps_says_so(tmp_path: Path) -> None:
    growth = watch(tmp_path, "import time\ntime.sleep(0.3)\nprint('done')\n").growth
    assert growth.steps is None
    assert "cc.step()" in growth.lacking["steps"]


def test_a_program_that_forks_says_so_and_its_child_writes_nothing(tmp_path: Path) -> None:
    source = (
        "import os, time\nkept = []\nfor i in range(30):\n    kept.append(bytes(9999))\n    time.sleep(0.01)\n"
        "    if i == 10:\n        pid = os.fork()\n        if not pid:\n            for j in range(500):\n"
        "                kept.append(bytes(99))\n            os._exit(0)\n        os.waitpid(pid, 0)\n"
    )
    found = watch(tmp_path, source)
    assert found.code == 0
    assert "forked" in found.growth.lacking["children"]
    assert found.growth.steps is not None
    assert found.growth.steps.count <= 30


def test_marks_win_over_everything(tmp_path: Path) -> None:
    source = (
        "import time\nfrom crashcart.leaks.live import mark\nkept = []\nfor i in range(100):\n    kept.append(bytes(9999))\n"
        "    time.sleep(0.004)\n    if i % 2:\n        mark()\n"
    )
    steps = watch(tmp_path, source).growth.steps
    assert steps is not None
    assert (steps.kind, steps.count) == ("marked", 50)


def test_a_program_that_follows_its_own_allocations_is_left_alone(tmp_path: Path) -> None:
    source = (
        "import time, tracemalloc\ntracemalloc.start()\nclass Node:\n    pass\ndef grow():\n    last = None\n"
        "    for i in range(150):\n        for _ in range(400):\n            node = Node()\n            node.before = last\n"
        "            node.text = bytes(200)\n            last = node\n        time.sleep(0.01)\n"
        "    print(tracemalloc.is_tracing(), tracemalloc.get_traced_memory()[0] > 9_000_000)\ngrow()\n"
    )
    found = watch(tmp_path, source)
    assert found.out == "True True\n"
    assert "tracemalloc" in found.growth.lacking["sites"]


UNTOUCHED = """
import gc, random, signal, sys, threading, weakref
random.seed(7)
print(gc.isenabled(), gc.get_threshold(), gc.get_debug(), sys.gettrace(), sys.getprofile(), sys.getswitchinterval())
print(threading.active_count(), [thread.name for thread in threading.enumerate()])
print(sorted(name for name in sys.modules if "crashcart" in name and not name.startswith("_crashcart")))

class Thing:
    pass

gone = []

def work(i):
    thing = Thing()
    thing.load = bytes(50_000)
    weakref.finalize(thing, gone.append, i)
    return sum(random.random() for _ in range(2000))

total = 0.0
for i in range(200):
    total += work(i)
    if len(gone) != i + 1:
        print("kept alive", i)
print(round(total, 9), len(gone))

def fails(depth):
    if depth == 0:
        raise KeyError("missing")
    fails(depth - 1)

def outer():
    for turn in range(3):
        fails(turn + 2)

outer()
"""


def test_a_program_runs_as_it_would_have(tmp_path: Path) -> None:
    (tmp_path / "with").mkdir()
    (tmp_path / "without").mkdir()
    alone = plain(tmp_path / "without", UNTOUCHED)
    watched = watch(tmp_path / "with", UNTOUCHED)
    assert watched.out == alone.stdout
    assert watched.code == alone.returncode == 1
    assert watched.err.replace("/with/", "/") == alone.stderr.replace("/without/", "/")


RETURNED = """
import gc, time, weakref
gc.disable()
gone = []

class Thing:
    pass

def epoch(n):
    things = [Thing() for _ in range(40)]
    for number, thing in enumerate(things):
        thing.load = bytearray(20_000)
        weakref.finalize(thing, gone.append, number)
        time.sleep(0.004)
    del thing

for n in range(6):
    epoch(n)
    print(len(gone))
print(sum(1 for each in gc.get_objects() if type(each).__name__ == "frame" and each.f_code.co_name == "epoch"))
"""


def test_what_a_function_held_is_gone_when_it_returns_even_without_the_collector(tmp_path: Path) -> None:
    found = watch(tmp_path, RETURNED)
    assert found.out.split() == ["40", "80", "120", "160", "200", "240", "0"], found.err
    seen = next(each for each in found.growth.kept if each.name in ("things", "gone"))
    assert (seen.item, seen.scope) in (("Thing", "train.py, epoch"), ("int", "train.py"))
    assert max(count for count in seen.counts if count is not None) >= 30


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="from 3.12 on, no thread is needed")
def test_a_thread_of_ours_does_not_keep_a_program_running(tmp_path: Path) -> None:
    found = watch(tmp_path, "import threading\nprint(threading.active_count())\n")
    assert (found.code, found.out) == (0, "1\n")
