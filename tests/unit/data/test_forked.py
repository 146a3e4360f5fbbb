"""Processes that are copies of this one: contained as fresh ones are, and begun only where that is safe."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

from crashcart.data.forked import is_alone
from crashcart.data.process import Process
from crashcart.data.worker import Settings
from crashcart.sound import Wanted
from tests.unit.data.checkers import JOB

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = """
import json, os, sys, threading
from crashcart.data.pool import Limits, Pool
from crashcart.probe.files_found import look
from crashcart.sound import Wanted
from tests.unit.data.checkers import JOB
from tests.unit.data.test_data_pool import checked_by
os.open(os.devnull, os.O_RDONLY)  # handles that a copy must not keep
held = os.pipe()
files = [look(name) for name in sys.argv[1:]]
with Pool(Wanted(), 2, Limits(memory_bytes=700 << 20), JOB, may_fork=True) as pool:
    found = checked_by(pool, files, 4)
    kinds = [type(each.process._child).__name__ for each in pool._slots]
    handles = [sorted(os.listdir(f"/proc/{each.process.pid}/fd")) for each in pool._slots]
    sessions = [os.getsid(each.process.pid) == each.process.pid for each in pool._slots]
told = {path.rpartition("/")[2]: [each.kind for each in checked.faults] for path, checked in found.items()}
print(json.dumps({"told": told, "kinds": kinds, "handles": handles, "sessions": sessions, "restarted": pool.restarted}))
"""


def run(folder: Path, contents: list[str]) -> dict[str, object]:
    import json

    names = []
    for number, text in enumerate(contents):
        (folder / f"{number:02d}").write_text(text)
        names.append(str(folder / f"{number:02d}"))
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *names], capture_output=True, text=True, timeout=100, cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said: dict[str, object] = json.loads(done.stdout)
    return said


def test_copies_contain_what_kills_them_and_keep_nothing(tmp_path: Path) -> None:
    said = run(tmp_path, ["sound"] * 9 + ["segv", "sound", "exit", "sound", "memory"] + ["sound"] * 6)
    told = said["told"]
    assert isinstance(told, dict) and len(told) == 20
    assert {name: kinds for name, kinds in told.items() if kinds} == {
        "09": ["decoder-crashed"],
        "11": ["not-checked"],
        "13": ["too-large"],
    }
    assert isinstance(said["kinds"], list) and set(said["kinds"]) == {"Forked"}
    assert said["sessions"] == [True] * len(said["kinds"]) and said["restarted"] == 0
    for handles in said["handles"]:  # type: ignore[attr-defined]
        assert len(handles) <= 7, "in, out, what it said, and the three that it was handed"


def test_a_process_with_two_threads_is_not_copied(tmp_path: Path) -> None:
    wait = threading.Event()
    other = threading.Thread(target=wait.wait)
    other.start()
    try:
        assert not is_alone()
        process = Process(Settings(JOB, Wanted(), os.getpid(), None), may_fork=True)
        assert isinstance(process._child, subprocess.Popen)
        process.kill()
        assert process.ended() == -9
        process.close()
    finally:
        wait.set()
        other.join()


ENDED = """
import os
from crashcart.data.process import Process
from crashcart.data.worker import Settings
from crashcart.sound import Wanted
for _ in range(30):
    process = Process(Settings("crashcart.probe.file_check:check", Wanted(), os.getpid(), None), may_fork=True)
    assert type(process._child).__name__ == "Forked"
    process.kill()
    assert process.ended() == -9
    process.close()
"""


def test_a_copy_that_is_ended_at_once_is_gone() -> None:
    """Before it has a session of its own, and after."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run([sys.executable, "-c", ENDED], capture_output=True, text=True, timeout=60, env=environment)
    assert done.returncode == 0, done.stderr
