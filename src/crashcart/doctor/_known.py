"""Versions that are known to fail together: the records of `facts/conflicts.json` as troubles.

Covers: which records hold here, their words with the versions of this environment, and the changes that cure them.
Does not cover: how a condition is evaluated (`_conditions.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from packaging.specifiers import SpecifierSet

from crashcart.doctor._change import Change, State
from crashcart.doctor._conditions import holds, named
from crashcart.doctor._facts import RELEASED_NAMES, TENSORFLOW_NAMES, facts, minor_of
from crashcart.doctor._fix import again
from crashcart.doctor._other_build import softened
from crashcart.doctor._releases import matching, nearest, releases
from crashcart.doctor._trouble import Trouble
from crashcart.finding import Confidence, Level
from crashcart.installation import Distribution

_MOST_CURES = 6
_OF_ANY_BUILD = frozenset({"D104"})
"""Records that hold whoever built TensorFlow: a package that its Python code asks for is not there."""


def known(state: State, rule: str | None = None) -> Iterator[Trouble]:
    """A trouble for each record that holds; with a rule's code, only for its records."""
    for record in facts("conflicts")["records"]:
        if rule in (None, record["rule"]) and holds(record["when"], state):
            trouble = _trouble(record, state)
            yield trouble if record["rule"] in _OF_ANY_BUILD else softened(state, trouble)


def _trouble(record: Mapping[str, Any], state: State) -> Trouble:
    names = _names(record["when"], state)
    words = {name: _called(state, name) for name in names} | {"minor": _minor(state)}
    cures = tuple(islice(_cures(record, state), _MOST_CURES))
    return Trouble(
        key=record["id"],
        headline=_filled(record["headline"], words),
        because=tuple(_because(record, words, state, names)),
        level=Level(record["level"]),
        confidence=_confidence(record, state, names),
        cures=cures,
        advice=(*([] if cures else _no_release(record, state)), *(_filled(each, words) for each in record["advice"])),
        about=frozenset(names),
    )


def _names(condition: Mapping[str, Any], state: State) -> frozenset[str]:
    """The distributions that the record speaks of, by their names here; TensorFlow is always among them."""
    tensorflow = state.tensorflow
    return (named(condition) | {"tensorflow"}) | ({tensorflow.name} if tensorflow is not None else set())


def _called(state: State, name: str) -> str:
    found = state.find(name)
    return name if found is None else f"{found.name} {found.version}" if found.version else found.name


def _minor(state: State) -> str:
    tensorflow = state.tensorflow
    return (minor_of(tensorflow.version) if tensorflow is not None else None) or ""


def _filled(text: str, words: Mapping[str, str]) -> str:
    """Placeholders such as {ml-dtypes}, which a format string cannot have."""
    for name, value in words.items():
        text = text.replace("{" + name + "}", value)
    return text


def _because(record: Mapping[str, Any], words: Mapping[str, str], state: State, names: frozenset[str]) -> Iterator[str]:
    yield from _sources([state.find(name) for name in sorted(names - {*TENSORFLOW_NAMES})])
    yield from (_filled(each, words) for each in record["because"])
    if record["error"]:
        yield f"the error: {record['error']}"
    if record["reproduced"]:
        yield f"seen in a real run: {record['reproduced']}"
    elif record["sources"]:
        yield f"reported, not run by us: {', '.join(record['sources'][:3])}"


def _sources(found: Iterable[Distribution | None]) -> Iterator[str]:
    """Where the versions come from, one line for each directory."""
    groups: dict[str, list[str]] = {}
    for each in found:
        if each is not None:
            groups.setdefault(where_from(each), []).append(f"{each.name} {each.version}")
    yield from (f"{place} {', '.join(named)}" for place, named in groups.items())


def where_from(distribution: Distribution) -> str:
    """Where its version comes from, in words that stand before it."""
    if not distribution.pinned:
        return "pip would choose"
    return f"installed in {distribution.folder}:" if distribution.folder else "planned:"


def _confidence(record: Mapping[str, Any], state: State, names: frozenset[str]) -> Confidence:
    said = Confidence(record["confidence"])
    chosen = any(found is not None and not found.pinned for found in map(state.find, names))
    return Confidence.LIKELY if chosen and said is Confidence.CERTAIN else said


def _cures(record: Mapping[str, Any], state: State) -> Iterator[Change]:
    for cure in record["cures"]:
        if "partner" in cure:
            yield from _partners(record["when"]["partner"], cure["partner"], state)
            continue
        yield from _cure(cure, state)


def _cure(cure: Mapping[str, Any], state: State) -> Iterator[Change]:
    """One change for each release that would do; without a release for this Python, none."""
    rest: Change | None = Change(remove=tuple(cure.get("remove", ())), unset=tuple(cure.get("unset", ())))
    for name in cure.get("again", ()):
        found = state.find(name)
        anew = again(found) if found is not None else Change()
        rest = rest + anew if rest is not None and anew is not None else None
    if rest is None:
        return  # what would have to be written again, no index has
    if "install" not in cure:
        yield rest
        return
    ((name, specifier),) = cure["install"].items()
    for version in _versions(name, specifier.replace("{minor}", _minor(state)), state):
        yield _brings(state, name, version) + rest


def _brings(state: State, name: str, version: str) -> Change:
    """Another release; of TensorFlow under the name that is here, where it was made under that name."""
    tensorflow = state.tensorflow
    if name != "tensorflow" or tensorflow is None:
        return Change(install=((name, version),))
    if tensorflow.name in RELEASED_NAMES:
        return Change(install=((tensorflow.name, version),))
    return Change(remove=(tensorflow.name,), install=(("tensorflow", version),))


def _no_release(record: Mapping[str, Any], state: State) -> Iterator[str]:
    """Why there is no cure: what would be needed has no wheel for this Python."""
    for cure in record["cures"][:1]:
        python = state.installation.interpreter.minor
        for name, specifier in cure.get("install", {}).items():
            wanted = f"{name}{specifier.replace('{minor}', _minor(state))}"
            yield f"no release of {wanted} is known for Python {python}: use another Python, or another TensorFlow"


def _versions(name: str, specifier: str, state: State) -> tuple[str, ...]:
    found = state.find(name)
    return nearest(
        matching(name, specifier, state.installation.interpreter), found.version if found is not None else None
    )


def _partners(ranges: Mapping[str, Mapping[str, str]], name: str, state: State) -> Iterator[Change]:
    """The releases that are made for the TensorFlow that is here."""
    tensorflow = state.tensorflow
    for version in releases(name, state.installation.interpreter):
        meant = ranges[name].get(minor_of(version) or "")
        if (
            tensorflow is not None
            and meant
            and SpecifierSet(meant).contains(tensorflow.version or "", prereleases=True)
        ):
            yield Change(install=((name, version),))
