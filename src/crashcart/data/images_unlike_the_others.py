"""S107: images unlike what readers expect."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.data._differ import differing
from crashcart.data._kinds import Words, found
from crashcart.finding import Cause, Finding
from crashcart.rule import Rank, rule
from crashcart.survey import Survey

KINDS = {
    "odd-mode": Words(
        "have unusual colours or depth",
        "has unusual colours or depth",
        ("`tf.io.decode_image(data, channels=3)` asks for three channels; convert CMYK beforehand",),
        Cause.SHAPE_MISMATCH,
    ),
    "odd-size": Words(
        "have an unusual size",
        "has an unusual size",
        ("look at them: thumbnails and placeholders of one pixel are no examples",),
        Cause.SHAPE_MISMATCH,
    ),
    "animated": Words(
        "have more than one frame",
        "has more than one frame",
        ("`tf.io.decode_image(data, expand_animations=False)` takes the first frame",),
        Cause.SHAPE_MISMATCH,
    ),
}
FAMILIES = frozenset(("images",))


@rule("S107", "images-unlike-the-others", Rank.KIND)
def images_unlike_the_others(survey: Survey) -> Iterator[Finding]:
    """Images have a colour mode, a size or a number of frames that readers of ordinary images do not expect.

    ## What it means

    Pictures in a batch need one shape. A grey or CMYK picture among colour ones, or an animation, gives another
    number of channels or dimensions: the batch fails, hours after the start, or the colours are wrong without any
    word.

    ## How we know

    Each picture was decoded; its mode, size and frames are compared with those of ordinary pictures, and with most of
    the others here.

    ## What to do

    Say what you want: `tf.io.decode_image(data, channels=3, expand_animations=False)`, then `tf.image.resize`.
    Convert CMYK beforehand.
    """
    yield from found(survey, KINDS)
    yield from differing(
        survey, FAMILIES, "`tf.io.decode_image(data, channels=3)` and `tf.image.resize` give all of them one shape"
    )
