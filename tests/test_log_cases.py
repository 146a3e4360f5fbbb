"""The repository's own logs of real deaths: the bench's aims hold, and its own parts do what they say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.logs.__main__ import FALSE_AIM, REMEDY_AIM, RIGHT_AIM
from bench.logs.case import HELD_OUT, read_cases
from bench.logs.score import score, total
from crashcart.finding import Cause

CAUSES = {cause.value for cause in Cause}


@pytest.mark.parametrize("path", HELD_OUT, ids=lambda path: path.stem)
def test_the_aims_hold(path: Path) -> None:
    cases = read_cases(path)
    assert len({case.id for case in cases}) == len(cases) >= 40
    assert {case.cause for case in cases} | {cause for case in cases for cause in case.trap} <= CAUSES
    found = total([score(case) for case in cases])
    assert found.right_fraction >= RIGHT_AIM and found.remedy_fraction >= REMEDY_AIM
    assert found.false_fraction <= FALSE_AIM


def test_a_wrong_cause_and_a_missing_word_are_counted(tmp_path: Path) -> None:
    rows = [
        {
            "id": "a",
            "log": "OSError: [Errno 28] No space left on device",
            "cause": "hang",
            "remedy_must_mention": "no such word",
        },
        {
            "id": "b",
            "log": "OSError: [Errno 28] No space left on device",
            "cause": "hang",
            "also_ok": ["disk-full"],
            "trap": [],
        },
        {"id": "c", "log": "Killed", "cause": "unknown", "decidable": False, "trap": ["host-memory"]},
    ]
    file = tmp_path / "cases.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    found = total([score(case) for case in read_cases(file)])
    assert (found.cases, found.decidable, found.right, found.remedies_hit, found.remedies_asked, found.trapped) == (
        3,
        2,
        1,
        0,
        1,
        1,
    )
