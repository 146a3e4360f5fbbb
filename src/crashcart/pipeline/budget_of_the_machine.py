"""P108: autotune's budget is taken from the machine, and the container has less."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.finding import Cause, Confidence, Finding, Level
from crashcart.pipeline.estimate import budget_bytes
from crashcart.rule import Rank, rule
from crashcart.stages import AUTOTUNE, PipelineMemory, Settings, Stage
from crashcart.units import size

_SHARE = 0.25
_LEAST_SHARE = 0.001
"""An element of a thousandth of the memory: a few hundred of them, and it is full."""


@rule("P108", "budget-of-the-machine", Rank.KIND)
def budget_of_the_machine(pipeline: PipelineMemory) -> Iterator[Finding]:
    """Autotune may take more than the container has: its budget is a share of the machine's memory.

    ## What it means

    Without `ram_budget` in the options, tf.data lets tuned buffers grow to half of what the *machine* has free. It does
    not look at the container's limit.

    ## How we know

    The pipeline has stages that are tuned and give out large elements, no budget in its options, and half of the
    machine's free memory is more than the container has left.

    ## What to do

    `options.autotune.ram_budget = BYTES`, then `dataset.with_options(options)`; or `cc.bounded(dataset)`, which does so.
    """
    there = pipeline.available_bytes
    if pipeline.available_in != "container" or there is None:
        return
    free = next((each for root, each in pipeline.pipeline.parts if _is_free(each) and _is_tuned(root, there)), None)
    budget = None if free is None else budget_bytes(free, pipeline.ground)
    if budget is None or budget <= there:
        return
    own = int(there * _SHARE)
    yield Finding(
        Cause.CONTAINER_MEMORY,
        "autotune's budget is the machine's, and the container has less",
        (
            f"its buffers may grow to {size(budget)}, half of what the machine has free; the container has {size(there)}",
        ),
        (
            f"options = tf.data.Options(); options.autotune.ram_budget = {own}; dataset = dataset.with_options(options)",
            "cc.bounded(dataset)",
        ),
        Confidence.CERTAIN,
        level=Level.RISK,
    )


def _is_free(settings: Settings) -> bool:
    """Whether TensorFlow tunes, and nobody has set it a budget."""
    return settings.autotune and settings.ram_budget_bytes is None


def _is_tuned(root: Stage, there: int) -> bool:
    """Whether a stage is tuned, and its elements are large enough for many of them to matter."""
    for stage in root.walk():
        tuned = stage.numbers.get("buffer_size") if stage.name == "prefetch" else stage.parallel_calls
        if tuned == AUTOTUNE and stage.element is not None and stage.element.bytes >= _LEAST_SHARE * there:
            return True
    return False
