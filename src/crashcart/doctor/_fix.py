"""The exact command that mends an environment, in the words of the tool that installs into it.

Covers: pip, uv and conda; a line for a requirements file where nothing is installed yet; choosing a version that the other
distributions of the environment accept as well.
Does not cover: running it.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from crashcart.doctor._requirements import refused_by
from crashcart.installation import Installation


def install(installation: Installation, *wanted: str) -> str:
    """The command that brings the wanted requirements (`numpy==1.26.4`) into the environment."""
    if installation.plan is not None:
        return f"in {installation.plan}: {', '.join(wanted)}"
    words = " ".join(shlex.quote(each) for each in wanted)
    interpreter = installation.interpreter
    python = shlex.quote(interpreter.executable or "python")
    if interpreter.tool == "uv":
        return f"`uv pip install --python {python} {words}`"
    if interpreter.tool == "conda" and _all_by_conda(installation, wanted):
        return f"`conda install -p {shlex.quote(interpreter.prefix or '')} {words}`"
    return f"`{python} -m pip install {words}`"


def uninstall(installation: Installation, *names: str) -> str:
    """The command that removes distributions."""
    if installation.plan is not None:
        return f"in {installation.plan}: remove {', '.join(names)}"
    python = shlex.quote(installation.interpreter.executable or "python")
    words = " ".join(names)
    if installation.interpreter.tool == "uv":
        return f"`uv pip uninstall --python {python} {words}`"
    if installation.interpreter.tool == "conda" and _all_by_conda(installation, names):
        return f"`conda remove -p {shlex.quote(installation.interpreter.prefix or '')} {words}`"
    return f"`{python} -m pip uninstall -y {words}`"


def choose(installation: Installation, name: str, versions: Iterable[str]) -> str | None:
    """The first of the versions that no other distribution refuses; where all are refused, the one with fewest refusals."""
    refusals = {version: len(refused_by(installation, name, version)) for version in versions}
    return min(refusals, key=lambda version: refusals[version], default=None)


def _all_by_conda(installation: Installation, wanted: Iterable[str]) -> bool:
    """Conda does not see what pip installed; each tool changes what it brought."""
    for each in wanted:
        if "[" in each:
            return False  # extras are pip's
        found = installation.find(each.split("=")[0].split("<")[0].split(">")[0].split("!")[0].split("~")[0].strip())
        if found is not None and found.installer not in (None, "conda"):
            return False
    return True
