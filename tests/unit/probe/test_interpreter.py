"""Asking interpreters: real ones, and files that are none."""

from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path

import pytest

from crashcart.errors import CannotCheckError
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
