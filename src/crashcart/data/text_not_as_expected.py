"""S110: text that readers stumble over."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.data._kinds import Words, found
from crashcart.finding import Finding
from crashcart.rule import Rank, rule
from crashcart.survey import Survey

KINDS = {
    "encoding": Words(
        "are not UTF-8", "is not UTF-8", ("convert: `iconv -f WINDOWS-1252 -t UTF-8 old.txt > new.txt`",)
    ),
    "byte-order-mark": Words(
        "begin with a byte order mark",
        "begins with a byte order mark",
        ("open with encoding=utf-8-sig, or drop the first three bytes",),
    ),
    "nul-bytes": Words(
        "hold NUL bytes",
        "holds NUL bytes",
        ("look at one: UTF-16 needs `iconv -f UTF-16 -t UTF-8`; else it is damage",),
    ),
}


@rule("S110", "text-not-as-expected", Rank.KIND)
def text_not_as_expected(survey: Survey) -> Iterator[Finding]:
    """Text is not UTF-8, begins with a byte order mark, or holds NUL bytes.

    ## What it means

    TensorFlow passes bytes through and fails later, or tokenizes garbage. A byte order mark becomes part of the first
    column name. NUL bytes are what a crash leaves, or UTF-16.

    ## How we know

    Every byte was looked at.

    ## What to do

    Convert: `iconv -f WINDOWS-1252 -t UTF-8`, `iconv -f UTF-16 -t UTF-8`; in Python open with encoding="utf-8-sig" to
    drop the mark.
    """
    yield from found(survey, KINDS)
