"""P104: a cache keeps what a random map drew once."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.finding import Cause, Confidence, Finding, Level
from crashcart.pipeline import _shared as about
from crashcart.pipeline._tell import named, place
from crashcart.rule import Rank, rule
from crashcart.stages import PipelineMemory


@rule("P104", "random-elements-cached", Rank.KIND)
def random_elements_cached(pipeline: PipelineMemory) -> Iterator[Finding]:
    """A cache or snapshot comes after a map that draws random numbers.

    ## What it means

    The random augmentation is drawn in the first epoch and kept: every later epoch sees the same images.

    ## How we know

    The traced function of a map below the cache has operations that draw random numbers.

    ## What to do

    Put `cache()` before the random map.
    """
    for stage in pipeline.pipeline.root.walk_all():
        if stage.name not in ("cache", "snapshot") or stage.input is None:
            continue
        random = next((each for each in stage.input.walk() if each.name in about.MAPS and about.is_random(each)), None)
        if random is None:
            continue
        yield Finding(
            Cause.DATA_CORRUPT,
            f"{about.label(stage)} keeps what {named(random)} drew at random: each epoch sees the same",
            (f"{named(random)} draws random numbers, and lies below {about.label(stage)}",),
            (f"put {about.label(stage)} before {named(random)}",),
            Confidence.CERTAIN,
            place(random),
            level=Level.RISK,
        )
