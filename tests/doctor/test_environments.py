"""The environments of the bench, judged in this process: each broken one is found, and nothing is found in a right one."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from bench.doctor.environment import Environment
from bench.doctor.interpreters import interpreter
from bench.doctor.judge import Judged, arguments, judge, variables
from bench.doctor.manifest import ENVIRONMENTS
from crashcart.cli.main import main

JUDGED: set[str] = set()
"""The broken environments in which everything was found, in this run."""


def judged(
    environment: Environment, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Judged:
    words = arguments(environment, folder)
    wanted = variables(environment, folder)
    for name in os.environ.keys() - wanted.keys():
        monkeypatch.delenv(name)
    for name, value in wanted.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(folder)
    capsys.readouterr()
    status = main(["doctor", *words, "--json"])
    out, err = capsys.readouterr()
    assert status in (0, 1), err
    return Judged(environment, json.loads(out), 0.0)


@pytest.mark.parametrize("environment", ENVIRONMENTS, ids=lambda each: each.name)
def test_environment(
    environment: Environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if interpreter(environment.python) is None:
        pytest.skip(f"no Python {environment.python} here")
    if environment.limits or "PYTHONPATH" in environment.variables:  # not of this process
        found = judge(environment, tmp_path)
    else:
        found = judged(environment, tmp_path, monkeypatch, capsys)
    assert (found.missed, found.false, found.failed) == ([], [], [])
    for each in found.document["findings"]:
        assert each["level"] == "note" or each["remedy"], each["headline"]
    if not environment.right:
        JUDGED.add(environment.name)


def test_there_are_enough_of_both_kinds() -> None:
    assert sum(not each.right for each in ENVIRONMENTS) >= 30
    assert sum(each.right for each in ENVIRONMENTS) >= 6
    assert len({each.name for each in ENVIRONMENTS}) == len(ENVIRONMENTS)


def test_enough_broken_ones_were_judged_here(request: pytest.FixtureRequest) -> None:
    """The last test of this file: it counts what really ran, not what the manifests list."""
    asked = [each for each in request.session.items if each.name.startswith("test_environment[")]
    if len(asked) < len(ENVIRONMENTS):
        pytest.skip(f"only {len(asked)} of the {len(ENVIRONMENTS)} environments were asked for")
    absent = sorted({each.python for each in ENVIRONMENTS if interpreter(each.python) is None})
    if absent and len(JUDGED) < 25:
        pytest.skip(f"only {len(JUDGED)} broken environments were judged: no Python {', '.join(absent)} here")
    assert len(JUDGED) >= 25
