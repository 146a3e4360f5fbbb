"""S111: labels outside of the classes."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.data._kinds import Words, found
from crashcart.finding import Cause, Finding
from crashcart.rule import Rank, rule
from crashcart.survey import Survey

KINDS = {
    "label-out-of-range": Words(
        "have labels outside of the classes",
        "has labels outside of the classes",
        ("labels are 0 … classes − 1: subtract one where they count from 1, or give the last layer more outputs",),
        Cause.VALUE_RANGE,
    ),
}


@rule("S111", "labels-outside-the-classes", Rank.KIND)
def labels_outside_the_classes(survey: Survey) -> Iterator[Finding]:
    """Labels lie outside of the classes.

    ## What it means

    A label below 0, or not below the number of classes, gives a loss of NaN on a GPU without any word, and
    InvalidArgumentError on a CPU. Labels that count from 1 are the usual reason.

    ## How we know

    Every label was read and compared with `--classes`.

    ## What to do

    Subtract one where labels count from 1; or give the last layer as many outputs as there are classes.
    """
    yield from found(survey, KINDS)
