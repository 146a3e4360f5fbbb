"""W208 packages-do-not-fit."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crashcart.evidence import Ending, Environment, ErrorRecord, Log
from crashcart.finding import Finding
from crashcart.rule import Rank, rule
from crashcart.why._advice import advise
from crashcart.why._package_advice import PACKAGE_ADVICE
from crashcart.why._said import Kind, Said, package_of
from crashcart.why._text import conclude, stated

_MOST_NAMED = 6


@rule("W208", "packages-do-not-fit", Rank.KIND)
def packages_do_not_fit(
    errors: tuple[ErrorRecord, ...],
    log: Log | None = None,
    ending: Ending | None = None,
    environment: Environment | None = None,
) -> Iterator[Finding]:
    """Installed packages, or the C libraries they were built for, do not fit each other or this Python.

    ## What it means

    A compiled package expects certain versions of NumPy, protobuf, TensorFlow, the C++ runtime. Where another version
    is installed, the import fails, or the program crashes later. The user's own code is right.

    ## How we know

    The message speaks of binary interfaces, missing symbols or generated code; or one installed package asks another
    for a name that it does not have. Where the environment was recorded, the versions of the packages involved are given.

    ## What to do

    Bring the named packages to versions that belong together; a fresh environment installed in one command is the
    shortest way.
    """
    for statement in stated(Kind.PACKAGES, errors, log, ending):
        row = advise(PACKAGE_ADVICE, statement.said.folded)
        versions = _versions(statement.said, environment)
        yield conclude(statement, row.headline, row.remedy, *([f"installed: {versions}"] if versions else []))


def _versions(said: Said, environment: Environment | None) -> str:
    """The versions of the packages that the message and the frames name."""
    if environment is None:
        return ""
    named = {package_of(frame) for frame in said.frames} | set(re.findall(r"[a-z_]{3,}", said.folded))
    named |= {"tensorflow", "keras", "numpy", "protobuf"}
    known = {name: version for name, version in environment.packages.items() if name.lower().replace("-", "_") in named}
    return ", ".join(f"{name} {version}" for name, version in sorted(known.items())[:_MOST_NAMED])
