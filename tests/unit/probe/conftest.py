from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

MACHINES = Path(__file__).parents[2] / "machines"


@pytest.fixture
def machine() -> Callable[[str], Path]:
    """The root of a recorded machine, by name."""

    def find(name: str) -> Path:
        root = MACHINES / name
        assert root.is_dir(), f"tests/machines has no {name}"
        return root

    return find
