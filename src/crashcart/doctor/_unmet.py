"""Requirements that the environment does not meet: what is missing, and what is outside of a declared range.

Covers: telling them, without those that are known to be harmless: what was measured to work, other distributions of the same
module, TensorFlow's old exact pins. Does not cover: versions that are known to fail (`_known.py`, `_beside.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from packaging.specifiers import SpecifierSet

from crashcart.doctor._change import Change, State
from crashcart.doctor._copies import stack
from crashcart.doctor._facts import TENSORFLOW_NAMES, facts, minor_of, same_module
from crashcart.doctor._measured import measured, working
from crashcart.doctor._releases import matching
from crashcart.doctor._requirements import Demand, demands, meets
from crashcart.doctor._trouble import Trouble
from crashcart.finding import Confidence, Level

_MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class Missing:
    """A distribution that is not there although others ask for it."""

    name: str
    demands: tuple[Demand, ...]

    @property
    def specifier(self) -> str:
        """What all that ask for it would accept."""
        joined = SpecifierSet()
        for each in self.demands:
            joined &= each.requirement.specifier
        return str(joined)


def missing(state: State) -> tuple[Missing, ...]:
    """What is asked for and not there, by name. A plan is not asked: pip brings what its packages need."""
    installation = state.installation
    if installation.plan is not None:
        return ()
    there = {each.name for each in installation.distributions} | {*(installation.conda or ())}
    asked: dict[str, list[Demand]] = {}
    for each in demands(installation):
        if not there & same_module(each.name) and not _by_the_system(each):
            asked.setdefault(each.name, []).append(each)
    return tuple(Missing(name, tuple(asked[name])) for name in sorted(asked))


def missing_troubles(state: State) -> Iterator[Trouble]:
    """A trouble for each missing distribution."""
    found = missing(state)
    near: frozenset[str] = stack(state.installation) if found else frozenset()
    for each in found:
        level, confidence, consequence = _consequence(each, state, near)
        yield Trouble(
            key=f"missing:{each.name}",
            headline=f"{each.name} is not installed, and {_who(each)}",
            because=(str(each.demands[0]), *([consequence] if consequence else [])),
            level=level,
            confidence=confidence,
            cures=_cures(each, state),
            about=frozenset({each.name, *(demand.by.name for demand in each.demands)}),
        )


def outside(state: State) -> tuple[Demand, ...]:
    """The demands that are not met by the version that is there, without those that are known to be harmless."""
    if state.installation.plan is not None:
        return ()
    return tuple(each for each in demands(state.installation) if _is_outside(each, state) and not harmless(each, state))


def _by_the_system(demand: Demand) -> bool:
    """The system's own packages (Debian's dist-packages) need not write down what they bring."""
    return demand.by.folder.endswith("dist-packages") and demand.by.installer != "pip"


def _who(each: Missing) -> str:
    askers = list(dict.fromkeys(f"{demand.by.name} {demand.by.version}" for demand in each.demands))
    more = f" and {len(askers) - 2} more" if len(askers) > 2 else ""
    return f"{' and '.join(askers[:2])}{more} {'asks' if len(askers) == 1 else 'ask'} for it"


def _consequence(each: Missing, state: State, near: frozenset[str]) -> tuple[Level, Confidence, str]:
    """Two releases of TensorFlow were imported with each requirement taken away; of other packages nothing is known.

    Those that TensorFlow does not lead to often declare more than one needs: no failure is foretold of them.
    """
    needed: Mapping[str, Any] = facts("requirements")["tensorflow"]
    tensorflow = next((demand.by for demand in each.demands if demand.by.name in TENSORFLOW_NAMES), None)
    brings = needed["brings"].get(each.name)
    if tensorflow is not None and (each.name in needed["import"] or (brings and state.find(brings) is None)):
        run = minor_of(tensorflow.version) in needed["measured"]
        return (
            Level.PROBLEM,
            _sure(state, Confidence.CERTAIN if run else Confidence.LIKELY),
            "without it `import tensorflow` fails",
        )
    if all(demand.by.name in TENSORFLOW_NAMES for demand in each.demands) and each.name in needed["not_missed"]:
        return Level.NOTE, _sure(state, Confidence.LIKELY), "import and training work without it"
    if not any(demand.by.name in near for demand in each.demands):
        return (
            Level.NOTE,
            _sure(state, Confidence.LIKELY),
            "what asks for it may fail where it is used; TensorFlow does not need it",
        )
    return Level.RISK, _sure(state, Confidence.LIKELY), ""


def _sure(state: State, confidence: Confidence) -> Confidence:
    """Where a directory could not be read, it may have what seems to be missing."""
    return Confidence.POSSIBLE if state.installation.unreadable else confidence


def _cures(each: Missing, state: State) -> tuple[Change, ...]:
    """A release that is known to fit; otherwise what is declared, for the installer to choose."""
    tensorflow = state.tensorflow
    versions = matching(each.name, each.specifier, state.installation.interpreter)
    good = working(tensorflow.version, each.name) if tensorflow is not None else ()
    if good:
        versions = tuple(version for version in versions if version in good) or versions
    known = tuple(Change(install=((each.name, version),)) for version in versions[:4])
    return known or (Change(ask=(f"{each.name}{each.specifier}",)),)


def gathered_missing(state: State, spoken_of: Iterable[frozenset[str]]) -> Iterator[Trouble]:
    """The missing ones in one trouble for each level, without those that another trouble speaks of."""
    names = frozenset().union(*spoken_of)
    found = [each for each in missing_troubles(state) if each.key.partition(":")[2] not in names]
    for level in Level:
        group = [each for each in found if each.level is level]
        if group:
            yield _gathered(group, level)


def _gathered(group: list[Trouble], level: Level) -> Trouble:
    if len(group) == 1:
        return replace(group[0], key="missing")
    names = [each.key.partition(":")[2] for each in group]
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    outcome = {
        Level.PROBLEM: "`import tensorflow` fails",
        Level.RISK: "what needs them may fail",
        Level.NOTE: "TensorFlow works without them",
    }
    change = Change()
    for each in group:
        change += each.cures[0]
    return Trouble(
        key="missing",
        headline=f"{len(names)} required packages are not installed ({', '.join(names[:_MOST_NAMED])}{more}): {outcome[level]}",
        because=tuple(_asking(group)),
        level=level,
        confidence=min((each.confidence for each in group), key=lambda each: each.order),
        cures=(change,),
        about=frozenset().union(*(each.about for each in group)),
    )


def _asking(group: Iterable[Trouble]) -> Iterator[str]:
    """Who asks for what, a line for each who does."""
    asked: dict[str, list[str]] = {}
    for each in group:
        who, _, what = each.because[0].partition(" asks for ")
        asked.setdefault(who, []).append(what)
    yield from (f"{who} asks for {', '.join(wanted)}" for who, wanted in asked.items())


def gathered_outside(state: State, spoken_of: Iterable[frozenset[str]]) -> Iterator[Trouble]:
    """All demands that are not met, in one trouble, without the pairs that another trouble speaks of."""
    pairs = list(spoken_of)
    found = [each for each in outside(state) if not any({each.by.name, each.name} <= about for about in pairs)]
    if not found:
        return
    names = list(dict.fromkeys(each.name for each in found))
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    yield Trouble(
        key="outside",
        headline=f"{', '.join(names[:_MOST_NAMED])}{more}: not the version that other packages declare",
        because=tuple(f"{each}; {_there(each, state)} is installed" for each in found),
        level=Level.NOTE,
        confidence=Confidence.POSSIBLE,
        cures=(Change(ask=tuple(f"{name}{_joined(found, name)}" for name in names)),),
        advice=("declared ranges are often narrower than what works: where nothing fails, leave it as it is",),
    )


def _there(demand: Demand, state: State) -> str:
    found = state.find(demand.name)
    return str(found.version) if found is not None else ""


def _joined(found: Iterable[Demand], name: str) -> str:
    return Missing(name, tuple(each for each in found if each.name == name)).specifier


def _is_outside(demand: Demand, state: State) -> bool:
    found = state.find(demand.name)
    return found is not None and found.version is not None and not meets(demand.requirement, found.version)


def harmless(demand: Demand, state: State) -> bool:
    """Whether it is known that the demand need not be met by what is there."""
    found = state.find(demand.name)
    by_tensorflow = demand.by.name in TENSORFLOW_NAMES
    if by_tensorflow and found is not None and measured(demand.by.version, demand.name, found.version) is not None:
        return True  # it works, or a rule of its own says that it fails
    if demand.name in TENSORFLOW_NAMES and demand.by.name in TENSORFLOW_NAMES:
        return True  # a shim and its partner: a rule of its own
    return any(_covers(each, demand, state) for each in facts("requirements")["harmless"])


def _covers(record: Mapping[str, Any], demand: Demand, state: State) -> bool:
    """`by` and `of` are ranges by name: who asks, and what it is asked for."""
    by = "tensorflow" if demand.by.name in TENSORFLOW_NAMES else demand.by.name
    found = state.find(demand.name)
    return (
        by in record["by"]
        and demand.name in record["of"]
        and _in(record["by"][by], demand.by.version)
        and _in(record["of"][demand.name], found.version if found is not None else None)
    )


def _in(specifier: str, version: str | None) -> bool:
    return not specifier or (version is not None and SpecifierSet(specifier).contains(version, prereleases=True))
