"""Why did it die? The rules that judge a recorded run, one per file, and what collects their evidence.

Covers: every cause in the closed list that a process's ending can show.
Does not cover: running programs (`record/`) or printing (`report/`).
"""

from __future__ import annotations

from crashcart.evidence import Evidence
from crashcart.finding import Report
from crashcart.rule import Rule, examine, load_rules


def rules() -> tuple[Rule, ...]:
    """All rules of this room."""
    return load_rules(__name__)


def explain(evidence: Evidence, recording: str | None = None) -> Report:
    """The report on a run, from its evidence."""
    subject = evidence.program.name if evidence.program is not None else recording or "the log"
    report = examine(evidence, rules(), subject)
    if recording is not None:
        report.figures["recording"] = recording
    return report
