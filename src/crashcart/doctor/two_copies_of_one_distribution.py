"""D110: one distribution is there more than once."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.doctor._change import state_of
from crashcart.doctor._conda import over_conda
from crashcart.doctor._copies import hidden, left_behind, twice
from crashcart.doctor._tell import tell
from crashcart.evidence import Environment
from crashcart.finding import Finding
from crashcart.installation import Installation
from crashcart.rule import Rank, rule


@rule("D110", "two-copies-of-one-distribution", Rank.KIND)
def two_copies_of_one_distribution(
    installation: Installation, environment: Environment | None = None
) -> Iterator[Finding]:
    """One distribution is installed more than once, and the copies differ.

    ## What it means

    Two entries in one directory are what an upgrade leaves that broke off: the version that tools read and the files that
    are imported may be of different releases. A copy on PYTHONPATH or in the user's own directory hides the one in the
    environment, whatever is installed there. In a conda environment, pip may have written over what conda installed.

    ## How we know

    From the metadata directories on Python's path in their order, and from conda's own list of what it installed. A copy
    with the same version in another directory is not reported (in the same one: a note), nor is a virtual environment that
    hides a package of the system: that is its purpose.

    ## What to do

    Delete the stale entry and write the files again, or take the other directory off the path, as the finding says. What pip
    wrote over conda is best kept where it works; the way back is named only where nothing is known against conda's version.
    """
    state = state_of(installation, environment)
    yield from tell(state, [*twice(state), *hidden(state), *over_conda(state), *left_behind(state)])
