"""S117: arrays or sounds that differ from most of the others."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.data._differ import differing
from crashcart.finding import Finding
from crashcart.rule import Rank, rule
from crashcart.survey import Survey

FAMILIES = frozenset(("npy", "wav", "flac"))


@rule("S117", "arrays-unlike-the-others", Rank.KIND)
def arrays_unlike_the_others(survey: Survey) -> Iterator[Finding]:
    """A few arrays or sounds have another type, rate, or number of dimensions or channels than nearly all others.

    ## What it means

    Elements of a batch need one type and shape. A float64 array among float32 ones, or stereo among mono, fails in
    the middle of an epoch; a sound of another rate plays at another speed and does not fail at all.

    ## How we know

    The header of every file was read, and compared with those of the others. Only where nine of ten agree is one
    called different.

    ## What to do

    Convert the few: `array.astype(np.float32)`, `ffmpeg -ar 16000 -ac 1`.
    """
    yield from differing(survey, FAMILIES, "convert the few: array.astype(np.float32), ffmpeg -ar 16000 -ac 1")
