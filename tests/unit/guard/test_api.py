"""`cc.run`: the guard of the command, from Python."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from crashcart import api
from crashcart.guard import file
from crashcart.record.spawn import CannotStartError
from tests.conftest import Crashcart

RUN = """
import json, logging, sys
import crashcart as cc
logging.basicConfig(format="log: %(message)s", stream=sys.stderr)
try:
    done = cc.run([sys.executable, sys.argv[1]], **json.loads(sys.argv[2]))
except Exception as error:
    print(type(error).__name__, error)
else:
    steps = [each.facts.get("step") for each in done.evidence.events or () if each.kind == "guard"]
    print(done.verdict.code if done.verdict else None, steps)
"""
EAT = "import numpy as np\nblock = np.ones((100, 1000, 1000))\n"


def called(crashcart: Crashcart, source: str, **options: object) -> subprocess.CompletedProcess[str]:
    program = crashcart.program(source)
    return subprocess.run(
        [sys.executable, "-c", RUN, program, json.dumps(options)],
        capture_output=True, text=True, timeout=60, env=crashcart.environment,
    )  # fmt: skip


def test_a_program_is_guarded_as_by_the_command(crashcart: Crashcart) -> None:
    done = called(crashcart, EAT, limit="300M", airbag="off")
    assert done.stdout.startswith("W114 ['on', 'refuse'"), (done.stdout, done.stderr)
    assert "MemoryGuardError" in done.stderr


def test_without_the_guard_it_is_only_recorded(crashcart: Crashcart) -> None:
    assert called(crashcart, "print('ran')", guard=False).stdout == "ran\nW506 []\n"


def test_what_the_command_would_say_is_logged(crashcart: Crashcart) -> None:
    done = called(crashcart, "", limit="900T")
    assert "log: crashcart: the limit of 900 TiB is more than the machine has" in done.stderr


@pytest.mark.parametrize("limit", ["many", "1", 1.5])
def test_a_limit_that_makes_no_sense_is_said_before_the_start(crashcart: Crashcart, limit: object) -> None:
    done = called(crashcart, "print('ran')", limit=limit)
    assert done.stdout.startswith("UsageError received ")


def test_a_command_that_cannot_start_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[file.GuardFile] = []
    make = file.make
    monkeypatch.setattr(file, "make", lambda *arguments: made.append(make(*arguments)) or made[-1])
    monkeypatch.setenv("CRASHCART_HOME", str(tmp_path))
    with pytest.raises(CannotStartError):
        api.run(["/nowhere/at/all"])
    (shared,) = made
    assert not shared.path.exists() and not any((tmp_path / "runs").iterdir())
