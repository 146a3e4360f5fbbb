"""S105: files that the decoder does not survive."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.data._kinds import Words, found
from crashcart.finding import Cause, Finding
from crashcart.rule import Rank, rule
from crashcart.survey import Survey

KINDS = {
    "decoder-crashed": Words(
        "crash the decoder", "crashes the decoder", ("leave them out of training",), Cause.NATIVE_CRASH
    ),
    "too-slow": Words(
        "are not decoded in time",
        "is not decoded in time",
        ("`--timeout 600` gives each file ten minutes",),
        Cause.HANG,
    ),
    "too-large": Words(
        "take more memory than a check may take",
        "takes more memory than a check may take",
        ("`--memory 4G` allows a process more; training needs as much for each one it decodes",),
        Cause.HOST_MEMORY,
    ),
}


@rule("S105", "decoder-does-not-survive", Rank.KIND)
def decoder_does_not_survive(survey: Survey) -> Iterator[Finding]:
    """The decoder crashes, hangs or runs out of memory on files.

    ## What it means

    The same may happen to your training, where it takes the whole process along: a kernel that dies without a word. A
    file can be small and ask for a huge picture.

    ## How we know

    Every file was decoded in a process of its own kind, held to a limit of memory and time. A file is named only if
    it ended two processes: the second time it was alone in a new one. One that crashed its decoder is damaged; one that met
    a limit of memory or time was not checked as a whole, and nothing else is known of it.

    ## What to do

    Leave out the files that crash. They are worth a report to the authors of the decoder; do not open files from strangers that
    do this. Give the others more time or memory, and look at them again.
    """
    yield from found(survey, KINDS)
