"""Real kernels for tests: Jupyter finds one of its own in the test's folder and nothing of it leaves that folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from live_kernels import Place

from bench import kernels


@pytest.fixture
def plain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """Jupyter with a kernel that nobody watches."""
    for name, value in kernels.variables(tmp_path).items():
        monkeypatch.setenv(name, value)
    kernels.make_plain(tmp_path)
    place = Place(tmp_path)
    yield place
    for kernel in place.started:
        kernel.close()


@pytest.fixture
def watched(plain: Place) -> Place:
    """Jupyter with a kernel that is recorded and guarded."""
    plain.jupyter("enable")
    return plain
