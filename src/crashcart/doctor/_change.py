"""Changes of an environment, and the environment as it would be after them.

Covers: the state that package rules judge (what is installed, and the variables), a change of it (install, remove, delete,
unset), and carrying one out on a copy.
Does not cover: carrying one out for real (the user does), or the words for it (`_fix.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from crashcart.doctor._facts import TENSORFLOW_NAMES
from crashcart.doctor._releases import matching, requires_of
from crashcart.doctor._requirements import demands_of, requirement_name, requirement_specifier
from crashcart.evidence import Environment
from crashcart.installation import Distribution, Installation, Interpreter, Module


@dataclass(frozen=True, slots=True)
class State:
    """What package rules judge."""

    installation: Installation
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def tensorflow(self) -> Distribution | None:
        """The distribution that brings TensorFlow: of a shim and what it points to, both have the same version."""
        return self.installation.find(*TENSORFLOW_NAMES)

    def find(self, name: str) -> Distribution | None:
        """A distribution by its name, where `tensorflow` stands for all that bring it."""
        return self.tensorflow if name == "tensorflow" else self.installation.find(name)


def state_of(installation: Installation, environment: Environment | None) -> State:
    """The state in the evidence; without settings, none is taken to be made."""
    return State(installation, environment.variables if environment is not None else {})


@dataclass(frozen=True, slots=True)
class Change:
    """Something to do to an environment. Deleting comes after removing, and installing comes last."""

    install: tuple[tuple[str, str], ...] = ()
    """Names and exact versions."""
    remove: tuple[str, ...] = ()
    again: tuple[tuple[str, str], ...] = ()
    """Names and versions whose files are written again, whatever lies there."""
    delete: tuple[str, ...] = ()
    """Files and folders."""
    unset: tuple[str, ...] = ()
    """Variables of the environment."""
    assign: tuple[tuple[str, str], ...] = ()
    """Variables of the environment with new values."""
    ask: tuple[str, ...] = ()
    """Requirements for which the installer may choose the version."""

    def __bool__(self) -> bool:
        return any((self.install, self.remove, self.again, self.delete, self.unset, self.assign, self.ask))

    def __add__(self, other: Change) -> Change:
        """Both, where what the other one installs takes the place of what this one does."""
        install = dict(self.install) | dict(other.install)
        again = {name: version for name, version in (self.again + other.again) if name not in install}
        return Change(
            tuple(install.items()),
            _joined(self.remove, other.remove),
            tuple(again.items()),
            _joined(self.delete, other.delete),
            _joined(self.unset, other.unset),
            tuple((dict(self.assign) | dict(other.assign)).items()),
            _joined(self.ask, other.ask),
        )

    def versions(self) -> dict[str, str]:
        """All that it brings, by name."""
        return dict(self.again) | dict(self.install)


def changed(state: State, change: Change) -> State:
    """The state as it would be; the given one stays as it is."""
    installation = state.installation
    brought = change.versions()
    gone = set(change.remove) - brought.keys()
    modules = {name: _mended(module, gone, brought) for name, module in installation.modules.items()}
    return State(
        replace(installation, distributions=tuple(_distributions(installation, change, gone)), modules=modules),
        {name: value for name, value in state.variables.items() if name not in change.unset} | dict(change.assign),
    )


def _distributions(installation: Installation, change: Change, gone: set[str]) -> Iterator[Distribution]:
    """What is kept, what takes a new version, what comes anew, and what an installer brings along with it."""
    brought, seen = change.versions(), set[str]()
    for each in installation.distributions:
        if each.name in gone or _deleted(each, change):
            continue
        if each.name in brought and not each.shadowed:
            if each.name not in seen:
                yield _brought(each, brought[each.name])
        else:
            yield each
        seen.add(each.name)
    folder = next((each.folder for each in installation.distributions), "")
    fresh = [_brought(Distribution(name, None, folder), brought[name]) for name in brought if name not in seen]
    yield from fresh
    there = seen | brought.keys() | {*TENSORFLOW_NAMES}
    yield from _brought_along(installation.interpreter, change, there, folder)


def _brought_along(interpreter: Interpreter, change: Change, there: set[str], folder: str) -> Iterator[Distribution]:
    """What the installer chooses by itself: the newest that the new packages accept, whatever those that are there say.

    What these need in turn, it brings as well.
    """
    new = [_brought(Distribution(name, None, folder), version) for name, version in change.install]
    ranges = {demand.name: demand.requirement.specifier for each in new for demand in demands_of(each, interpreter)}
    ranges |= {requirement_name(each): requirement_specifier(each) for each in change.ask}
    for name, specifier in ranges.items():
        if name not in there:
            newest = next(iter(matching(name, str(specifier), interpreter)), None)
            yield Distribution(name, newest, folder, requires=())


def _deleted(distribution: Distribution, change: Change) -> bool:
    return bool(distribution.entry) and f"{distribution.folder}/{distribution.entry}" in change.delete


def _brought(distribution: Distribution, version: str) -> Distribution:
    """The distribution in that version; where it is another one than is there, what was said of the old wheel is gone."""
    if distribution.version == version and distribution.requires is not None:
        return replace(distribution, fault=None, pinned=True, shadowed=False)
    return replace(
        distribution,
        version=version,
        requires=requires_of(distribution.name, version) or (),
        installer=distribution.installer or "pip",
        fault=None,
        pinned=True,
        shadowed=False,
        origin=None,
        tags=(),
    )


def _mended(module: Module, gone: set[str], brought: Mapping[str, str]) -> Module:
    """What is written again is whole again; what two wrote and one was taken away from is not, until then."""
    writers = [each for each in brought if each == module.name or each in module.owners or _brings(each, module.name)]
    if not writers:
        return replace(module, owners=tuple(each for each in module.owners if each not in gone))
    owners = tuple(each for each in module.owners if each not in gone) or (writers[0],)
    return replace(module, file=module.file or "", owners=owners, missing_files=0, whole=owners, remnant=None)


def _brings(distribution: str, module: str) -> bool:
    return module == "tensorflow" and distribution in TENSORFLOW_NAMES


def _joined(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(first + second))
