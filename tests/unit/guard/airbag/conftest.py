"""Fixtures of the airbag's tests."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from airbag_rig import Guard, Rig


@pytest.fixture(scope="session")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Rig:
    return Rig(tmp_path_factory.mktemp("airbag"))


@pytest.fixture
def guard(tmp_path: Path) -> Guard:
    return Guard(tmp_path / "recording", tmp_path)
