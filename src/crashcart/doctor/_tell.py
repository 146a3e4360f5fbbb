"""Troubles as findings: the cure that fits this environment, in commands, and what stands against it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from crashcart.doctor._change import State
from crashcart.doctor._fix import told
from crashcart.doctor._repair import Cure, cure
from crashcart.doctor._requirements import Demand
from crashcart.doctor._trouble import Trouble
from crashcart.finding import Finding

_MOST_NAMED = 3


def tell(state: State, troubles: Iterable[Trouble]) -> Iterator[Finding]:
    """A finding for each."""
    for each in troubles:
        yield Finding(
            cause=each.cause,
            headline=each.headline,
            because=each.because,
            remedy=tuple(_remedies(state, each)),
            confidence=each.confidence,
            level=each.level,
        )


def _remedies(state: State, trouble: Trouble) -> Iterator[str]:
    found = cure(state, trouble) if trouble.cures else None
    command = told(state.installation, found.change) if found is not None else None
    if found is not None and command is not None:
        yield command
        yield from _against(found)
    yield from (each for each in trouble.advice if command is None or command not in each)
    if found is None and not trouble.advice:
        yield "no release is known that would mend it here: make a new environment with a current TensorFlow"


def _against(found: Cure) -> Iterator[str]:
    if found.waived:
        yield f"pip will complain ({_asked(found.waived)}); it was measured to work all the same"
    if found.refused:
        yield f"what stands against it: {_asked(found.refused)}; upgrade what asks, or use a second environment"
    if found.remaining:
        named = "; ".join(each.headline for each in found.remaining[:_MOST_NAMED])
        yield f"it would bring another trouble: {named}"


def _asked(demands: Iterable[Demand]) -> str:
    named = list(dict.fromkeys(map(str, demands)))
    more = f"; and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
    return "; ".join(named[:_MOST_NAMED]) + more
