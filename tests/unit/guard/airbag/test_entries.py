"""Each entry point of the airbag, within the budget and over it, in C programs that check every byte."""

from __future__ import annotations

import pytest
from airbag_rig import Guard, Rig, run

PARTS = "within border airbag alignment refusal realloc squeeze idle mapping remap threads bound silence wait".split()


@pytest.mark.parametrize("part", PARTS)
def test_entry_points(rig: Rig, guard: Guard, part: str) -> None:
    done = run([rig.program("entries"), part], guard.environment(rig.library))
    assert (done.returncode, done.stderr) == (0, "")
