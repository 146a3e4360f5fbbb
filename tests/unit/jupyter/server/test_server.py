"""The part of crashcart inside a real Jupyter server, asked over HTTP."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("jupyter_server", reason="needs jupyter_server: pip install 'crashcart[jupyter]'")

from bench.processes import cpu_s
from crashcart.blackbox.kernels import introduce
from crashcart.units import MIB
from tests.served import Answer, Served

OTHER_LANGUAGE = ["sleep", "600"]
AUTHORIZER = """
import os
from jupyter_server.auth import Authorizer
class AtWill(Authorizer):
    def is_authorized(self, handler, user, action, resource):
        return resource != "kernels" or not os.path.exists({mark!r})
"""
NASTY = "<script>alert(1)</script><img src=x onerror=alert(2)>"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    served = Served(tmp_path_factory.mktemp("served"))
    served.watch_kernel("watched", "--no-guard")
    served.watch_kernel("guarded")
    served.add_kernel("other", OTHER_LANGUAGE, language="R")
    with served.running("jupyter_server"):
        yield served


class Bare(Served):
    """A server without recordings, whose user may be forbidden kernels."""

    def __init__(self, scratch: Path) -> None:
        super().__init__(scratch)
        (scratch / "at_will.py").write_text(AUTHORIZER.format(mark=str(self.mark)))
        self.environment["PYTHONPATH"] += f":{scratch}"
        self.environment["CRASHCART_HOME"] = str(scratch / "nowhere" / "at all")

    @property
    def mark(self) -> Path:
        return self.scratch / "forbidden"

    def forbid_kernels(self) -> None:
        self.mark.touch()

    def allow_kernels(self) -> None:
        self.mark.unlink()


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bare]:
    served = Bare(tmp_path_factory.mktemp("bare"))
    with served.running("jupyter_server", "--ServerApp.authorizer_class=at_will.AtWill"):
        yield served


@pytest.fixture(scope="module")
def watched(server: Served) -> str:
    return server.start_kernel("watched")


@pytest.fixture(scope="module")
def plain(server: Served) -> str:
    return server.start_kernel("plain")


def state(server: Served, kernel_id: str, question: str = "") -> dict[str, Any]:
    answer = server.ask(f"crashcart/kernels/{kernel_id}{question}")
    assert answer.status == 200, answer.text
    return answer.document


def until(condition: Callable[[], Any], timeout_s: float = 20) -> Any:
    end = time.monotonic() + timeout_s
    while not (found := condition()):
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.1)
    return found


def record(server: Served, source: str, kernel_id: str) -> Path:
    """A real death, recorded as one of that kernel."""
    before = set((server.home / "runs").glob("*"))
    program = server.scratch / "program.py"
    program.write_text(source)
    command = [sys.executable, "-m", "crashcart", "run", "--quiet", "--no-guard", "--", sys.executable, str(program)]
    subprocess.run(command, env=server.environment, capture_output=True, timeout=60)
    folder = next(iter(set((server.home / "runs").glob("*")) - before))
    introduce(folder, kernel_id, "kernel.json", None)
    return folder


def test_memory_of_a_watched_kernel(server: Served, watched: str) -> None:
    found = until(lambda: (each := state(server, watched))["memory"] and each)
    assert found["watched"] is True
    assert found["reason"] is None
    assert found["deaths"] == []
    assert "history" not in found
    memory = found["memory"]
    assert 0 < memory["rss_bytes"] < memory["limit_bytes"]
    assert 0 < memory["used_bytes"] < memory["limit_bytes"]
    assert abs(found["now_unix_s"] - memory["at_unix_s"]) < 30


def test_history_is_there_when_asked_for(server: Served, watched: str) -> None:
    history = until(lambda: state(server, watched, "?history=1")["history"])
    assert len(history) <= 300
    assert all(used > 0 for _, used in history)
    assert [at for at, _ in history] == sorted(at for at, _ in history)


def test_steps_of_the_guard_are_told(server: Served) -> None:
    guarded = server.start_kernel("guarded")
    steps = until(lambda: state(server, guarded)["guard"])
    assert steps[0]["text"]
    assert abs(steps[0]["at_unix_s"] - time.time()) < 60


@pytest.mark.parametrize("question", ["", "?history=1", "/deaths/anything"])
@pytest.mark.parametrize("token", [None, "wrong"])
def test_nobody_else_gets_an_answer(server: Served, watched: str, question: str, token: str | None) -> None:
    answer = server.ask(f"crashcart/kernels/{watched}{question}", token=token)
    assert answer.status == 403
    assert "memory" not in answer.text


def test_a_user_without_the_right_to_kernels_gets_no_answer(bare: Bare) -> None:
    kernel_id = bare.start_kernel("plain")
    bare.forbid_kernels()
    assert bare.ask("api/sessions").status == 200
    assert bare.ask(f"crashcart/kernels/{kernel_id}").status == 403
    bare.allow_kernels()
    assert bare.ask(f"crashcart/kernels/{kernel_id}").status == 200


def test_kernels_of_others_are_unknown(server: Served, watched: str) -> None:
    record(server, "raise ValueError('of another server')", "11111111-2222-3333-4444-555555555555")
    answer = server.ask("crashcart/kernels/11111111-2222-3333-4444-555555555555")
    assert answer.status == 404
    assert "another" not in answer.text


@pytest.mark.parametrize(
    "name",
    [
        "..",
        "%2e%2e",
        "%2e%2e%2f%2e%2e%2fetc%2fpasswd",
        "..%2f..",
        "/etc",
        "%2fetc",
        ".",
        "%00",
        "no-such-recording",
        "*",
    ],
)
def test_no_path_comes_from_the_client(server: Served, watched: str, name: str) -> None:
    answer = server.ask(f"crashcart/kernels/{watched}/deaths/{name}")
    assert answer.status in (400, 404)
    assert "root:" not in answer.text


@pytest.mark.parametrize("kernel_id", ["..", "%2e%2e", "%2e%2e%2fruns", "a%2fb"])
def test_no_path_hides_in_the_kernel(server: Served, kernel_id: str) -> None:
    assert server.ask(f"crashcart/kernels/{kernel_id}").status == 404
    assert server.ask(f"crashcart/kernels/{kernel_id}/deaths/x").status == 404


def test_a_recording_of_another_kernel_is_refused(server: Served, watched: str, plain: str) -> None:
    folder = record(server, "raise ValueError('of the plain one')", plain)
    assert server.ask(f"crashcart/kernels/{plain}/deaths/{folder.name}").status == 200
    assert server.ask(f"crashcart/kernels/{watched}/deaths/{folder.name}").status == 404


def report(server: Served, kernel_id: str, folder: Path) -> Answer:
    return server.ask(f"crashcart/kernels/{kernel_id}/deaths/{folder.name}")


def test_a_death_in_a_line_and_in_full(server: Served) -> None:
    kernel_id = server.start_kernel("plain")
    folder = record(server, "import ctypes\nctypes.string_at(0)\n", kernel_id)
    row = state(server, kernel_id)["deaths"][0]
    assert row["recording"] == folder.name
    assert row["cause"] == "native-crash"
    assert row["line"] == 2
    assert row["confidence"] == "certain"
    assert abs(row["at_unix_s"] - time.time()) < 60
    full = report(server, kernel_id, folder).document
    assert full["document"]["findings"][0]["headline"] == row["headline"]
    assert full["html"].lstrip().startswith("<!DOCTYPE html>")
    assert full["limit_bytes"] > 0


def test_what_the_program_says_is_escaped(server: Served) -> None:
    kernel_id = server.start_kernel("plain")
    folder = record(server, f"raise ValueError({NASTY!r})", kernel_id)
    answer = report(server, kernel_id, folder)
    assert answer.headers["Content-Type"].startswith("application/json")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    page = answer.document["html"]
    assert "alert(1)" in page
    assert "<script" not in page
    assert "<img" not in page


def test_an_end_that_was_asked_for_is_no_death(server: Served) -> None:
    kernel_id = server.start_kernel("watched")
    until(
        lambda: (state(server, kernel_id)["memory"] or {}).get("rss_bytes", 0) > 50 * MIB
    )  # it takes requests by then
    assert server.ask(f"api/kernels/{kernel_id}/restart", method="POST", body={}).status == 200
    until(lambda: len(lives(server, kernel_id)) == 2)
    assert any((folder / "ending.json").exists() for folder in lives(server, kernel_id))
    assert state(server, kernel_id)["deaths"] == []


def lives(server: Served, kernel_id: str) -> list[Path]:
    return [path.parent for path in (server.home / "runs").glob("*/kernel.json") if kernel_id in path.read_text()]


def test_a_damaged_recording_is_said_to_be_one(server: Served) -> None:
    kernel_id = server.start_kernel("plain")
    folder = record(server, "raise ValueError('x')", kernel_id)
    (folder / "run.json").write_bytes(b"\0\0\0")
    found = state(server, kernel_id)
    assert found["watched"] is False
    assert "cannot be read" in found["reason"]
    assert "damaged" in found["deaths"][0]["headline"]
    answer = report(server, kernel_id, folder)
    assert answer.status == 422
    assert "damaged" in answer.document["message"]


def test_damaged_rings_do_not_hide_the_rest(server: Served) -> None:
    kernel_id = server.start_kernel("plain")
    folder = record(server, "raise ValueError('x')", kernel_id)
    for ring in folder.glob("*.ring"):
        ring.write_bytes(b"not a ring")
    assert state(server, kernel_id, "?history=1")["deaths"][0]["recording"] == folder.name
    assert report(server, kernel_id, folder).document["history"] == []


def test_unwatched_kernels_say_why(server: Served) -> None:
    fresh = state(server, server.start_kernel("plain"))
    assert fresh["watched"] is False
    assert "crashcart jupyter enable" in fresh["reason"]
    assert fresh["memory"] is None
    assert "for r" in state(server, server.start_kernel("other"))["reason"]


def test_a_home_without_recordings_is_no_failure(bare: Bare) -> None:
    found = state(bare, bare.start_kernel("plain"), "?history=1")
    assert (found["watched"], found["history"], found["deaths"]) == (False, [], [])


def test_a_kernel_that_jupyter_gave_up_still_has_its_deaths(server: Served) -> None:
    """A shutdown makes the server forget the kernel; what it asked about before stays known to us."""
    kernel_id = server.start_kernel("plain")
    record(server, "raise ValueError('x')", kernel_id)
    assert state(server, kernel_id)["deaths"]
    assert server.ask(f"api/kernels/{kernel_id}", method="DELETE").status == 204
    assert state(server, kernel_id)["deaths"]


def test_the_answer_is_quick(server: Served, watched: str) -> None:
    """It is asked every two seconds by each window: 50 answers in less than 2.5 s of the server's processor time."""
    state(server, watched)
    began_s = cpu_s(server.pid)
    for _ in range(50):
        state(server, watched)
    assert cpu_s(server.pid) - began_s < 2.5


def test_nothing_went_wrong_in_the_server(server: Served) -> None:
    """Runs last: no answer above was a failure of ours."""
    assert "crashcart/jupyter/server" not in server.log
    assert "500 GET" not in server.log
