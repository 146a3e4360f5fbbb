"""S113: sound that holds no usable signal."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.data._kinds import Words, found
from crashcart.finding import Finding
from crashcart.rule import Rank, rule
from crashcart.survey import Survey

KINDS = {
    "silence": Words("are silent", "is silent", ("listen to one; leave it out, or label it as silence",)),
}


@rule("S113", "sound-without-signal", Rank.KIND)
def sound_without_signal(survey: Survey) -> Iterator[Finding]:
    """Sound is silent throughout.

    ## What it means

    A silent file teaches a model that its label means silence.

    ## How we know

    Every sample was read.

    ## What to do

    Listen to one; leave silent files out, or label them as silence.
    """
    yield from found(survey, KINDS)
