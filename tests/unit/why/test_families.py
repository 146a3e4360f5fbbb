"""Each known family of messages is given its cause, whatever is printed around it."""

from __future__ import annotations

import pytest

from crashcart.finding import Cause, Confidence
from crashcart.probe.log import parse_log
from crashcart.why import explain
from crashcart.why.collect_log import evidence_of
from tests.unit.why.families import FAMILIES

CAUSES = {cause.value for cause in Cause}


@pytest.mark.parametrize(
    ("text", "causes"), FAMILIES, ids=[f"{number}-{row[1].split()[0]}" for number, row in enumerate(FAMILIES)]
)
def test_the_cause_is_named_first(text: str, causes: str) -> None:
    assert set(causes.split()) <= CAUSES
    report = explain(evidence_of(parse_log(text)))
    assert report.verdict is not None
    assert report.verdict.cause.value in causes.split(), f"{report.verdict.code}: {report.verdict.headline}"
    assert report.verdict.confidence is not Confidence.CERTAIN or report.verdict.cause is Cause.CLEAN_EXIT
    assert [each for each in report.unchecked if any("failed" in missing for missing in each.missing)] == []


@pytest.mark.parametrize(
    "prefix",
    ["train_1  | ", "Jun 03 10:14:07 node7 trainer[811]: ", "2024-05-01T10:00:00.123456789Z stderr F ", "\x1b[31m"],
)
def test_prefixes_and_colours_change_nothing(prefix: str) -> None:
    for text, causes in FAMILIES[::7]:
        if "Kill" not in text and "exit code" not in text:  # a container's own prefix says whose memory it was
            wrapped = "\n".join(prefix + line for line in text.split("\n"))
            verdict = explain(evidence_of(parse_log(wrapped))).verdict
            assert verdict is not None and verdict.cause.value in causes.split(), wrapped
