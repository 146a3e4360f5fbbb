"""Whether a recorded condition holds in an environment. Pure; the records are in `facts/conflicts.json`.

A condition is an object; all of what it says must hold:

- `has`: ranges by distribution ("" is any version; `tensorflow` is any distribution that brings it)
- `lacks`: distributions of which none is there, under no name that brings the same module (tf-keras-nightly)
- `minor`: a distribution whose minor version is `newer`, `older`, `much older` (by two or more) or `other` than TensorFlow's
- `partner`: a distribution, and by its minor version the range of TensorFlow that it is made for, which is not met
- `python`: a range; `system`, `architecture`: lists of names
- `variables`: values by name; each must be set to one of them
- `any`: a list of conditions, one of which holds; `unless`: a condition that does not
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from packaging.specifiers import SpecifierSet

from crashcart.doctor._change import State
from crashcart.doctor._facts import minor_of, parsed, same_module
from crashcart.doctor._requirements import demands

Condition = Mapping[str, Any]


def holds(condition: Condition, state: State) -> bool:
    """Whether all of it is known to hold; what is not known does not."""
    return all(_PARTS[name](wanted, state) for name, wanted in condition.items())


def named(condition: Condition) -> frozenset[str]:
    """The distributions that it speaks of."""
    own = {*condition.get("has", ()), *condition.get("lacks", ()), *condition.get("minor", ())}
    own |= set(condition.get("partner", ()))
    inner = [named(each) for each in condition.get("any", ())]
    return frozenset(own).union(*inner)


def _has(wanted: Mapping[str, str], state: State) -> bool:
    return all(_in_range(state, name, specifier) for name, specifier in wanted.items())


def _in_range(state: State, name: str, specifier: str) -> bool:
    found = state.find(name)
    if found is None:
        return False
    return not specifier or _contains(specifier, found.version)


def _lacks(wanted: list[str], state: State) -> bool:
    """In a plan, what one of its packages asks for will be there: pip brings it."""
    planned = state.installation.plan is not None
    brought = {each.name for each in demands(state.installation)} if planned else set()
    names = {each for name in wanted for each in same_module(name)}
    return not names & brought and all(state.find(name) is None for name in names)


def _minor(wanted: Mapping[str, str], state: State) -> bool:
    tensorflow = state.tensorflow
    return tensorflow is not None and all(
        _compares(state, name, minor_of(tensorflow.version), how) for name, how in wanted.items()
    )


def _compares(state: State, name: str, minor: str | None, how: str) -> bool:
    found = state.find(name)
    own, other = parsed(minor_of(found.version) if found else None), parsed(minor)
    if own is None or other is None or own == other:
        return False
    if how == "much older":
        return own < other and (own.major < other.major or other.minor - own.minor >= 2)
    return how == "other" or (own > other) == (how == "newer")


def _partner(wanted: Mapping[str, Mapping[str, str]], state: State) -> bool:
    tensorflow = state.tensorflow
    for name, ranges in wanted.items():
        found = state.find(name)
        meant = ranges.get(minor_of(found.version) or "") if found else None
        if tensorflow is None or parsed(tensorflow.version) is None or meant is None:
            return False
        if _contains(meant, tensorflow.version):
            return False
    return True


def _python(wanted: str, state: State) -> bool:
    return _contains(wanted, state.installation.interpreter.version)


def _variables(wanted: Mapping[str, list[str]], state: State) -> bool:
    return all(state.variables.get(name) in values for name, values in wanted.items())


@lru_cache(maxsize=1024)
def _contains(specifier: str, version: str | None) -> bool:
    known = parsed(version)
    return known is not None and SpecifierSet(specifier).contains(known, prereleases=True)


_PARTS: dict[str, Callable[[Any, State], bool]] = {
    "has": _has,
    "lacks": _lacks,
    "minor": _minor,
    "partner": _partner,
    "python": _python,
    "variables": _variables,
    "system": lambda wanted, state: state.installation.interpreter.system in wanted,
    "architecture": lambda wanted, state: state.installation.interpreter.architecture in wanted,
    "any": lambda wanted, state: any(holds(each, state) for each in wanted),
    "unless": lambda wanted, state: not holds(wanted, state),
}
