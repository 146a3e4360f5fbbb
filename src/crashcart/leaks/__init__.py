"""Is it leaking? Growth over the steps of a program, the line that causes it and the name that holds it.

Covers: which growth is real (`_leak.py`, with `crashcart/trend.py`), which name holds it (`_holders.py`), and rules
over them. Does not cover: measuring inside the program (`inside/`, `live.py`), reading it back (`blackbox/growth.py`),
printing (`report/`).
"""

from __future__ import annotations

from dataclasses import replace

from crashcart.evidence import Evidence
from crashcart.finding import Report
from crashcart.rule import Rule, examine, load_rules


def rules() -> tuple[Rule, ...]:
    """All rules of this room."""
    return load_rules(__name__)


def examine_leaks(evidence: Evidence, subject: str) -> Report:
    """The report on a program's growth, from its evidence."""
    from crashcart.leaks._figures import figures

    report = examine(evidence, rules(), subject)
    return replace(report, figures=figures(evidence, report))
