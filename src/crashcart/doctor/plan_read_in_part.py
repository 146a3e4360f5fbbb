"""D702: parts of the plan were not understood."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.finding import Cause, Confidence, Finding, Level
from crashcart.installation import Installation
from crashcart.rule import Rank, rule
from crashcart.units import plural


@rule("D702", "plan-read-in-part", Rank.MECHANISM)
def plan_read_in_part(installation: Installation) -> Iterator[Finding]:
    """Some lines of a plan were not understood, so that what they bring was not judged.

    ## What it means

    A folder, a repository, a file on the network or a line that no installer would understand says nothing of versions
    before it is built or fetched. Everything else in the plan was judged.

    ## How we know

    The finding names each place and the reason.

    ## What to do

    Mend the line where it is a mistake. Otherwise install the plan into an empty environment, and judge that:
    `crashcart doctor --python PATH`.
    """
    if installation.unread:
        yield Finding(
            Cause.UNKNOWN,
            f"{plural(len(installation.unread), 'part')} of {installation.plan} could not be judged",
            installation.unread,
            ("install it into an empty environment, then: `crashcart doctor --python PATH`",),
            Confidence.CERTAIN,
            level=Level.NOTE,
        )
