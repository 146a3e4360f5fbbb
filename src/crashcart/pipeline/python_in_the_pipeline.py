"""P110: elements go through Python, one at a time."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.finding import Cause, Confidence, Finding, Level
from crashcart.pipeline import _shared as about
from crashcart.pipeline._tell import named, place
from crashcart.rule import Rank, rule
from crashcart.stages import PipelineMemory, Stage


@rule("P110", "python-in-the-pipeline", Rank.KIND)
def python_in_the_pipeline(pipeline: PipelineMemory) -> Iterator[Finding]:
    """Elements come from a Python generator, or go through a Python function.

    ## What it means

    Python runs one thread at a time, so that parallel calls do not help, and each array is copied once more on its way.
    The training waits for it.

    ## How we know

    The function's graph has a `py_function` or `numpy_function`, or the source is `from_generator`.

    ## What to do

    TensorFlow operations instead, or a preparation that writes TFRecord files once.
    """
    seen: set[str] = set()
    for stage in pipeline.pipeline.root.walk_all():
        name = _name(stage)
        if name is None or name in seen:
            continue
        seen.add(name)
        rate = f"; {stage.rate_per_s:.0f} elements in a second were measured" if stage.rate_per_s else ""
        yield Finding(
            Cause.CLEAN_EXIT,
            f"{name} runs Python for each element, one at a time",
            (f"its function goes back to Python{rate}",),
            ("write it with TensorFlow operations", "or prepare the data once, as TFRecord files"),
            Confidence.CERTAIN,
            place(stage),
            level=Level.NOTE,
        )


def _name(stage: Stage) -> str | None:
    if about.is_generator(stage) and stage.name != "generator":
        return "from_generator"
    if stage.name in about.MAPS and about.is_python(stage):
        return named(stage)
    return None
