"""Why did it die? The rules that judge a recorded run, one per file, and what collects their evidence.

Covers: every cause in the closed list that a process's ending can show.
Does not cover: running programs (`record/`) or printing (`report/`).
"""

from __future__ import annotations

from dataclasses import replace

from crashcart.evidence import Evidence
from crashcart.finding import Cause, Confidence, Finding, Report, Where
from crashcart.rule import Rule, examine, load_rules
from crashcart.why._asked import ended_unasked as ended_unasked
from crashcart.why._crash import cell_of_end, place_of_end
from crashcart.why._guarded import with_guard
from crashcart.why._noise import noise_figures


def rules() -> tuple[Rule, ...]:
    """All rules of this room."""
    return load_rules(__name__)


def explain(evidence: Evidence, recording: str | None = None) -> Report:
    """The report on a run, from its evidence."""
    subject = evidence.program.name if evidence.program is not None else recording or "the log"
    report = examine(evidence, rules(), subject)
    place = place_of_end(evidence)
    if place is not None:
        report = replace(report, findings=tuple(_placed(finding, place) for finding in report.findings))
    cell = cell_of_end(evidence)
    if cell is not None:
        report = replace(report, findings=tuple(_in_cell(finding, cell) for finding in report.findings))
    report = replace(report, findings=tuple(with_guard(finding, evidence.events) for finding in report.findings))
    if recording is not None:
        report.figures["recording"] = recording
    if evidence.program is None and evidence.log is not None:
        report = replace(report, findings=tuple(map(_as_a_log_tells, report.findings)))
        report.figures.update(noise_figures(evidence.log, report))
    return report


def _placed(finding: Finding, place: Where) -> Finding:
    """A finding that rests on printed words has no place of its own: the program's last place is also the words'."""
    return finding if finding.where is not None or finding.cause is Cause.CLEAN_EXIT else replace(finding, where=place)


def _as_a_log_tells(finding: Finding) -> Finding:
    """A log that was handed in may be cut, or of another run, or speak of another process: it makes a cause likely at most."""
    sure = finding.confidence is Confidence.CERTAIN
    return replace(finding, confidence=Confidence.LIKELY) if sure else finding


def _in_cell(finding: Finding, cell: Where) -> Finding:
    """Where no line was seen, the cell that was running is known all the same."""
    return finding if finding.where is not None else replace(finding, where=cell)
