"""P113: elements that fail are dropped without a word."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.finding import Cause, Confidence, Finding, Level
from crashcart.rule import Rank, rule
from crashcart.stages import PipelineMemory


@rule("P113", "errors-ignored", Rank.KIND)
def errors_ignored(pipeline: PipelineMemory) -> Iterator[Finding]:
    """Elements whose function fails are dropped without a word.

    ## What it means

    `ignore_errors` drops every element that fails, for any reason: a damaged file, and a mistake in the function as
    well. Nobody sees how many there were; where all fail, the epoch is empty.

    ## How we know

    The pipeline has the stage.

    ## What to do

    `cc.explain_errors(dataset, policy="skip", at_most=10, log="skipped.jsonl")` names the element and the file, and counts.
    """
    for stage in pipeline.pipeline.root.walk_all():
        if stage.name == "ignore_errors":
            logs = stage.numbers.get("log_warning")
            yield Finding(
                Cause.DATA_CORRUPT,
                "ignore_errors drops elements that fail, whatever the error is",
                (f"the pipeline has ignore_errors{' without a log' if not logs else ''}",),
                ('cc.explain_errors(dataset, policy="skip", at_most=10, log="skipped.jsonl")', "crashcart data FOLDER"),
                Confidence.CERTAIN,
                level=Level.RISK,
            )
            return
