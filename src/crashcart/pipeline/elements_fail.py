"""P115: an element of the pipeline could not be had."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.finding import Cause, Confidence, Finding, Level, Where
from crashcart.rule import Rank, rule
from crashcart.stages import Failure, PipelineMemory

_CAUSES = {
    "ResourceExhaustedError": Cause.PIPELINE_MEMORY,
    "NotFoundError": Cause.DATA_MISSING,
    "PermissionDeniedError": Cause.DATA_MISSING,
    "DataLossError": Cause.DATA_CORRUPT,
    "TimeoutError": Cause.HANG,
}


@rule("P115", "elements-fail", Rank.KIND)
def elements_fail(pipeline: PipelineMemory) -> Iterator[Finding]:
    """One of the first elements of the pipeline raised an error, or never came.

    ## What it means

    Training stops with that error when it comes to that element, or waits for ever. `ignore_errors` hides errors, and drops
    every element that fails.

    ## How we know

    A few real elements were asked for, without the pipeline's buffers, and one of them raised. One that did not come within
    `--measure` and a quarter of a minute is a TimeoutError: a pipe nobody writes to, a generator that waits.

    ## What to do

    Mend what the message says. `cc.explain_errors(dataset)` names the element and the file.
    """
    hidden = any(stage.name == "ignore_errors" for stage in pipeline.pipeline.root.walk_all())
    for each in pipeline.pipeline.failed:
        dropped = ", and ignore_errors drops it without a word" if hidden else ""
        yield Finding(
            _CAUSES.get(each.kind, Cause.PYTHON_ERROR),
            f"an element of {each.stage} cannot be had: {each.kind}{dropped}",
            (each.message or f"it raised {each.kind}",),
            ("cc.explain_errors(dataset) names the element and the file",),
            Confidence.CERTAIN,
            _place(each),
            level=Level.RISK if hidden else Level.PROBLEM,
        )


def _place(failure: Failure) -> Where | None:
    if failure.where is None:
        return None
    file, _, line = failure.where.rpartition(":")
    return Where(file, int(line) if line.isdigit() else None)
