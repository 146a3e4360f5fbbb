"""Will it fit? The peak memory of a model's step at a batch size, before anything is allocated.

Covers: a walk over the traced step that frees each tensor after its last reader, on a model of the allocator; what is
held at the peak and by what; the largest batch that fits.
Does not cover: tracing (`probe/tensorflow_trace.py`), printing (`report/`). TensorFlow is never imported here.
"""

from __future__ import annotations

from crashcart.evidence import Evidence
from crashcart.finding import Report
from crashcart.rule import Rule, examine, load_rules


def rules() -> tuple[Rule, ...]:
    """All rules of this room."""
    return load_rules(__name__)


def examine_step(evidence: Evidence, subject: str) -> Report:
    """The report on a step, from its evidence."""
    return examine(evidence, rules(), subject)
