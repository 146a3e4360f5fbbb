"""A child under a memory limit: what it says is heard, and its death is ours to tell, not to share."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bench.processes import is_alive
from crashcart.cli.contained import Ended, Hold, held, no_group, run, spare_bytes
from crashcart.probe.memory import find_groups

HEAD = """
import json, os, sys, time
from crashcart.cli.contained import Hold
hold = Hold(**json.loads(sys.argv[1]))
answers = os.fdopen(int(sys.argv[2]), "w", buffering=1)
def say(**answer): answers.write(json.dumps(answer) + "\\n"); answers.flush()
hold.enter()
"""
MOST_BYTES = 1 << 30
LIMIT_BYTES = 100 << 20
EATS = "say(before_bytes=hold.begin())\nheld = [bytearray(b'x' * (8 << 20)) for _ in range(30)]\nsay(done=True)\ntime.sleep(0.2)"
MODES = [
    pytest.param(True, id="group", marks=pytest.mark.skipif(bool(no_group()), reason=no_group() or "")),
    pytest.param(False, id="watched", marks=pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")),
]


def child(
    code: str, grouped: bool = False, timeout_s: float = 20.0, limit_bytes: int | None = None, growth: bool = True
) -> Ended:
    with held(MOST_BYTES, limit_bytes, growth, grouped) as hold:
        assert (hold.group is not None) == grouped
        return run([sys.executable, "-c", HEAD + code], hold, timeout_s, os.environ)


def ends(pid: int) -> bool:
    """Whether a process that was killed is gone; the kernel may take a moment."""
    for _ in range(300):
        if not is_alive(pid):
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("grouped", MODES)
def test_long_answers_and_long_output_are_read_while_it_runs(grouped: bool) -> None:
    ended = child("print('y' * 3_000_000); say(long='x' * 3_000_000); say(done=True)", grouped)
    assert (ended.code, ended.by) == (0, "itself")
    assert len(ended.answers[0]["long"]) == 3_000_000
    assert ended.answers[1] == {"done": True}
    assert ended.said.rstrip().endswith("yyy")


@pytest.mark.parametrize("grouped", MODES)
def test_growth_beyond_the_limit_ends_it_and_what_it_said_before_is_kept(grouped: bool) -> None:
    ended = child(EATS, grouped, limit_bytes=LIMIT_BYTES)
    assert ended.by == "limit"
    assert ended.answers[0]["before_bytes"] > 0
    assert {"done": True} not in ended.answers


@pytest.mark.parametrize("grouped", MODES)
def test_below_the_limit_it_lives(grouped: bool) -> None:
    ended = child(EATS, grouped, limit_bytes=400 << 20)
    assert (ended.code, ended.by) == (0, "itself")
    assert ended.answers[-1] == {"done": True}


@pytest.mark.parametrize("grouped", MODES)
def test_a_limit_on_the_whole_process_counts_what_it_held_before(grouped: bool) -> None:
    before = "first = bytearray(b'x' * (150 << 20))\n"
    assert child(before + EATS, grouped, limit_bytes=350 << 20, growth=False).by == "limit"
    assert child(before + EATS, grouped, limit_bytes=350 << 20, growth=True).by == "itself"


@pytest.mark.parametrize("grouped", MODES)
def test_one_that_hangs_is_ended_with_all_that_it_started(grouped: bool, tmp_path: Path) -> None:
    code = f"""
