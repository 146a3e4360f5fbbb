"""S108: records that do not parse, or differ from one another."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.data._differ import differing
from crashcart.data._kinds import Words, found
from crashcart.finding import Cause, Finding
from crashcart.rule import Rank, rule
from crashcart.survey import Survey

KINDS = {
    "not-an-example": Words(
        "have records that are no tf.train.Example",
        "has records that are no tf.train.Example",
        ("read them with tf.io.decode_raw or their own parser, if that is meant",),
        Cause.SHAPE_MISMATCH,
    ),
    "schema-drift": Words(
        "have records that differ in their features",
        "has records that differ in their features",
        ("give the feature a default_value, or write the file again",),
        Cause.SHAPE_MISMATCH,
    ),
}
FAMILIES = frozenset(("tfrecord",))


@rule("S108", "records-unlike-the-others", Rank.KIND)
def records_unlike_the_others(survey: Survey) -> Iterator[Finding]:
    """Records do not parse as examples, or have other features than the rest.

    ## What it means

    tf.io.parse_example fails on a record that lacks a feature, or has it in another type or length:
    InvalidArgumentError, in the middle of an epoch.

    ## How we know

    Every record was parsed; names, types and lengths of features were compared within each file, and between the files.
    In a feature of pictures, values that do not begin as one are a risk: a web page that was fetched in place of a picture.

    ## What to do

    Write the files that differ again with the current writer; or give the feature a default: `tf.io.FixedLenFeature([],
    tf.int64, default_value=0)`; or read the two kinds apart.
    """
    yield from found(survey, KINDS)
    yield from differing(
        survey, FAMILIES, "write them again with the current writer, or give the feature a default_value"
    )
