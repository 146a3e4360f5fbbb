"""The commands as magics, in a real shell of IPython (the tests with real kernels are in tests/jupyter)."""

from __future__ import annotations

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
