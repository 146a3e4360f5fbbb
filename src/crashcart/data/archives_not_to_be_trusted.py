"""S114: archives and arrays that should not be opened blindly."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.data._kinds import Words, found
from crashcart.finding import Finding
from crashcart.rule import Rank, rule
from crashcart.survey import Survey

KINDS = {
    "unsafe-name": Words(
        "have members that lead out of their folder",
        "has members that lead out of its folder",
        ('unpack with tarfile.extractall(filter="data"), and ask where the archive comes from',),
    ),
    "duplicate-member": Words(
        "have two members of one name",
        "has two members of one name",
        ("make the archive again: only the last one is seen by most readers",),
    ),
    "needs-pickle": Words(
        "hold Python objects", "holds Python objects", ("save the array with a plain type: array.astype(float)",)
    ),
}


@rule("S114", "archives-not-to-be-trusted", Rank.KIND)
def archives_not_to_be_trusted(survey: Survey) -> Iterator[Finding]:
    """Archives have members that lead out of their folder or hide each other, or arrays hold Python objects.

    ## What it means

    Unpacking such an archive writes to places that you did not name, or keeps only one of two members. Loading an
    array of Python objects runs code from the file.

    ## How we know

    The names of all members were read; the header of an array says whether it holds objects. Nothing was unpacked or
    unpickled.

    ## What to do

    Unpack archives with `tarfile.extractall(filter="data")`. Save arrays without objects: `array.astype(float)`, or
    one array for each field.
    """
    yield from found(survey, KINDS)
