"""The commands: output for people and machines, exit codes, bad input."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Crashcart


def test_run_writes_json_and_html_where_asked(crashcart: Crashcart) -> None:
    program = crashcart.program("raise FileNotFoundError(2, 'No such file or directory', 'data.csv')")
    done = crashcart("run", "--json", "r.json", "--html", "r.html", "--quiet", "--", sys.executable, program)
    assert done.returncode == 1
    assert "crashcart:" not in done.stderr
    document = json.loads((crashcart.scratch / "r.json").read_text())
    assert document["schema"] == 1
    assert document["findings"][0]["cause"] == "data-missing"
    assert (crashcart.scratch / "r.html").read_text().startswith("<!DOCTYPE html>")


def test_a_report_that_cannot_be_written_does_not_change_the_exit_code(crashcart: Crashcart) -> None:
    done = crashcart(
        "run", "--html", "/no/such/folder/r.html", "--", sys.executable, crashcart.program("raise SystemExit(9)")
    )
    assert done.returncode == 9
    assert "cannot write /no/such/folder/r.html" in done.stderr


def test_why_shows_the_last_death_again(crashcart: Crashcart) -> None:
    crashcart.run("{}['key']")
    text = crashcart("why")
    assert text.returncode == 1
    assert "KeyError" in text.stdout
    document = json.loads(crashcart("why", "--json").stdout)
    assert document["ending"]["exit_code"] == 1
    assert document["findings"][0]["where"]["line"] == 1


def test_why_of_a_clean_end_is_0(crashcart: Crashcart) -> None:
    crashcart.run("pass")
    done = crashcart("why")
    assert done.returncode == 0
    assert "ended by itself" in done.stdout


def test_why_reads_a_pasted_log(crashcart: Crashcart) -> None:
    log = "Traceback (most recent call last):\n  File \"t.py\", line 3, in <module>\n    x\nNameError: name 'x' is not defined\n"
    done = crashcart("why", "--log", "-", input=log)
    assert done.returncode == 1
    assert "NameError" in done.stdout
    assert "t.py:3" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ((), 2, "usage: crashcart COMMAND"),
        (("fly",), 2, "no such command: fly; expected one of run, guard"),
        (("why", "--colour"), 2, "unrecognized arguments"),
        (("why", "--log", "absent.txt"), 3, "cannot read absent.txt"),
        (("why", "x", "--log", "y"), 2, "expected one of them"),
        (("rule", "W999"), 2, "there is no rule W999"),
        (("--version",), 0, "crashcart 0."),
        (("--help",), 0, "No kernel dies unexplained"),
    ],
)
def test_bad_and_plain_usage(crashcart: Crashcart, arguments: tuple[str, ...], code: int, words: str) -> None:
    done = crashcart(*arguments)
    assert done.returncode == code
    assert words in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_an_empty_log_is_said(crashcart: Crashcart) -> None:
    done = crashcart("why", "--log", "-", input="\n \n")
    assert done.returncode == 3
    assert "the log is empty" in done.stderr


@pytest.mark.parametrize(
    ("raw", "code", "words"),
    [
        (b"Killed\n", 1, "dmesg"),
        ("\ufeffKilled\r\n".encode("utf-16-le"), 1, "line 1: Killed"),
        ("OSError: [WinError 1455] 页面文件太小，无法完成操作。".encode("gbk"), 1, "paging file"),
        (b"\x1b[31mMemoryError\x1b[0m\n", 1, "RAM"),
        (b"all done\nProcess finished with exit code 0\n", 0, "ended by itself"),
        (bytes(range(256)) * 40, 3, "no text"),
        (b"\x1f\x8b\x08" + b"x" * 50, 3, "gunzip -c"),
    ],
)
def test_a_log_of_any_kind_is_explained_or_refused(
    crashcart: Crashcart, tmp_path: Path, raw: bytes, code: int, words: str
) -> None:
    file = tmp_path / "out.log"
    file.write_bytes(raw)
    done = crashcart("why", "--log", str(file))
    assert done.returncode == code
    assert words in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_a_log_as_json_names_the_noise(crashcart: Crashcart) -> None:
    text = "W py_utils.cc:38] TF-TRT Warning: Could not find TensorRT\nOSError: [Errno 28] No space left on device\n"
    document = json.loads(crashcart("why", "--log", "-", "--json", input=text).stdout)
    assert document["findings"][0]["cause"] == "disk-full"
    assert [(each["line"], each["count"]) for each in document["noise"]] == [(1, 1)]
    assert document["findings"][0]["because"][0].startswith("line 2: ")


def test_list_shows_how_each_run_ended(crashcart: Crashcart) -> None:
    crashcart.run("raise SystemExit(4)", name="first.py")
    crashcart.run("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", name="second.py")
    lines = crashcart("list").stdout.splitlines()
    assert len(lines) == 2
    assert "exit 4" in "".join(lines)
    assert "SIGTERM" in "".join(lines)
    rows = json.loads(crashcart("list", "--json").stdout)["recordings"]
    assert {row["cause"] for row in rows} == {"clean-exit", "killed-from-outside"}


def test_rule_prints_the_manual_page(crashcart: Crashcart) -> None:
    done = crashcart("rule", "w101")
    assert done.returncode == 0
    assert "## How we know" in done.stdout
    assert "W507" in crashcart("rule").stdout


def test_the_functions_are_the_commands(crashcart: Crashcart) -> None:
    source = (
        "import crashcart as cc, sys\n"
        "death = cc.run([sys.executable, '-c', '1/0'])\n"
        "assert death.verdict.cause is cc.Cause.PYTHON_ERROR\n"
        "assert 'ZeroDivisionError' in str(death) and '<iframe' in death._repr_html_()\n"
        "assert cc.why().report.verdict == death.verdict and len(cc.recordings()) == 1\n"
        "assert death.to_document()['schema'] == 1\n"
        "assert cc.note('x') is False\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", source], env=crashcart.environment, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr


def test_a_closed_pipe_is_no_traceback(crashcart: Crashcart) -> None:
    crashcart.run("1/0")
    done = subprocess.run(
        f"{sys.executable} -m crashcart why --json | head -c 10",
        shell=True,
        capture_output=True,
        text=True,
        env=crashcart.environment,
    )
    assert "Traceback" not in done.stderr
