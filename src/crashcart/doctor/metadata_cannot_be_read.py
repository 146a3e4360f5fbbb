"""D111: metadata or a whole directory of packages cannot be read."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.doctor._change import state_of
from crashcart.doctor._copies import unreadable
from crashcart.doctor._tell import tell
from crashcart.evidence import Environment
from crashcart.finding import Finding
from crashcart.installation import Installation
from crashcart.rule import Rank, rule


@rule("D111", "metadata-cannot-be-read", Rank.KIND)
def metadata_cannot_be_read(installation: Installation, environment: Environment | None = None) -> Iterator[Finding]:
    """The metadata of a package, or a whole directory of packages, cannot be read.

    ## What it means

    pip, and programs that ask for the version of a package, fail or go wrong on a broken METADATA file. A directory that
    cannot be read cannot be imported from; its packages are missing for this user.

    ## How we know

    The file or directory was opened, and the finding quotes what the system said, or which field is missing.

    ## What to do

    Delete the broken entry and install the package again, with the commands of the finding: pip alone cannot, because it
    reads the entry first. What no package index has, install again from where it came, which the finding names. Or give the user
    the right to read the directory.
    """
    state = state_of(installation, environment)
    yield from tell(state, unreadable(state))
