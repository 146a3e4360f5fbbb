"""S104: content that breaks the rules of its format."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.data._kinds import Words, found
from crashcart.finding import Finding
from crashcart.rule import Rank, rule
from crashcart.survey import Survey

KINDS = {
    "not-decodable": Words("cannot be decoded", "cannot be decoded", ("fetch or write them again",)),
    "crc-mismatch": Words(
        "do not fit their own checksums",
        "does not fit its own checksum",
        ("fetch or write them again; bits were changed on the way or on the disk",),
    ),
    "recovered": Words(
        "are damaged, and decoded all the same",
        "is damaged, and decoded all the same",
        ("look at one: the damaged part is filled in, mostly grey",),
    ),
    "trailing-bytes": Words(
        "have something after their end",
        "has something after its end",
        ("look at one: two files may have been joined; readers ignore the rest",),
    ),
}


@rule("S104", "content-damaged", Rank.KIND)
def content_damaged(survey: Survey) -> Iterator[Finding]:
    """The content breaks the rules of its format, or does not fit its own checksums.

    ## What it means

    A reader fails on such a file, or reads garbage: DataLossError, InvalidArgumentError. A decoder that recovers
    shows a picture with a damaged part, which nobody notices in training.

    ## How we know

    Every file was decoded as a whole, every checksum in it was computed again, members of archives and pictures inside
    of records included. With `--quick`, structure and checksums alone were looked at.

    ## What to do

    Fetch the files again and compare their checksums with the source. Damage in many files at once comes from the
    disk, the memory or a transfer in text mode.
    """
    yield from found(survey, KINDS)
