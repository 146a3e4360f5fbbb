"""The commands as magics, in a real shell of IPython (the tests with real kernels are in tests/jupyter)."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import crashcart
from crashcart.cli.main import COMMANDS
from crashcart.report.holdings import Holdings

interactiveshell = pytest.importorskip("IPython.core.interactiveshell")


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("CRASHCART_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    made = interactiveshell.InteractiveShell.instance()
    made.run_line_magic("load_ext", "crashcart")
    yield made
    made.run_line_magic("unload_ext", "crashcart")
    interactiveshell.InteractiveShell.clear_instance()


def test_every_command_is_a_magic_but_those_that_ipython_has(shell: Any) -> None:
    known = shell.magics_manager.magics["line"]
    assert set(COMMANDS) <= set(known) and "crashcart" in known
    assert type(known["run"]).__module__ != "crashcart.jupyter.magics" and "IPython" in known["run"].__module__


def test_memory_names_the_variables_of_the_notebook(shell: Any) -> None:
    shell.run_cell("big = bytearray(64 << 20)")
    found = shell.run_cell("%memory").result
    assert isinstance(found, Holdings)
    assert [each.bytes >> 20 for each in found.holders if each.name == "big"] == [64]
    assert "cells are counted" in str(found)


def test_what_goes_wrong_is_said_and_raises_nothing(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    for line, words in (
        ("%why", "there is no recording yet"),
        ("%why --bogus", "unrecognized arguments: --bogus"),
        ("%why --kernel nobody", "kernel nobody has not died"),
        ("%crashcart", "usage: crashcart COMMAND"),
    ):
        result = shell.run_cell(line)
        captured = capsys.readouterr()
        assert result.success and result.result is None, line
        assert words in captured.out + captured.err, line


def test_options_are_the_commands_own(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell("%crashcart list --json")
    assert '"recordings": []' in capsys.readouterr().out


def test_unloading_takes_them_away(shell: Any) -> None:
    crashcart.unload_ipython_extension(shell)
    known = shell.magics_manager.magics["line"]
    assert "why" not in known and "run" in known
    crashcart.load_ipython_extension(shell)


LEAKING = """\
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_line_magic("load_ext", "crashcart")
shell.run_cell("import crashcart")
shell.run_cell('''%%leaks
import time
kept = []
for number in range(60):
    time.sleep(0.02)
    kept.append(bytearray(1 << 20))
    crashcart.step()
''')
"""


def test_a_whole_cell_is_watched_for_leaks(tmp_path: Path) -> None:
    """In a process of its own, as a kernel is: here, hundreds of modules of tests would be looked through first."""
    homes = {"CRASHCART_HOME": str(tmp_path / "home"), "IPYTHONDIR": str(tmp_path / "ipython")}
    done = subprocess.run(
        [sys.executable, "-c", LEAKING], stdout=subprocess.PIPE, text=True, env={**os.environ, **homes}, check=True
    )
    assert "leak: +1" in done.stdout
    assert "held by  kept (list in the notebook)" in done.stdout and "kept.append(bytearray(1 << 20))" in done.stdout


def test_a_watched_cell_that_fails_has_failed(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """A notebook that is run as a whole stops there, as without the magic."""
    ran = shell.run_cell("%%leaks\n1 / 0")
    assert isinstance(ran.error_in_exec, ZeroDivisionError)
    assert shell.run_cell("%%leaks\n1 / 1").success
    capsys.readouterr()


def test_what_runs_between_on_and_off_is_watched(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell("import crashcart")
    shell.run_cell("%leaks on")
    assert "%leaks off" in capsys.readouterr().out
    shell.run_cell("for number in range(40):\n    text = 'x' * 1000\n    crashcart.step()")
    found = shell.run_cell("%leaks off").result
    assert not found.leaks
    assert shell.run_cell("%leaks off").result.leaks is None, "nothing was watched"


def test_no_magic_is_left_after_unloading(shell: Any) -> None:
    assert "leaks" in shell.magics_manager.magics["cell"]
    shell.run_line_magic("unload_ext", "crashcart")
    assert "leaks" not in shell.magics_manager.magics["cell"]
    shell.run_line_magic("load_ext", "crashcart")
