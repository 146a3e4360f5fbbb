"""Whether a kernel ended because Jupyter had it end. No rule is declared here."""

from __future__ import annotations

from crashcart.evidence import Evidence


def ended_unasked(evidence: Evidence) -> bool:
    """Whether it ended otherwise than it was asked to: a restart and a shutdown are no deaths."""
    ending = evidence.ending
    if ending is None or any(each.kind == "orphaned" for each in evidence.events or ()):
        return False
    if ending.kind in ("running", "unobserved") or (ending.asked_for and ending.sent_by is not None):
        return False
    return ending.kind == "signal" or ending.exit_code != 0 or ending.python_finished is False
