"""Conda environments that pip has written into.

Covers: what both of them installed, and whether conda's own version could come back. Does not cover: other copies (`_copies.py`).
"""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.doctor._change import Change, State, changed
from crashcart.doctor._copies import stack
from crashcart.doctor._fix import back_to_conda
from crashcart.doctor._repair import cure, troubles
from crashcart.doctor._trouble import Trouble
from crashcart.finding import Confidence, Level

_MOST_NAMED = 8


def over_conda(state: State) -> Iterator[Trouble]:
    """Pip replaced what conda had installed, and conda does not know."""
    installation = state.installation
    there = {each.name: each for each in reversed(installation.distributions) if not each.shadowed}
    both = [
        (each, version)
        for name, version in (installation.conda or {}).items()
        if (each := there.get(name)) is not None and each.installer not in (None, "conda") and each.version != version
    ]
    concerned = [(each, version) for each, version in both if each.name in stack(installation)]
    shown = concerned or both
    if not shown:
        return
    yield Trouble(
        key="over-conda",
        headline=f"pip and conda both installed {', '.join(each.name for each, _ in shown[:_MOST_NAMED])}",
        because=(
            *(
                f"conda wrote down {each.name} {version}; the files are {each.version}, by {each.installer}"
                for each, version in shown[:_MOST_NAMED]
            ),
            "files of both may be mixed, and the next `conda install` puts its own ones back",
        ),
        level=Level.RISK if concerned else Level.NOTE,
        confidence=Confidence.CERTAIN,
        advice=tuple(_advice(state, {each.name: version for each, version in shown})),
        about=frozenset(each.name for each, _ in shown),
    )


def _advice(state: State, versions: dict[str, str]) -> Iterator[str]:
    """What works is kept; conda's versions come back only where they would do no harm."""
    yield "keep it where it works, and from now on change these packages with pip alone"
    if _harmless(state, versions):
        yield f"or hand them back to conda: {back_to_conda(state.installation, versions)}"


def _harmless(state: State, versions: dict[str, str]) -> bool:
    """Whether nothing is known against these versions, and no other package refuses them or would have to change."""
    change = Change(install=tuple(versions.items()))
    after = [each for each in troubles(changed(state, change)) if each.level is not Level.NOTE]
    if any(each.about & versions.keys() for each in after):
        return False
    found = cure(state, Trouble("back-to-conda", "", (), Level.NOTE, Confidence.CERTAIN, (change,)))
    return found is not None and not any(found.cost) and dict(found.change.install) == versions
