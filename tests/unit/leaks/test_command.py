"""`crashcart leaks` from the command line to the report, with programs of plain Python."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Crashcart

LEAKING = """\
import time

def main():
    history = []
    for step in range(150):
        loss = bytearray(b"x" * (1 << 20))
        history.append(loss)
        time.sleep(0.01)
    print("done", len(history))

main()
"""
QUIET = LEAKING.replace("history.append(loss)", "history = [loss] * (step % 5)").replace(
    "1 << 20", "(1 + step % 5) << 20"
)


def ran(crashcart: Crashcart, source: str, *options: str) -> Any:
    return crashcart("leaks", *options, "--", sys.executable, crashcart.program(source, "train.py"), timeout_s=120)


def test_a_leak_is_found_with_its_line_and_its_holder(crashcart: Crashcart, tmp_path: Path) -> None:
    files = {name: str(tmp_path / name) for name in ("report.json", "page.html", "logs")}
    done = ran(
        crashcart, LEAKING, "--json", files["report.json"], "--html", files["page.html"], "--tensorboard", files["logs"],
        "--limit", "2G",
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (1, "done 150\n"), done.stderr
    assert done.stderr.startswith("leak: +") and "held by  history (list" in done.stderr
    document = json.loads(Path(files["report.json"]).read_text())
    finding = document["findings"][0]
    assert (finding["cause"], finding["holder"], finding["where"]["line"]) == ("memory-leak", "history", 7)
    assert finding["where"]["source"].strip() == "history.append(loss)"
    assert 0.9 * (1 << 20) < document["bytes_per_step"] < 1.2 * (1 << 20) and document["limit_bytes"] == 2 << 30
    assert "<svg" in Path(files["page.html"]).read_text() and list(Path(files["logs"]).glob("events.out.tfevents.*"))
    again = crashcart("leaks", "train.py", "--json", "-")
    assert again.returncode == 1 and json.loads(again.stdout)["findings"][0]["holder"] == "history"


def test_no_leak_is_seen_where_there_is_none(crashcart: Crashcart) -> None:
    done = ran(crashcart, QUIET)
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("no leak was seen: over ") and done.stdout == "done 4\n"


def test_two_steps_are_not_checked_and_the_programs_end_is_told(crashcart: Crashcart) -> None:
    done = ran(
        crashcart, "import crashcart as cc\nfor _ in range(2):\n    cc.step()\nraise SystemExit(7)", "--json", "-"
    )
    document = json.loads(done.stdout)
    assert done.returncode == 3 and document["findings"] == [] and document["unchecked"]
    assert "2 steps" in document["not_checked"][0] and document["ending"]["exit_code"] == 7


def test_a_program_without_steps_is_not_checked(crashcart: Crashcart) -> None:
    done = ran(crashcart, "print('hello')")
    assert done.returncode == 3 and done.stderr.startswith("not checked, because ") and done.stdout == "hello\n"


def test_a_run_that_was_not_watched_is_not_checked(crashcart: Crashcart) -> None:
    crashcart.run("pass")
    done = crashcart("leaks", "program.py")
    assert done.returncode == 3 and done.stdout.startswith(
        "not checked, because this run was recorded, but not watched"
    )
    assert "crashcart leaks -- " in done.stdout and "cc.step()" not in done.stdout


def test_what_is_no_python_is_told_as_such(crashcart: Crashcart) -> None:
    slept = crashcart("leaks", "--", "sleep", "0.2")
    assert slept.returncode == 3 and "sleep is no Python program" in slept.stderr and "cc.step()" not in slept.stderr
    isolated = crashcart("leaks", "--", sys.executable, "-I", "-c", "pass")
    assert isolated.returncode == 3 and "-I, -S or -E" in " ".join(isolated.stderr.split())


AFTER = """\
import time

names, kept = [], []
for i in range(100):
    names.append(str(i) * 1000)
    time.sleep(0.01)
for name in names:
    kept.append(bytearray(b"x" * (1 << 20)))
    time.sleep(0.01)
"""


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="from 3.12 on, every loop is counted")
def test_what_leaks_after_the_last_step_gets_no_all_clear(crashcart: Crashcart) -> None:
    done = ran(crashcart, AFTER)
    assert done.returncode == 3 and "MiB after the last step" in " ".join(done.stderr.split()), done.stderr


HEALTHY = """\
import time
for i in range(60):
    lines = [str(i) * 50_000 for _ in range(i % 7)]
    time.sleep(0.03)
"""


@pytest.mark.parametrize("between", [";", "&"])
def test_of_two_programs_the_one_that_leaks_is_told_or_it_is_said_that_one_went_unwatched(
    crashcart: Crashcart, between: str
) -> None:
    healthy, leaking = crashcart.program(HEALTHY, "healthy.py"), crashcart.program(LEAKING, "train.py")
    line = f"{sys.executable} {healthy} {between} {sys.executable} {leaking}; wait"
    done = crashcart("leaks", "--", "sh", "-c", line, timeout_s=120)
    assert done.returncode in (1, 3), done.stderr
    assert "held by  history" in done.stderr or "unwatched" in done.stderr
    if between == ";":
        assert done.returncode == 1


def test_a_loop_that_only_sleeps_gets_no_all_clear(crashcart: Crashcart) -> None:
    done = ran(crashcart, "import time\nfor i in range(100):\n    time.sleep(0.01)\n")
    assert done.returncode == 3 and "nothing shows that they do any work" in " ".join(done.stderr.split()), done.stderr


def test_a_launcher_is_told_as_one(crashcart: Crashcart) -> None:
    program = crashcart.program(LEAKING, "work.py")
    done = ran(crashcart, f"import subprocess, sys\nsubprocess.call([sys.executable, {str(program)!r}])")
    words = " ".join(done.stderr.split())
    assert done.returncode == 3 and "1 other Python process ran beside the watched one" in words, words


def test_wrong_usage_is_said(crashcart: Crashcart) -> None:
    nothing = crashcart("leaks")
    assert nothing.returncode == 2 and "crashcart leaks -- python train.py" in nothing.stderr
    unknown = crashcart("leaks", "nobody.py")
    assert unknown.returncode == 3 and "crashcart leaks -- python train.py" in unknown.stderr
    missing = crashcart("leaks", "--", "/no/such/program")
    assert (
        missing.returncode == 127
        and "crashcart leaks -- python" in missing.stderr
        and "crashcart run" not in missing.stderr
    )
