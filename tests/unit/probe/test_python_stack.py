"""Stacks read from outside are the stacks that the program itself sees, in every interpreter that is here."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from crashcart.probe.line_table import line_at
from crashcart.probe.python_stack import Interpreter, PythonStackReader

HOOK = Path(__file__).resolve().parents[3] / "src" / "crashcart" / "record" / "inside"


def interpreters() -> list[str]:
    """This one, and other versions that are installed: by name on the path, or beside this one in a version manager."""
    found = {sys.executable}
    base = Path(sys.base_prefix).parent
    for minor in range(10, 14):
        named = shutil.which(f"python3.{minor}")
        found |= {str(path) for path in base.glob(f"3.{minor}.*/bin/python3")}
        if named:
            found.add(named)
    return sorted(each for each in found if version(each) in {(3, minor) for minor in range(10, 14)})


def version(python: str) -> tuple[int, int]:
    code = "import sys; print(*sys.version_info[:2])"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, timeout=30)
    return tuple(int(part) for part in done.stdout.split())[:2] if done.returncode == 0 else (0, 0)  # type: ignore[return-value]


PROGRAM = """
    import json, sys, threading, time

    sys.path.insert(0, {hook!r})
    import _crashcart_hook

    class Hook:
        native = False

    def background():
        time.sleep(60)

    def änders(depth):
        if depth:
            return (
                änders(depth - 1)
            )
        facts = _crashcart_hook._interpreter(Hook())
        facts["lines"] = []
        frame = sys._getframe()
        while frame is not None:
            facts["lines"].append([frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name])
            frame = frame.f_back
        print(json.dumps(facts), flush=True)
        time.sleep(60)

    threading.Thread(target=background, daemon=True).start()
    änders(5)
"""


@pytest.fixture(params=interpreters(), ids=lambda python: ".".join(map(str, version(python))))
def watched(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[int, dict[str, object]]]:
    import json

    path = tmp_path / "prögram.py"
    path.write_text(textwrap.dedent(PROGRAM).format(hook=str(HOOK)), encoding="utf-8")
    with subprocess.Popen([request.param, str(path)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        facts = json.loads(process.stdout.readline())
        time.sleep(0.3)
        yield process.pid, facts
        process.kill()


def interpreter(facts: dict[str, object]) -> Interpreter:
    major, minor = facts["version"]  # type: ignore[misc]
    return Interpreter((major, minor), facts["thread_state"], facts["code_type"], facts["code_bytes"])  # type: ignore[arg-type]


def test_the_main_threads_stack_is_the_one_it_sees_itself(watched: tuple[int, dict[str, object]]) -> None:
    pid, facts = watched
    reader = PythonStackReader(pid, interpreter(facts))
    assert reader.unreadable is None
    seen = reader.main_thread()
    reader.close()
    assert seen is not None
    frames = [frame for frame in seen if frame[0] != "<shim>"]
    truth = [tuple(each) for each in facts["lines"]]  # type: ignore[attr-defined]
    assert frames[1:] == truth[1:]
    assert frames[0][0] == truth[0][0]
    assert frames[0][2] == "änders"
    assert frames[0][1] > truth[0][1]


def test_other_threads_are_read_too(watched: tuple[int, dict[str, object]]) -> None:
    pid, facts = watched
    reader = PythonStackReader(pid, interpreter(facts))
    functions = {frame[2] for stack in reader.other_threads() for frame in stack}
    reader.close()
    assert {"background", "_bootstrap"} <= functions


def test_a_wrong_address_is_no_stack_and_no_error(watched: tuple[int, dict[str, object]]) -> None:
    pid, facts = watched
    right = interpreter(facts)
    for address in (0, 4096, right.thread_state + 8, 2**60):
        wrong = Interpreter(right.version, address, right.code_type, right.code_bytes)
        assert not PythonStackReader(pid, wrong).main_thread()


def test_an_unknown_version_is_said() -> None:
    reader = PythonStackReader(os.getpid(), Interpreter((3, 99), 1, 1, 1))
    assert reader.unreadable == "the stacks of Python 3.99 are not known"


def test_reading_does_not_disturb_a_busy_program(tmp_path: Path) -> None:
    """Hundreds of good reads of a program that calls and returns all the time: it ends in order, with the right result."""
    import json

    source = (
        textwrap.dedent(PROGRAM).format(hook=str(HOOK)).replace("time.sleep(60)\n\nthreading", "return\n\nthreading")
    )
    source += "\ndef tree(n):\n    return 1 if n < 2 else tree(n - 1) + tree(n - 2)\n"
    source += "\nimport select\nwhile not select.select([sys.stdin], [], [], 0)[0]:\n    assert tree(20) == 10946\n"
    path = tmp_path / "busy.py"
    path.write_text(source, encoding="utf-8")
    with subprocess.Popen([sys.executable, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        reader = PythonStackReader(process.pid, interpreter(json.loads(process.stdout.readline())))
        good, until_s = 0, time.monotonic() + 60
        while good < 300 and process.poll() is None and time.monotonic() < until_s:
            good += bool(reader.main_thread())
        process.stdin.close()
        process.wait(timeout=30)
    reader.close()
    assert (good, process.returncode) == (300, 0)


def test_lines_of_every_instruction_are_what_the_interpreter_says() -> None:
    def sample(values: list[int]) -> list[int]:
        total = [
            value * 2
            for value in values
            if value
        ]  # fmt: skip

        for value in values:
            try:
                total.append(
                    1 // value
                )  # fmt: skip
            except ZeroDivisionError as error:
                raise ValueError(
                    "zero"
                ) from error  # fmt: skip
        return total

    code = sample.__code__
    for start, end, line in code.co_lines():
        if line is not None:
            for offset in range(start, end, 2):
                assert line_at(code.co_linetable, code.co_firstlineno, offset, sys.version_info[:2]) == line
