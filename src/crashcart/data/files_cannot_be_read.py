"""S101: files that are not there, or may not be read."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.data._kinds import Words, found
from crashcart.finding import Cause, Finding
from crashcart.rule import Rank, rule
from crashcart.survey import Survey

KINDS = {
    "missing": Words(
        "are not there",
        "is not there",
        ("take the names out of the list, or bring the files back",),
        Cause.DATA_MISSING,
    ),
    "dangling-link": Words(
        "are links that lead to nothing",
        "is a link that leads to nothing",
        ("copy what they lead to: `cp -L` or `rsync -L`",),
        Cause.DATA_MISSING,
    ),
    "link-loop": Words(
        "are links that lead in a circle",
        "is a link that leads in a circle",
        ("remove the link: programs that follow it never end",),
        Cause.DATA_MISSING,
    ),
    "not-a-file": Words(
        "are no files", "is no file", ("leave it out: reading from it may wait for ever",), Cause.DATA_MISSING
    ),
    "unreadable": Words(
        "cannot be read",
        "cannot be read",
        ("`chmod -R u+rX DIR` where the right is missing; an input/output error (errno 5) is the disk",),
        Cause.DATA_MISSING,
    ),
}


@rule("S101", "files-cannot-be-read", Rank.KIND)
def files_cannot_be_read(survey: Survey) -> Iterator[Finding]:
    """Files of the data set are not there, or may not be read.

    ## What it means

    Training stops at the first of them with NotFoundError or PermissionDeniedError. A link may lead nowhere since the
    files behind it were moved, or since only links were copied to this machine. A folder that may not be listed hides
    all files in it.

    ## How we know

    The file system was asked for each file. Sockets, pipes and devices are never opened: reading from one may wait
    for ever.

    ## What to do

    Copy what the links lead to (`rsync -L`, `cp -L`), give yourself the right to read (`chmod -R u+rX DIR`), or leave
    the files out of the list that training reads.
    """
    yield from found(survey, KINDS)
