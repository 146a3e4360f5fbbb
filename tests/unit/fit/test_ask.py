"""Asking a child: answers of any length, time limits, and children that die. The children here need no TensorFlow."""

from __future__ import annotations

import io
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from crashcart.cli import fit_ask
from crashcart.cli.fit_ask import Answer, Progress, ask
from crashcart.errors import CannotCheckError, UsageError

REQUEST = {"file": "train.py", "name": "build"}
HEAD = """
import json, os, signal, subprocess, sys, time
request, fd = json.loads(sys.argv[1]), int(sys.argv[2])
def say(**message):
    data = json.dumps(message).encode() + b"\\n"
    while data:
        data = data[os.write(fd, data):]
"""


@pytest.fixture
def child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    def made(source: str) -> None:
        path = tmp_path / "child.py"
        path.write_text(HEAD + source)
        monkeypatch.setattr(fit_ask, "COMMAND", (sys.executable, str(path)))

    return made


def asked(timeout_s: float = 30.0) -> tuple[Answer, list[str]]:
    ticks: list[str] = []
    return ask(REQUEST, timeout_s, ticks.append), ticks


def test_an_answer_larger_than_a_pipe_is_read_while_the_child_writes_it(child: Any) -> None:
    child(
        "say(phase='estimating'); say(step={'text': 'x' * 3_000_000}); say(remedy={'name': request['name']}); say(note='no more'); say(done=True)"
    )
    answer, ticks = asked()
    assert answer.step is not None and len(answer.step["text"]) == 3_000_000
    assert answer.remedies == [{"name": "build"}] and answer.done and answer.notes == ["no more"]
    assert "estimating" in ticks


def test_a_process_that_the_users_code_left_behind_is_not_waited_for(child: Any) -> None:
    child(
        "say(step={}); os.set_inheritable(fd, True); "
        "subprocess.Popen(['sleep', '60'], pass_fds=(fd,), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL); os._exit(0)"
    )
    began_s = time.monotonic()
    assert asked()[0].step == {}
    assert time.monotonic() - began_s < 30


def test_an_error_comes_with_its_help_and_code(child: Any) -> None:
    child("say(phase='loading the model'); say(error='no name', help='Name one.', exit_code=2); say(done=True)")
    answer, _ = asked()
    assert isinstance(answer.error, UsageError) and answer.error.help == "Name one."
    assert answer.phase == "loading the model"


def test_time_that_runs_out_is_told_with_what_was_being_done(child: Any) -> None:
    child("say(phase='tracing the step'); time.sleep(60)")
    with pytest.raises(CannotCheckError, match=r"no estimate after .* it was still tracing the step"):
        asked(1.5)


def test_the_estimate_is_kept_where_time_runs_out_behind_it(child: Any) -> None:
    child("say(step={'a': 1}); say(phase='estimating remedies'); time.sleep(60)")
    answer, _ = asked(1.5)
    assert answer.step == {"a": 1} and answer.timed_out and not answer.done


@pytest.mark.parametrize(
    ("source", "says", "then"),
    [
        (
            "say(phase='loading the model'); os.kill(os.getpid(), signal.SIGKILL)",
            "killed while loading the model",
            "weights",
        ),
        ("say(phase='estimating'); os.kill(os.getpid(), signal.SIGKILL)", "killed while estimating", "more memory"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "ended by SIGSEGV while starting", "crashcart run"),
        ("os._exit(7)", "ended with code 7 while starting", "crashcart run"),
    ],
)
def test_a_child_that_dies_is_explained(child: Any, source: str, says: str, then: str) -> None:
    child(source)
    with pytest.raises(CannotCheckError) as raised:
        asked()
    assert says in str(raised.value)
    assert then in raised.value.help


def test_a_kill_that_the_kernel_counted_is_said_to_be_for_memory(child: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = iter((3, 4))
    monkeypatch.setattr(fit_ask, "oom_kills_host", lambda: next(counts))
    child("say(phase='loading the model'); os.kill(os.getpid(), signal.SIGKILL)")
    with pytest.raises(CannotCheckError, match="killed for lack of memory rose"):
        asked()


def test_what_the_child_prints_does_not_reach_stdout(child: Any, capfd: pytest.CaptureFixture[str]) -> None:
    child("print('hello from the file', flush=True); say(step={}); say(done=True)")
    asked()
    out, err = capfd.readouterr()
    assert out == "" and "hello from the file" in err


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_shown_after_a_second_on_a_terminal_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    now = [0.0]
    monkeypatch.setattr(fit_ask.time, "monotonic", lambda: now[0])
    terminal, pipe = Terminal(), io.StringIO()
    shown, hidden = Progress(terminal), Progress(pipe)
    for now[0] in (0.5, 1.5):
        shown("tracing the step")
        hidden("tracing the step")
        assert ("tracing the step" in terminal.getvalue()) == (now[0] > 1)
    shown.clear()
    assert terminal.getvalue().endswith("\r\x1b[K")
    assert pipe.getvalue() == ""


def test_no_progress_where_there_is_no_stderr_or_a_dumb_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    Progress(None)("loading")
    monkeypatch.setenv("TERM", "dumb")
    terminal = Terminal()
    progress = Progress(terminal)
    progress._began_s -= 10
    progress("loading")
    assert terminal.getvalue() == ""


def test_descriptors_are_given_back(child: Any) -> None:
    child("say(step={}); say(done=True)")
    asked()
    before = len(os.listdir("/proc/self/fd"))
    asked()
    assert len(os.listdir("/proc/self/fd")) == before
