"""P111: the dataset has fewer elements than the steps that are asked of it."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.finding import Cause, Confidence, Finding
from crashcart.pipeline._shared import label
from crashcart.rule import Rank, rule
from crashcart.stages import INFINITE, PipelineMemory, Stage
from crashcart.units import plural


@rule("P111", "data-ends-before-the-steps", Rank.KIND)
def data_ends_before_the_steps(pipeline: PipelineMemory) -> Iterator[Finding]:
    """The dataset ends before the steps that will be asked of it, or has no element at all.

    ## What it means

    With `steps_per_epoch`, Keras goes on in the same iterator from epoch to epoch. When it ends, training stops with a
    warning, or the epochs that are left have no steps.

    ## How we know

    The number of elements of the dataset, as TensorFlow tells it or as they were counted, against `--steps` times `--epochs`.
    None at all is told in any case. Of several datasets the first counts as the one to train with: the steps are asked of
    it alone, and one that is empty is told of each.

    ## What to do

    `repeat()` at the end, or fewer steps. Where there is no element: look at the folder and the pattern that it is made of.
    """
    roots = [root for root, _ in pipeline.pipeline.parts]
    for index, root in enumerate(roots):
        name = "the dataset" if len(roots) == 1 else f"dataset {index + 1} of {len(roots)}"
        if root.cardinality == 0:
            yield _empty(root, name)
        elif index == 0 and pipeline.steps is not None:
            yield from _short(root.cardinality, pipeline.steps, pipeline.epochs or 1, name)


def _short(count: int | None, steps: int, epochs: int, name: str) -> Iterator[Finding]:
    if count is None or count == INFINITE or count >= steps * epochs:
        return
    asked = f"{steps} steps × {plural(epochs, 'epoch')} = {steps * epochs}"
    yield Finding(
        Cause.DATA_EXHAUSTED,
        f"{name} ends after {plural(count, 'element')} of the {steps * epochs} that are asked for",
        (f"{asked}, and {name} has {count}",),
        ("dataset.repeat()", f"or steps_per_epoch={max(1, count // epochs)}"),
        Confidence.CERTAIN,
    )


def _empty(root: Stage, name: str) -> Finding:
    source = next((each for each in root.walk() if each.cardinality == 0 and not each.inputs), root)
    return Finding(
        Cause.DATA_EXHAUSTED,
        f"{name} has no element",
        (f"{label(source)} gives none",),
        (
            "see what it is made of: an empty folder or list, a pattern that matches nothing, a filter that keeps nothing",
        ),
        Confidence.CERTAIN,
    )
