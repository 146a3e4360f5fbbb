"""Which change mends an environment, checked by judging the environment as it would be after it.

Covers: the best cure of one trouble (with the companions that it needs), and one change that cures everything at once. A change
is good where no new trouble appears, and nothing that was fine is refused by what other packages declare.
Does not cover: the commands (`_fix.py`), or what only an installer can know: releases that we have no facts of.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from crashcart.doctor._beside import beside
from crashcart.doctor._change import Change, State, changed
from crashcart.doctor._copies import copy_troubles
from crashcart.doctor._facts import TENSORFLOW_NAMES
from crashcart.doctor._files import file_troubles
from crashcart.doctor._known import known
from crashcart.doctor._releases import matching
from crashcart.doctor._requirements import Demand, demands, meets
from crashcart.doctor._trouble import Trouble
from crashcart.doctor._unmet import harmless, missing_troubles
from crashcart.finding import Level

_MOST_COMPANIONS = 4
_MOST_STEPS = 16


@dataclass(frozen=True, slots=True)
class Cure:
    """A change, and what stands against it."""

    change: Change
    remaining: tuple[Trouble, ...] = ()
    """New troubles that it would bring, and that no companion cures."""
    refused: tuple[Demand, ...] = ()
    """What packages declare and the change does not respect."""
    waived: tuple[Demand, ...] = ()
    """Of the same kind, but known to be harmless."""

    @property
    def cost(self) -> tuple[int, int, int]:
        """Less is better."""
        return (len(self.remaining), len(self.refused), len(self.waived))


def troubles(state: State) -> tuple[Trouble, ...]:
    """All package troubles of a state that a change can cure, the gravest first."""
    found = [*copy_troubles(state), *file_troubles(state), *version_troubles(state), *missing_troubles(state)]
    return tuple(sorted(found, key=lambda each: each.level.order))


def version_troubles(state: State) -> Iterator[Trouble]:
    """Those about versions that fail together."""
    yield from beside(state, "numpy")
    yield from protobuf_troubles(state)
    yield from keras_troubles(state)
    yield from known(state, "D104")
    yield from known(state, "D105")


def protobuf_troubles(state: State) -> Iterator[Trouble]:
    """What is recorded is finer than what was measured: one version of each minor."""
    recorded = list(known(state, "D102"))
    yield from recorded or beside(state, "protobuf")


def keras_troubles(state: State) -> Iterator[Trouble]:
    """The first record that holds: pairs that were run come before what follows from them."""
    yield from list(known(state, "D103"))[:1]


def cure(state: State, trouble: Trouble) -> Cure | None:
    """The best of a trouble's cures; None where it has none that removes it."""
    now = troubles(state)
    before = _keys(now) | {trouble.key}
    decided = _decided_by_graver(now, trouble)
    best: Cure | None = None
    for change in trouble.cures:
        tried = _completed(state, change, before, decided)
        if trouble.key in {each.key for each in troubles(changed(state, tried.change))}:
            continue
        if best is None or tried.cost < best.cost:
            best = tried
        if not any(tried.cost):
            break
    return best


def _decided_by_graver(found: Iterable[Trouble], trouble: Trouble) -> frozenset[str]:
    """What the remedies of graver troubles install: a lesser one must not name another version of it beside them."""
    graver = [each for each in found if each.level.order < trouble.level.order]
    return frozenset(name for each in graver for change in each.cures for name in change.versions())


def mend(state: State) -> Cure | None:
    """One change that cures all troubles that can be cured; None where there is nothing to do."""
    change = _all_missing(state)
    given_up: set[str] = set()
    for _ in range(_MOST_STEPS):
        after = changed(state, change)
        left = [each for each in troubles(after) if each.level is not Level.NOTE and each.key not in given_up]
        if not left:
            break
        found = cure(after, left[0])
        if found is None or _undoes(found.change, change):
            given_up.add(left[0].key)
            continue
        change += found.change
    after = changed(state, change)
    remaining = tuple(each for each in troubles(after) if each.level is not Level.NOTE)
    return Cure(change, remaining, *_refused(after, change)) if change else None


def _all_missing(state: State) -> Change:
    """Everything that is missing, in one go: one by one, what comes first would let the installer choose the rest."""
    change = Change()
    for each in missing_troubles(state):
        if each.level is not Level.NOTE:
            change += each.cures[0]
    return change


def _keys(found: Iterable[Trouble]) -> set[str]:
    return {each.key for each in found if each.level is not Level.NOTE}


def _completed(state: State, change: Change, before: set[str], decided: frozenset[str]) -> Cure:
    """The change with companions for what it would break, without those that another remedy decides."""
    for _ in range(_MOST_COMPANIONS):
        after = changed(state, change)
        companion = _companion(after, change, before, decided)
        if companion is None:
            break
        change += companion
    after = changed(state, change)
    remaining = tuple(each for each in troubles(after) if each.key not in before and each.level is not Level.NOTE)
    refused, waived = _refused(after, change)
    return Cure(change, remaining, tuple(each for each in refused if each.name not in decided), waived)


def _companion(after: State, change: Change, before: set[str], decided: frozenset[str]) -> Change | None:
    """A cure for a new trouble, or for what a newly installed package refuses (the installer would choose by itself)."""
    for each in troubles(after):
        if each.key not in before and each.level is not Level.NOTE:
            for candidate in each.cures:
                if not _undoes(candidate, change) and each.key not in _keys(troubles(changed(after, candidate))):
                    return candidate
    for demand in _refused_by_the_new(after, change):
        if demand.name in decided:
            continue
        fitting = matching(demand.name, str(demand.requirement.specifier), after.installation.interpreter)
        for version in fitting:
            candidate = Change(install=((demand.name, version),))
            if not _undoes(candidate, change) and _keys(troubles(changed(after, candidate))) <= _keys(troubles(after)):
                return candidate
    return None


def _undoes(candidate: Change, change: Change) -> bool:
    """Whether it would take back what the change has decided."""
    decided = change.versions()
    taken = {name for name, version in candidate.versions().items() if decided.get(name, version) != version}
    return bool(taken or set(candidate.remove) & decided.keys())


def _refused_by_the_new(after: State, change: Change) -> list[Demand]:
    names = change.versions()
    asked = [each for each in demands(after.installation) if each.by.name in names]
    return [each for each in asked if each.name not in TENSORFLOW_NAMES and _unmet(each, after)]


def _refused(after: State, change: Change) -> tuple[tuple[Demand, ...], tuple[Demand, ...]]:
    """What is not met after the change, of what it concerns; and the part of it that is known to be harmless."""
    names = change.versions()
    concerned = [each for each in demands(after.installation) if each.name in names or each.by.name in names]
    unmet = [each for each in concerned if _unmet(each, after)]
    waived = [each for each in unmet if harmless(each, after)]
    return tuple(each for each in unmet if each not in waived), tuple(waived)


def _unmet(demand: Demand, state: State) -> bool:
    found = state.find(demand.name)
    return found is not None and found.version is not None and not meets(demand.requirement, found.version)
