"""What pip would choose: the newest releases that all requirements allow.

Covers: a search over the known releases, TensorFlow first, that goes back to the choice that is to blame when it comes to
an end (so that it stays short), and the first end that it came to, for the explanation.
Does not cover: packages whose releases are not known (they take what is pinned, or stay open), pre-releases that are not
pinned, and what only building from source would tell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from crashcart.doctor._facts import TENSORFLOW_NAMES, parsed
from crashcart.doctor._index import allowed, is_known, pythons_of, releases, requires, with_wheel
from crashcart.doctor._index import chosen as releases_of
from crashcart.doctor._requirements import marker_holds, parsed_requirement
from crashcart.installation import Interpreter, Wanted
from crashcart.probe.packages import canonical

# Plans of real projects need fewer than 300 steps.
_MOST_STEPS = 20_000


@dataclass(frozen=True, slots=True)
class Ask:
    """Somebody asks for versions of a package."""

    by: str
    """The package that asks; empty for the plan itself."""
    words: str
    """As in `tensorflow 2.15.0 asks for numpy<2.0.0,>=1.23.5`."""
    specifier: SpecifierSet
    wanted: Wanted | None = None


@dataclass(frozen=True, slots=True)
class DeadEnd:
    """No release of a package is in all the ranges asked for."""

    package: str
    asks: tuple[Ask, ...]
    chosen: Mapping[str, str | None]
    """What had been chosen before."""


@dataclass(slots=True)
class Search:
    """One search. `wanted` is what the plan asks for; markers have been looked at."""

    interpreter: Interpreter
    wanted: Sequence[Wanted]
    dead_end: DeadEnd | None = None
    """The first one that was met; with a result, it was got around."""
    exhausted: bool = False
    """Whether the search was given up."""
    _steps: int = 0
    _extras: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _limits: dict[str, list[Ask]] = field(default_factory=dict)

    def run(self) -> dict[str, str | None] | None:
        """The version of each package (None where it is open), or None where there is no choice that meets all."""
        asks: dict[str, list[Ask]] = {}
        for each in self.wanted:
            ask = Ask("", f"{each.place} asks for {each.name}{each.specifier}", SpecifierSet(each.specifier), each)
            (self._limits if each.constraint else asks).setdefault(each.name, []).append(ask)
            self._extras[each.name] = (*self._extras.get(each.name, ()), *each.extras)
        try:
            found = self._search({}, asks)
        except RecursionError:
            self.exhausted = True
            return None
        return found if isinstance(found, dict) else None

    def _search(
        self, chosen: dict[str, str | None], asks: Mapping[str, list[Ask]]
    ) -> dict[str, str | None] | frozenset[str]:
        """A choice for everything that is asked for, or the packages whose choices are to blame."""
        name = _next(asks, chosen)
        if name is None:
            return self._with_unknown(chosen, asks)
        here = [*asks[name], *self._limits.get(name, ())]
        candidates = self._candidates(name, here)
        needed = here if candidates else self._essential(name, here)
        blamed = {each.by for each in needed}
        if not candidates:
            self._note(name, needed, chosen)
        for version in candidates:
            self._steps += 1
            if self._steps > _MOST_STEPS:
                self.exhausted = True
                return frozenset()
            own = self._asked_by(name, version)
            clash = _clash(own, chosen)
            if clash is not None:
                blamed.add(clash)
                self._note(clash, [*asks[clash], *own[clash]], chosen)
                continue
            found = self._search({**chosen, name: version}, _merged(asks, own))
            if isinstance(found, dict) or name not in found:
                return found
            blamed |= found - {name}
        return frozenset(blamed)

    def _with_unknown(
        self, chosen: Mapping[str, str | None], asks: Mapping[str, list[Ask]]
    ) -> dict[str, str | None] | frozenset[str]:
        """The choice with the packages whose releases are not known. They ask for nothing, so no choice depends on them."""
        found = dict(chosen)
        for name in asks:
            if name in found:
                continue
            here = [*asks[name], *self._limits.get(name, ())]
            candidates = self._candidates(name, here)
            if not candidates:
                needed = self._essential(name, here)
                self._note(name, needed, chosen)
                return frozenset(each.by for each in needed)
            found[name] = candidates[0]
        return found

    def _candidates(self, name: str, asks: Sequence[Ask]) -> list[str | None]:
        """The versions that all allow, newest first: those with a wheel, else those that pip would build."""
        both = SpecifierSet(",".join(str(each.specifier) for each in asks if str(each.specifier)))
        given = next((each.wanted for each in asks if each.wanted is not None and each.wanted.opaque), None)
        if given is not None:
            return [given.exact]
        pin = _pin(both)
        if not is_known(name) or (pin is not None and _beyond(name, pin)):
            return [pin] if pin is None or both.contains(pin, prereleases=True) else []
        bits = _common(name, asks)
        if refuses(name, bits) is not None:
            return []
        wheels = bits & with_wheel(name, self.interpreter.minor)
        return [*releases_of(name, wheels if wheels or name in TENSORFLOW_NAMES else bits)]

    def _essential(self, name: str, asks: Sequence[Ask]) -> list[Ask]:
        """Those of the asks that alone leave no release: without any one of them, there would be one."""
        served = with_wheel(name, self.interpreter.minor) if name in TENSORFLOW_NAMES else -1
        kept = sorted(asks, key=lambda each: (each.by != "", each.by not in TENSORFLOW_NAMES))
        for each in reversed(kept[:]):
            others = [other for other in kept if other is not each]
            if others and is_known(name) and not _common(name, others) & served:
                kept = others
        return kept

    def _asked_by(self, name: str, version: str | None) -> dict[str, list[Ask]]:
        found: dict[str, list[Ask]] = {}
        for text in requires(name, version) if version is not None else ():
            requirement = parsed_requirement(text)
            if requirement is None or not marker_holds(
                requirement.marker, self.interpreter, self._extras.get(name, ())
            ):
                continue
            other = canonical(requirement.name)
            words = f"{name} {version} asks for {other}{requirement.specifier}"
            found.setdefault(other, []).append(Ask(name, words, requirement.specifier))
        return found

    def _note(self, name: str, asks: Sequence[Ask], chosen: Mapping[str, str | None]) -> None:
        if self.dead_end is None:
            self.dead_end = DeadEnd(name, tuple(asks), dict(chosen))


def _common(name: str, asks: Sequence[Ask]) -> int:
    """The releases that all allow, as bits."""
    bits = -1
    for each in asks:
        bits &= allowed(name, str(each.specifier))
    return bits


def _next(asks: Mapping[str, list[Ask]], chosen: Mapping[str, str | None]) -> str | None:
    """TensorFlow first: what it asks for decides the rest. Then the other known ones, in the order of asking."""
    undecided = [name for name in asks if name not in chosen]
    known = (name for name in undecided if is_known(name))
    return next((name for name in undecided if name in TENSORFLOW_NAMES), next(known, None))


def _clash(own: Mapping[str, list[Ask]], chosen: Mapping[str, str | None]) -> str | None:
    """A package that was chosen in a version that is now refused."""
    for name, asks in own.items():
        version = parsed(chosen.get(name))
        if version is not None and not all(each.specifier.contains(version, prereleases=True) for each in asks):
            return name
    return None


def _merged(asks: Mapping[str, list[Ask]], own: Mapping[str, list[Ask]]) -> dict[str, list[Ask]]:
    return {
        name: [*asks.get(name, ()), *own.get(name, ())] for name in (*asks, *(each for each in own if each not in asks))
    }


def _pin(specifier: SpecifierSet) -> str | None:
    """The version that a range fixes."""
    exact = (each.version for each in specifier if each.operator in ("==", "===") and not each.version.endswith(".*"))
    return next(exact, None)


def _beyond(name: str, pin: str) -> bool:
    """Whether a pinned version may exist although it is not known: newer, older or of another kind than the known ones."""
    version = parsed(pin)
    if version is None or version.is_prerelease or version.local is not None:
        return True
    known = releases(name)
    return (
        not known
        or version > known[0]
        or version < known[-1]
        or (name not in TENSORFLOW_NAMES and version not in known)
    )


def is_pinned(wanted: Wanted) -> bool:
    """Whether a requirement fixes the version."""
    return wanted.exact is not None or _pin(SpecifierSet(wanted.specifier)) is not None


def refuses(name: str, bits: int) -> str | None:
    """The release that pip would take, where it has no wheel at all: the last tensorflow-gpu stops with an error on purpose."""
    newest = next(iter(releases_of(name, bits & -bits)), None)
    return newest if newest is not None and name in TENSORFLOW_NAMES and not pythons_of(name, newest) else None


def refused(name: str, asks: Sequence[Ask]) -> str | None:
    """The same, for what is asked."""
    return refuses(name, _common(name, asks)) if is_known(name) else None


def in_range(name: str, asks: Sequence[Ask]) -> list[Version]:
    """The known releases that all allow, whatever Python they are for."""
    return [each for each in releases(name) if all(ask.specifier.contains(each) for ask in asks)]
