"""Is the data sound? Every file of a data set opened and decoded before training is, with the reason for each bad one.

Covers: the files in chunks over all cores, each decoder contained in a process that may die (`pool.py`); what is
known from an earlier run (`state.py`); the fold over all files (`tally.py`); duplicates, drift between files,
quarantine, lists of good files; rules over the whole. How it is put together, and how another engine plugs in:
`engine.py`.
Does not cover: what is wrong inside of a file (`probe/file_*.py`), printing (`report/`).
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the processes begin before the rules are needed
    from crashcart.evidence import Evidence
    from crashcart.finding import Report
    from crashcart.rule import Rule


@cache
def rules() -> tuple[Rule, ...]:
    """All rules of this room."""
    from crashcart.rule import load_rules

    return load_rules(__name__, leave_out=("dask_", "quarantine"))


def examine_files(evidence: Evidence, subject: str) -> Report:
    """The report on a data set, from its evidence."""
    from crashcart.rule import examine

    return examine(evidence, rules(), subject)
