"""F101: the step takes more memory than there is."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.finding import Cause, Confidence, Finding, Level
from crashcart.rule import Rank, rule
from crashcart.step import StepPeak
from crashcart.units import size

_CAUSES = {"container": Cause.CONTAINER_MEMORY, "machine": Cause.HOST_MEMORY, "given": Cause.HOST_MEMORY}


@rule("F101", "step-does-not-fit", Rank.ROOT)
def step_does_not_fit(step: StepPeak) -> Iterator[Finding]:
    """The step takes more memory at its peak than there is.

    ## What it means

    The first steps will fail with ResourceExhaustedError on a GPU; on the host the process will be killed.

    ## How we know

    The step that Keras would run was traced, and its tensors were laid out in time, each freed after its last reader, on a
    model of TensorFlow's allocator. Where only the upper bound is above what there is, the finding is a risk.

    ## What to do

    Take the largest batch that fits, which the finding names. Where not even a batch of one fits, the model itself must become
    smaller: smaller inputs, mixed precision, or an optimizer with fewer slots.
    """
    there = step.available_bytes
    if there is None or step.high_bytes <= there:
        return
    sure = step.low_bytes > there
    yield Finding(
        _CAUSES.get(step.available_in or "", Cause.GPU_MEMORY),
        f"a {step.phase} step at batch {step.batch} {'does not fit' if sure else 'may not fit'}",
        (
            f"it takes {size(step.peak_bytes)} at its peak ({size(step.low_bytes)} … {size(step.high_bytes)})",
            f"{size(there)} is there ({step.available_in})",
        ),
        tuple(_remedies(step)),
        Confidence.LIKELY if sure else Confidence.POSSIBLE,
        level=Level.PROBLEM if step.peak_bytes > there else Level.RISK,
    )


def _remedies(step: StepPeak) -> Iterator[str]:
    if step.largest_batch:
        yield f"a batch of {step.largest_batch} or less"
    elif step.largest_batch == 0:
        yield "not even a batch of one fits: a smaller model, smaller inputs, or a larger machine"
