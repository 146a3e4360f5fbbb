"""P109: more parallel calls than there are cores, each of which holds a result."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.finding import Cause, Confidence, Finding, Level
from crashcart.pipeline import _shared as about
from crashcart.pipeline._tell import named, place, told
from crashcart.pipeline.change import calls_bounded
from crashcart.rule import Rank, rule
from crashcart.stages import PipelineMemory, Stage
from crashcart.units import plural

_READS = ("ReadFile", "TFRecord", "TextLine", "Dataset", "EagerPyFunc", "PyFunc")


@rule("P109", "more-calls-than-cores", Rank.KIND)
def more_calls_than_cores(pipeline: PipelineMemory) -> Iterator[Finding]:
    """A map computes with more parallel calls than there are cores.

    ## What it means

    Calls that compute cannot run faster than the cores do. Each further one holds its result, and its temporaries when
    it runs.

    ## How we know

    `num_parallel_calls` is more than twice the cores that this process may use, and the function reads no files, for
    which waiting calls may be of use.

    ## What to do

    `num_parallel_calls=tf.data.AUTOTUNE`, or the number of cores.
    """
    cores = pipeline.ground.cores
    for stage in pipeline.pipeline.root.walk():
        calls = stage.parallel_calls or 0
        if stage.name in ("parallel_map", "parallel_batch") and calls > 2 * cores and not _waits(stage):
            bounded = [each for each in calls_bounded(pipeline) if each.how.endswith(f" {stage.name}")]
            yield Finding(
                Cause.PIPELINE_MEMORY,
                f"{named(stage)} runs {calls} calls on {plural(cores, 'core')}",
                (f"num_parallel_calls is {calls}; this process may use {plural(cores, 'core')}",),
                (*(told(each, pipeline) for each in bounded[:1]), "num_parallel_calls=tf.data.AUTOTUNE"),
                Confidence.CERTAIN,
                place(stage),
                level=Level.NOTE,
            )


def _waits(stage: Stage) -> bool:
    return about.is_python(stage) or any(
        name.startswith(_READS) for each in stage.functions for name in each.operations
    )
