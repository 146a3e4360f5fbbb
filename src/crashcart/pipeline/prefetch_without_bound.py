"""P107: a prefetch may hold many large elements."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.finding import Cause, Confidence, Finding, Level
from crashcart.pipeline._tell import first
from crashcart.pipeline.change import prefetch_bounded
from crashcart.rule import Rank, rule
from crashcart.stages import PipelineMemory
from crashcart.units import size

_LARGE_SHARE = 0.25
_LEAST_BYTES = 256 << 20


@rule("P107", "prefetch-without-bound", Rank.KIND)
def prefetch_without_bound(pipeline: PipelineMemory) -> Iterator[Finding]:
    """A prefetch may take a large part of the memory.

    ## What it means

    `prefetch(AUTOTUNE)` doubles its buffer each time the consumer finds it empty, and only autotune's budget bounds it.
    `prefetch(n)` with a large n holds n whole batches. One or two batches are enough to keep the consumer busy.

    ## How we know

    The bytes of a batch times the count; for AUTOTUNE, the sixteen that were seen in runs, bounded by the budget.

    ## What to do

    `prefetch(2)`.
    """
    rows = [each for each in pipeline.rows if each.name == "prefetch"]
    row = max(rows, key=lambda each: each.high_bytes, default=None)
    bound = max(_LEAST_BYTES, _LARGE_SHARE * (pipeline.available_bytes or pipeline.high_bytes))
    if row is None or row.high_bytes < bound:
        return
    tuned = row.high_bytes > 1.5 * row.bytes
    remedy = first(prefetch_bounded(pipeline), pipeline) or ["prefetch(2) at the end"]
    yield Finding(
        Cause.PIPELINE_MEMORY,
        f"{row.label} may hold {size(row.high_bytes)}",
        (
            f"an element there takes {size(row.element_bytes or 0)}, and autotune may hold up to "
            f"{row.high_bytes // max(1, row.element_bytes or 1)} of them"
            if tuned
            else f"it holds {row.count} elements of {size(row.element_bytes or 0)}",
        ),
        tuple(remedy),
        Confidence.POSSIBLE if tuned else Confidence.CERTAIN,
        level=Level.RISK,
    )
