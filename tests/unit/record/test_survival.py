"""Whoever is killed, the program is unharmed by our end and the recording can be read."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from crashcart.blackbox.read import read_recording
from crashcart.why import explain
from crashcart.why.collect import collect
from tests.conftest import Crashcart

PYTHON = sys.executable
MOMENTS = 200
AT_ONCE = 8


def start(crashcart: Crashcart, source: str, home: Path | None = None) -> subprocess.Popen[bytes]:
    command = [PYTHON, "-m", "crashcart", "run", "--quiet", "--", PYTHON, "-u", "-c", source]
    environment = {**crashcart.environment, "CRASHCART_HOME": str(home or crashcart.home)}
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
    )


def test_a_killed_watcher_leaves_the_program_running(crashcart: Crashcart) -> None:
    source = "import time, sys\nprint('ready')\nfor n in range(30):\n    time.sleep(0.1)\n    print(n)\n    print(n, file=sys.stderr)\n"
    watcher = start(crashcart, source)
    assert watcher.stdout is not None
    assert watcher.stdout.readline() == b"ready\n"
    await_sample(crashcart)
    os.kill(watcher.pid, signal.SIGKILL)
    output = watcher.stdout.read()
    watcher.stdout.close()
    watcher.wait()
    assert output.split() == [str(number).encode() for number in range(30)]
    folder = crashcart.last()
    assert folder is not None
    deadline_s = time.monotonic() + 10
    while time.monotonic() < deadline_s:
        evidence = collect(folder)
        assert evidence.ending is not None
        if evidence.ending.kind == "unobserved":
            break
        time.sleep(0.2)
    assert evidence.ending.kind == "unobserved"
    assert evidence.samples
    assert explain(evidence).verdict is not None


def await_sample(crashcart: Crashcart) -> None:
    """Until the watcher has looked at the program: on a busy machine that may be ready before."""
    deadline_s = time.monotonic() + 10
    while time.monotonic() < deadline_s:
        folder = crashcart.last()
        if folder is not None and collect(folder).samples:
            return
        time.sleep(0.02)
    raise AssertionError("the program was never looked at")


def test_a_running_program_can_be_asked_about(crashcart: Crashcart) -> None:
    watcher = start(crashcart, "import time\nprint('ready')\ntime.sleep(20)\n")
    assert watcher.stdout is not None
    watcher.stdout.readline()
    time.sleep(1)
    folder = crashcart.last()
    assert folder is not None
    evidence = collect(folder)
    os.killpg(watcher.pid, signal.SIGKILL)
    watcher.wait()
    watcher.stdout.close()
    assert evidence.ending is not None
    assert evidence.ending.kind == "running"


@pytest.mark.alone
def test_both_killed_at_any_moment_leave_a_readable_recording(crashcart: Crashcart, tmp_path: Path) -> None:
    """200 moments, from the first milliseconds (no folder yet, a half-made one) to the middle of the work."""
    chance = random.Random(20)
    source = "import os\nblocks = []\nwhile True:\n    blocks.append(bytes(200000)); os.write(2, b'line\\n' * 50)\n    blocks = blocks[-50:]\n"
    unreadable: list[str] = []
    begun = 0
    for batch in range(MOMENTS // AT_ONCE):
        running = []
        for number in range(AT_ONCE):
            home = tmp_path / f"home-{batch}-{number}"
            running.append((start(crashcart, source, home), home, time.monotonic() + chance.uniform(0.03, 0.9)))
        for watcher, home, at_s in sorted(running, key=lambda each: each[2]):
            time.sleep(max(0, at_s - time.monotonic()))
            os.killpg(watcher.pid, signal.SIGKILL)
            watcher.wait()
            assert watcher.stdout is not None
            watcher.stdout.close()
            for folder in (home / "runs").glob("*") if home.exists() else ():
                begun += (folder / "run.json").exists()
                unreadable.extend(_unreadable(folder))
    assert unreadable == []
    assert begun > MOMENTS // 5


def _unreadable(folder: Path) -> list[str]:
    """A recording whose beginning was not yet written is no recording; every other must be readable whole."""
    if not (folder / "run.json").exists():
        return []
    try:
        read_recording(folder)
        explain(collect(folder))
    except Exception as error:  # any failure is what this test looks for
        return [f"{folder.name}: {type(error).__name__}: {error}"]
    return []
