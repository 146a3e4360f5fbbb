"""The tool that asks the index for releases."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

TOOL = Path(__file__).parents[3] / "tools" / "refresh_remedies.py"
MATCHES_NOTHING = "ERROR: No matching distribution found for pyarrow"


def _tool(monkeypatch: pytest.MonkeyPatch, target: Path) -> Any:
    spec = spec_from_file_location("refresh_remedies", TOOL)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "_TARGET", target)
    monkeypatch.setattr(sys, "argv", [str(TOOL), "pyarrow"])
    return module


def test_an_index_out_of_reach_empties_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A port that nobody listens on."""
    target = tmp_path / "remedies.json"
    target.write_text('{"pyarrow": {"17.0.0": {}}}')
    tool = _tool(monkeypatch, target)
    monkeypatch.setattr(tool, "_PYTHONS", ("3.11",))
    for name, value in {
        "PIP_INDEX_URL": "http://127.0.0.1:9/simple",
        "PIP_RETRIES": "0",
        "PIP_CONFIG_FILE": "/dev/null",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("PIP_EXTRA_INDEX_URL", raising=False)
    assert tool.main() == 1
    assert "nothing was written" in capsys.readouterr().err
    assert target.read_text() == '{"pyarrow": {"17.0.0": {}}}'


@pytest.mark.parametrize(
    ("words", "code", "stderr", "fails"),
    [
        (("index", "versions", "pyarrow"), 1, MATCHES_NOTHING, False),
        (("index", "versions", "pyarrow"), 1, f"WARNING: Retrying (Retry(total=0))\n{MATCHES_NOTHING}", True),
        (("index", "versions", "pyarrow"), 0, "WARNING: Retrying (Retry(total=4))", False),
        (("index", "versions", "pyarrow"), 2, "Traceback", True),
        (("install", "pyarrow==1"), 1, MATCHES_NOTHING, True),
    ],
    ids=["no-wheel-for-this-python", "out-of-reach", "after-a-second-try", "pip-fails", "a-release-is-gone"],
)
def test_what_is_an_answer(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: tuple[str, ...], code: int, stderr: str, fails: bool
) -> None:
    tool = _tool(monkeypatch, tmp_path)
    done = subprocess.CompletedProcess(words, code, "", stderr)
    monkeypatch.setattr(tool.subprocess, "run", lambda *_, **__: done)
    if fails:
        with pytest.raises(tool.IndexFailed, match="pip"):
            tool._pip(*words)
    else:
        assert tool._pip(*words) == ""
