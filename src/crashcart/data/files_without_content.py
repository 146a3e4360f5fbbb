"""S102: files that are empty, or hold nothing."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.data._kinds import Words, found
from crashcart.finding import Cause, Finding
from crashcart.rule import Rank, rule
from crashcart.survey import Survey

KINDS = {
    "zero-bytes": Words("are empty", "is empty", ("fetch or write them again",)),
    "no-content": Words(
        "hold nothing", "holds nothing", ("write them again, or leave them out",), Cause.DATA_EXHAUSTED
    ),
}


@rule("S102", "files-without-content", Rank.KIND)
def files_without_content(survey: Survey) -> Iterator[Finding]:
    """Files are empty, or hold nothing that could be read.

    ## What it means

    An empty file is mostly left by a copy or a program that was interrupted, or by a full disk. A decoder fails on
    it; a reader of records or tables gives no element for it and says nothing. A shard of records may be empty on
    purpose, as a program with more shards than records writes it: that is a risk, and no damage.

    ## How we know

    The size is zero, or the file was read to its end and had no element.

    ## What to do

    Fetch or write them again; look for others from the same moment (`ls -lt`), since a full disk rarely damages one
    file alone.
    """
    yield from found(survey, KINDS)
