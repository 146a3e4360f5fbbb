"""What does the input hold? The memory of a tf.data pipeline, stage by stage, before it runs.

Covers: buffers, calls in flight, batches, caches and tensors (`estimate.py`), changed pipelines (`change.py`), and
rules over them.
Does not cover: reading and measuring (`probe/tensorflow_dataset*.py`), printing (`report/`).
"""

from __future__ import annotations

from crashcart.evidence import Evidence
from crashcart.finding import Report
from crashcart.rule import Rule, examine, load_rules


def rules() -> tuple[Rule, ...]:
    """All rules of this room."""
    return load_rules(__name__)


def examine_pipeline(evidence: Evidence, subject: str) -> Report:
    """The report on a pipeline, from its evidence."""
    return examine(evidence, rules(), subject)
