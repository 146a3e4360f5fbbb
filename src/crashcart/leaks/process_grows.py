"""L101 process-grows."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.evidence import place
from crashcart.finding import Cause, Confidence, Finding
from crashcart.growth import Growth, Site
from crashcart.holding import LEAST_SHARE
from crashcart.leaks._holders import main_site, per_step_of
from crashcart.leaks._leak import is_explained, leak_of
from crashcart.leaks._tell import MAIN_SHARE, grows, memory_facts, site_facts, tensor_facts
from crashcart.rule import Rank, rule


@rule("L101", "process-grows", Rank.MECHANISM)
def process_grows(growth: Growth) -> Iterator[Finding]:
    """Memory grows with each step, and no name is known that holds it.

    ## What it means

    Each step leaves something behind. It is not in a container that was found by name: it may be in an object of a
    library, in native code, or in cycles that nothing collects.

    ## How we know

    The level below which memory never came back rises in every quarter of a stretch that reaches to the end of the run,
    by more than it goes up and down anyway. Warm-up, plateaus, caches that fill, and what is given back later do not
    pass that. The line, where one is named, is the one whose allocations were made and not freed within a window of
    steps.

    ## What to do

    Take the line that is named, or halve the step until the growth is gone. `--precise` follows every allocation.
    Growth with no line at all is native: `tf.function` retracing, datasets and models built in the loop are looked for
    by their own rules.
    """
    leak = leak_of(growth)
    if leak is None or is_explained(growth, leak.per_step):
        return
    site = main_site(growth)
    share = per_step_of(site) / max(1, leak.per_step) if site is not None else 0.0
    near = site if site is not None and (share >= LEAST_SHARE or site.count >= site.steps) else None
    yield Finding(
        Cause.MEMORY_LEAK,
        f"{grows(leak)}, and no name is known that holds it",
        (
            _why(near, share),
            *(site_facts(growth) if near is not None else _pipeline_facts(growth)),
            *tensor_facts(growth),
            *memory_facts(growth, leak),
        ),
        tuple(_remedy(growth, near is not None)),
        leak.confidence if share >= MAIN_SHARE else Confidence.LIKELY,
        place(near.frame if near is not None else None),
        bytes_per_step=leak.per_step,
    )


_OF_TENSORFLOW = frozenset({"keras batch", "tf.function call", "optimizer step", "session run", "dataset element"})


def _pipeline_facts(growth: Growth) -> Iterator[str]:
    """What else looks like this, where nothing is known of the data's way into the program."""
    if growth.steps is not None and growth.steps.kind in _OF_TENSORFLOW:
        yield (
            "a `cache()` or `shuffle(…)` of tf.data that still fills looks the same until it is full: that is over after "
            "the first epoch"
        )


def _why(site: Site | None, share: float) -> str:
    if site is None:
        return "what holds it is not known: no container with a name, and no line whose Python objects stay"
    if share >= LEAST_SHARE:
        return f"what {site.frame.spot} allocates stays"
    return (
        f"what holds it is native, or not known; of Python's own objects that stay, most are made at {site.frame.spot}"
    )


def _remedy(growth: Growth, known: bool) -> Iterator[str]:
    if known:
        yield "see what keeps the results of that line alive after the step: an attribute, a closure, a callback"
    if not growth.precise:
        yield "crashcart leaks --precise -- …: follows every allocation from the first step on"
    yield "leave out half of the step at a time until the growth is gone"
