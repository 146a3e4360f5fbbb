"""The engine: needs, wants, ranking, and a diagnosis that never dies of its own rule."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from crashcart.evidence import Ending, Evidence, Log
from crashcart.finding import Cause, Confidence, Finding
from crashcart.rule import Rank, Rule, examine, rule


def finding(cause: Cause, confidence: Confidence) -> Finding:
    return Finding(cause, cause.value, ("a fact",), ("a remedy",), confidence)


def make(code: str, rank: Rank, cause: Cause, confidence: Confidence) -> Rule:
    @rule(code, code.lower(), rank)
    def judge(ending: Ending) -> Iterator[Finding]:
        yield finding(cause, confidence)

    return judge


ENDED = Evidence(ending=Ending("exit", exit_code=1))


def test_missing_evidence_is_unchecked_never_passed() -> None:
    @rule("T1", "needs-log")
    def judge(log: Log) -> Iterator[Finding]:
        yield finding(Cause.UNKNOWN, Confidence.CERTAIN)

    report = examine(ENDED, [judge])
    assert report.findings == ()
    assert report.checked == ()
    assert report.unchecked[0].missing == ("log",)


def test_wanted_evidence_may_be_absent() -> None:
    @rule("T1", "wants-log")
    def judge(ending: Ending, log: Log | None = None) -> Iterator[Finding]:
        assert log is None
        yield finding(Cause.UNKNOWN, Confidence.CERTAIN)

    assert examine(ENDED, [judge]).findings[0].code == "T1"


def test_a_rule_that_raises_is_unchecked_with_its_error() -> None:
    @rule("T1", "breaks")
    def judge(ending: Ending) -> Iterator[Finding]:
        raise ZeroDivisionError("by zero")
        yield finding(Cause.UNKNOWN, Confidence.CERTAIN)

    report = examine(ENDED, [judge, make("T2", Rank.KIND, Cause.HANG, Confidence.LIKELY)])
    assert "ZeroDivisionError: by zero" in report.unchecked[0].missing[0]
    assert [each.code for each in report.findings] == ["T2"]


def test_what_explains_more_comes_first_and_a_possibility_last() -> None:
    rules = [
        make("T1", Rank.MECHANISM, Cause.CONTAINER_MEMORY, Confidence.CERTAIN),
        make("T2", Rank.ROOT, Cause.MEMORY_LEAK, Confidence.LIKELY),
        make("T3", Rank.ROOT, Cause.PIPELINE_MEMORY, Confidence.POSSIBLE),
    ]
    assert [each.code for each in examine(ENDED, rules).findings] == ["T2", "T1", "T3"]


def test_a_last_resort_stays_only_beside_mere_possibilities() -> None:
    last = make("T9", Rank.LAST_RESORT, Cause.UNKNOWN, Confidence.POSSIBLE)
    sure = make("T1", Rank.KIND, Cause.DISK_FULL, Confidence.LIKELY)
    maybe = make("T2", Rank.KIND, Cause.HANG, Confidence.POSSIBLE)
    assert [each.code for each in examine(ENDED, [last, sure]).findings] == ["T1"]
    assert {each.code for each in examine(ENDED, [last, maybe]).findings} == {"T2", "T9"}


def test_a_signature_that_names_no_section_is_refused() -> None:
    with pytest.raises(TypeError, match="weather"):

        @rule("T1", "odd")
        def judge(weather: object) -> Iterator[Finding]:
            yield finding(Cause.UNKNOWN, Confidence.CERTAIN)


def test_a_finding_without_a_fact_is_refused() -> None:
    with pytest.raises(ValueError, match="rests on no fact"):
        Finding(Cause.HANG, "it hangs", (), (), Confidence.LIKELY)
