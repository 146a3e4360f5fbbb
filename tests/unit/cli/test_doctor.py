"""`crashcart doctor` as it is called."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Crashcart


def test_the_environment_of_these_tests_is_sound(crashcart: Crashcart) -> None:
    done = crashcart("doctor", "--json")
    document = json.loads(done.stdout)
    assert [each for each in document["findings"] if each["level"] != "note"] == []
    assert done.returncode == 0, done.stderr
    assert document["schema"] == 1 and "D101" in document["checked"]


def test_an_import_that_dies_is_explained(crashcart: Crashcart, tmp_path: Path) -> None:
    shadow = tmp_path / "shadow"
    shadow.mkdir()
    (shadow / "tensorflow.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n")
    path = os.pathsep.join(filter(None, [str(shadow), os.environ.get("PYTHONPATH")]))
    done = crashcart("doctor", "--import", "--json", env={"PYTHONPATH": path})
    finding = next(each for each in json.loads(done.stdout)["findings"] if each["code"] == "D601")
    assert finding["cause"] == "native-crash"
    assert finding["where"]["file"].endswith("tensorflow.py") and finding["where"]["line"] == 2
    assert done.returncode == 1


@pytest.mark.parametrize("name", ["/bin/true", "/no/such/python"])
def test_what_is_no_interpreter_is_said(crashcart: Crashcart, name: str) -> None:
    done = crashcart("doctor", "--python", name)
    assert done.returncode == 3
    assert name in done.stderr and "Traceback" not in done.stderr


def test_in_python(crashcart: Crashcart) -> None:
    import crashcart as cc

    examined = cc.doctor()
    assert str(examined).startswith("crashcart: ")
    assert "Python" in examined.report.subject
    assert "<iframe" in examined._repr_html_()


@pytest.mark.parametrize("options", [(), ("--import",)])
def test_in_a_directory_that_was_deleted(crashcart: Crashcart, tmp_path: Path, options: tuple[str, ...]) -> None:
    gone, shadow = tmp_path / "gone", tmp_path / "shadow"
    gone.mkdir()
    shadow.mkdir()
    (shadow / "tensorflow.py").write_text("raise ImportError('nothing here')\n")
    path = os.pathsep.join(filter(None, [str(shadow), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [
            "sh",
            "-c",
            'rmdir "$0" && exec "$@"',
            str(gone),
            sys.executable,
            "-m",
            "crashcart",
            "doctor",
            *options,
            "--json",
        ],
        cwd=gone,
        env={**crashcart.environment, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode in (0, 1), done.stderr
    document = json.loads(done.stdout)
    assert "D101" in document["checked"]
    assert any(each["code"] == "D601" for each in document["findings"]) == bool(options)