import subprocess
other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
open({str(tmp_path / "pid")!r}, "w").write(str(other.pid))
say(trying=1)
time.sleep(60)
"""
    ended = child(code, grouped, timeout_s=8.0)
    assert (ended.code, ended.by) == (None, "time")
    assert ended.answers == ({"trying": 1},)
    assert ends(int((tmp_path / "pid").read_text()))


def test_a_death_of_its_own_is_not_taken_for_the_limit() -> None:
    ended = child("os.abort()", limit_bytes=None)
    assert (ended.code, ended.by) == (-6, "itself")


@pytest.mark.parametrize(
    ("code", "by"),
    [
        ("os.abort()", "itself"),
        ("say(before_bytes=hold.begin()); os.abort()", "itself"),
        ("say(before_bytes=hold.begin()); os.kill(os.getpid(), 9)", "itself"),
        ("print('std::bad_alloc', flush=True); os.abort()", "itself"),
        ("say(before_bytes=hold.begin()); print('std::bad_alloc', flush=True); os.abort()", "limit"),
        (
            "import mmap; say(before_bytes=hold.begin()); m = mmap.mmap(-1, 580 << 20, flags=34); time.sleep(1); os.abort()",
            "limit",
        ),
    ],
)
def test_without_a_group_a_signal_is_the_limit_only_where_memory_was_refused(code: str, by: str) -> None:
    assert child(code, limit_bytes=LIMIT_BYTES).by == by


def test_where_the_group_refuses_it_is_watched(tmp_path: Path) -> None:
    hold = Hold(MOST_BYTES, LIMIT_BYTES, True, str(tmp_path / "none"), 2)
    code = HEAD.replace("hold.enter()", "hold = hold.enter(lambda each: say(**each))") + EATS
    ended = run([sys.executable, "-c", code], hold, 20.0, os.environ)
    assert ended.answers[0] == {"ungrouped": True}
    assert (ended.by, ended.held) == ("limit", "a watcher and RLIMIT_DATA")


def test_it_is_the_first_to_go() -> None:
    assert child("say(score=open('/proc/self/oom_score_adj').read().strip())").answers == ({"score": "1000"},)


def test_one_whose_parent_is_gone_already_ends_at_once() -> None:
    code = "from crashcart.cli.child import end_with; end_with(999999999); print('still here', flush=True)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout) == (1, "")


@pytest.mark.parametrize("known", [True, False])
def test_the_child_that_traces_does_not_outlive_its_parent(known: bool, tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(
        "print('loading', flush=True)\nimport time\ntime.sleep(0 if KNOWN else 90)\n".replace("KNOWN", str(known))
    )
    request = {"file": str(tmp_path / "slow.py"), "name": "model", "parent": os.getpid() if known else 999999999}
    ended = subprocess.run(
        [sys.executable, "-m", "crashcart.cli.fit_child", json.dumps(request), "2"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ("loading the model" in ended.stderr, ended.returncode) == (known, 0 if known else 1)


def test_a_limit_above_the_own_group_counts_for_what_is_spare(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crashcart.cli.contained.rooms", lambda _: [(4 << 30, "container"), (40 << 30, "machine")])
    assert spare_bytes() == (4 << 30) - (256 << 20)


def test_a_process_that_stays_behind_is_not_waited_for() -> None:
    code = "import subprocess; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(50)']); say(done=True)"
    assert child(code).answers == ({"done": True},)


@pytest.mark.skipif(bool(no_group()), reason=no_group() or "")
def test_no_group_is_left_behind() -> None:
    groups = find_groups(os.getpid())
    before = {each for group in groups for each in group.path.glob(f"crashcart-fit-{os.getpid()}-*")}
    child(EATS, True, limit_bytes=LIMIT_BYTES)
    after = {each for group in groups for each in group.path.glob(f"crashcart-fit-{os.getpid()}-*")}
    for group in groups:
        group.close()
    assert before == after == set()


def test_something_is_left_to_the_machine() -> None:
    assert 0 < spare_bytes() < os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


@pytest.mark.skipif(bool(no_group()), reason=no_group() or "")
def test_what_a_killed_run_left_behind_is_removed_by_the_next() -> None:
    groups = find_groups(os.getpid())
    left = groups[0].path / "crashcart-fit-999999999-1"
    left.mkdir(exist_ok=True)
    os.utime(left, (1, 1))
    for group in groups:
        group.close()
    no_group()
    assert not left.exists()
