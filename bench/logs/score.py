"""What is said about a log against what is true.

Covers: the first cause, the confidence, whether the advice names what helps.
Does not cover: printing (`__main__.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

from bench.logs.case import Case
from crashcart.finding import Report
from crashcart.probe.log_stream import log_of
from crashcart.why import explain
from crashcart.why.collect_log import evidence_of


@dataclass(frozen=True, slots=True)
class Scored:
    """One case with what was said about it."""

    case: Case
    cause: str
    confidence: str
    code: str
    remedy_hit: bool | None
    """None where the case asks for no word."""

    @property
    def right(self) -> bool:
        return self.case.accepts(self.cause)

    @property
    def falsely_certain(self) -> bool:
        """Called certain, and it is wrong, or the text does not decide."""
        return self.confidence == "certain" and not (self.right and self.case.decidable)


def score(case: Case) -> Scored:
    report: Report = explain(evidence_of(log_of(iter([case.log.encode()]))))
    verdict = report.verdict
    if verdict is None:
        return Scored(case, "nothing", "-", "-", False if case.mentions else None)
    advice = " ".join(verdict.remedy).lower()
    hit = any(word in advice for word in case.mentions) if case.mentions else None
    return Scored(case, verdict.cause.value, verdict.confidence.value, verdict.code, hit)


@dataclass(frozen=True, slots=True)
class Total:
    """The figures of one file of cases."""

    cases: int
    decidable: int
    right: int
    remedies_asked: int
    remedies_hit: int
    falsely_certain: int
    trapped: int

    @property
    def right_fraction(self) -> float:
        return self.right / max(1, self.decidable)

    @property
    def remedy_fraction(self) -> float:
        return self.remedies_hit / max(1, self.remedies_asked)

    @property
    def false_fraction(self) -> float:
        return self.falsely_certain / max(1, self.cases)


def total(scored: list[Scored]) -> Total:
    decidable = [each for each in scored if each.case.decidable]
    asked = [each for each in decidable if each.remedy_hit is not None]
    return Total(
        cases=len(scored),
        decidable=len(decidable),
        right=sum(each.right for each in decidable),
        remedies_asked=len(asked),
        remedies_hit=sum(bool(each.remedy_hit) for each in asked),
        falsely_certain=sum(each.falsely_certain for each in scored),
        trapped=sum(not each.right and each.cause in each.case.trap for each in scored),
    )
