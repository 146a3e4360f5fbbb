"""The tool that asks the index for releases."""

from __future__ import annotations

import subprocess
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

import pytest

from crashcart.doctor._facts import facts

ROOT = Path(__file__).resolve().parents[3]
MATCHES_NOTHING = "ERROR: No matching distribution found for pyarrow"


def tool() -> Any:
    loader = SourceFileLoader("refresh_facts", str(ROOT / "tools" / "refresh-facts"))
    spec = spec_from_loader("refresh_facts", loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("pythons", "said"),
    [(["3.9", "3.10", "3.11"], "3.9-3.11"), (["3.6", "3.7", "3.9"], "3.6-3.7 3.9"), (["3.12"], "3.12"), ([], "")],
)
def test_the_tool_writes_pythons_as_they_are_read(pythons: list[str], said: str) -> None:
    assert tool().spans(pythons) == said
    assert tool().expanded(said) == pythons


def test_the_tool_keeps_what_decides() -> None:
    asked = ["numpy>=1.21", "pytest; extra == 'tests'", "rich", "numpy>=2; extra == 'dev'", "not a ~ requirement"]
    assert tool().relevant(asked) == ["numpy>=1.21"]
    assert tool().last_of_each_minor({"1.0.0": [], "1.0.2": [], "1.1.0": []}) == ["1.0.2", "1.1.0"]
    assert not tool().wanted_release("numpy", "2.0.0rc1")
    assert not tool().wanted_release("numpy", "1.15.0")
    assert tool().wanted_release("numpy", "2.0.0")


def test_the_tool_writes_the_file_as_it_lies_there(tmp_path: Path) -> None:
    module = tool()
    module.FACTS = tmp_path
    module.write_releases(facts("releases")["packages"])
    there = ROOT / "src" / "crashcart" / "doctor" / "facts" / "releases.json"
    assert (tmp_path / "releases.json").read_text() == there.read_text()


def test_the_tool_that_refreshes_them_starts() -> None:
    done = subprocess.run([sys.executable, ROOT / "tools" / "refresh-facts", "--help"], capture_output=True, text=True)
    assert done.returncode == 0 and "package index" in done.stdout


def test_an_index_out_of_reach_empties_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A port that nobody listens on."""
    target = tmp_path / "releases.json"
    target.write_text('{"packages": {"pyarrow": {}}}')
    module = tool()
    monkeypatch.setattr(module, "FACTS", tmp_path)
    monkeypatch.setattr(module, "TRIES", 1)
    for name, value in {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_RETRIES": "0"}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit, match="nothing more was written"):
        module.main(["--only", "pyarrow"])
    assert target.read_text() == '{"packages": {"pyarrow": {}}}'


@pytest.mark.parametrize(
    ("code", "stderr", "fails"),
    [
        (1, MATCHES_NOTHING, False),
        (1, f"WARNING: Retrying (Retry(total=0))\n{MATCHES_NOTHING}", True),
        (0, "WARNING: Retrying (Retry(total=4))", False),
        (2, "Traceback", True),
    ],
    ids=["no-wheel-for-this-python", "out-of-reach", "after-a-second-try", "pip-fails"],
)
def test_what_is_an_answer(monkeypatch: pytest.MonkeyPatch, code: int, stderr: str, fails: bool) -> None:
    module = tool()
    module.settings()
    done = subprocess.CompletedProcess(["pip"], code, "said", stderr)
    monkeypatch.setattr(module.subprocess, "run", lambda *_, **__: done)
    monkeypatch.setattr(module.time, "sleep", lambda _: None)
    if fails:
        with pytest.raises(SystemExit, match="failed 3 times"):
            module.pip("index", "versions", "pyarrow")
    else:
        assert module.pip("index", "versions", "pyarrow") == (None if code else "said")
