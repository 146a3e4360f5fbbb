"""Asking interpreters: real ones, and files that are none."""

from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path

import pytest

from crashcart.errors import CannotCheckError
from crashcart.probe import interpreter as interpreter_module
from crashcart.probe.interpreter import ask_interpreter


def test_our_own() -> None:
    asked = ask_interpreter()
    assert asked.interpreter.version == platform.python_version()
    assert asked.interpreter.executable == sys.executable
    assert asked.interpreter.bits == 64
    assert asked.interpreter.architecture == platform.machine()
    assert any(each.endswith("site-packages") for each in asked.search_path)


def test_a_new_venv_is_one_and_has_its_own_path(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "env")], check=True)
    asked = ask_interpreter(str(tmp_path / "env" / "bin" / "python"))
    assert (asked.interpreter.kind, asked.interpreter.tool) == ("venv", "pip")
    assert asked.interpreter.prefix == str(tmp_path / "env")
    assert any(each.startswith(str(tmp_path)) for each in asked.search_path)


def test_uv_writes_itself_into_the_settings(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "env")], check=True)
    settings = tmp_path / "env" / "pyvenv.cfg"
    settings.write_text(settings.read_text() + "uv = 0.5.1\n")
    assert ask_interpreter(str(tmp_path / "env" / "bin" / "python")).interpreter.tool == "uv"


def test_conda_has_its_records_in_the_prefix(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "env")], check=True)
    (tmp_path / "env" / "conda-meta").mkdir()
    interpreter = ask_interpreter(str(tmp_path / "env" / "bin" / "python")).interpreter
    assert (interpreter.kind, interpreter.tool) == ("conda", "conda")


@pytest.mark.parametrize("name", ["/bin/true", "/bin/false", "/no/such/python", "/etc/passwd"])
def test_what_is_no_python_is_said(name: str) -> None:
    with pytest.raises(CannotCheckError, match=name):
        ask_interpreter(name)


def script(folder: Path, text: str) -> str:
    file = folder / "python"
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return str(file)


@pytest.mark.parametrize(
    "text",
    [r"printf '\377\376'", "echo '[]'", f"echo '{interpreter_module._MARK}[]'", f"echo '{interpreter_module._MARK}{{}}'", "echo 3"],
)  # fmt: skip
def test_an_answer_of_another_kind(tmp_path: Path, text: str) -> None:
    with pytest.raises(CannotCheckError, match="does not answer as a Python"):
        ask_interpreter(script(tmp_path, text))


def test_a_python_that_prints_before_and_after_its_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import atexit, sys\nsys.stdout.write('hello, no newline')\natexit.register(print, 'bye')\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert ask_interpreter().interpreter.version == platform.python_version()


def test_one_that_hangs_is_given_up_in_words_of_our_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreter_module, "_TIMEOUT_S", 1.0)
    with pytest.raises(CannotCheckError, match=r"it gave no answer in 1 s$"):
        ask_interpreter(script(tmp_path, "exec sleep 60"))
