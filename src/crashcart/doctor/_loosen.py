"""Which single change of a plan lets it be installed, and work.

Covers: trying other versions for each requirement that takes part in a conflict, the nearest first; a change is named only
where the whole plan then resolves and nothing in it was measured to fail.
Does not cover: changing two requirements at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from crashcart.doctor._facts import TENSORFLOW_NAMES, minor_of, parsed
from crashcart.doctor._index import releases
from crashcart.doctor._measured import measured
from crashcart.doctor._resolver import DeadEnd, Search
from crashcart.installation import Interpreter, Loosening, Wanted


def changes(end: DeadEnd, interpreter: Interpreter, wanted: Sequence[Wanted]) -> Iterator[Loosening]:
    """For each requirement that takes part, the nearest version with which the plan can be installed."""
    askers = {each.by for each in end.asks}
    first = [each for each in wanted if each.name == end.package]
    then = [each for each in wanted if each.name in askers and each.name != end.package]
    for each in dict.fromkeys((*first, *then)):
        version = _nearest(each, interpreter, wanted) if each.specifier else None
        if version is not None:
            yield Loosening(each.place, each.text, _rewritten(each, version))
        elif each.name == "tensorflow-gpu":
            yield from _successor(each, interpreter, wanted)


def _successor(old: Wanted, interpreter: Interpreter, wanted: Sequence[Wanted]) -> Iterator[Loosening]:
    """What tensorflow-gpu was is in tensorflow, whose extra brings the CUDA libraries from 2.14 on."""
    new = replace(old, name="tensorflow")
    version = _nearest(new, interpreter, [new if each == old else each for each in wanted])
    if version is not None:
        extras = ("and-cuda",) if Version(version) >= Version("2.14") and interpreter.system == "Linux" else ()
        yield Loosening(old.place, old.text, _rewritten(replace(new, extras=extras), version))


def _nearest(changed: Wanted, interpreter: Interpreter, wanted: Sequence[Wanted]) -> str | None:
    for specifier in _nearby(changed):
        others = [replace(each, specifier=specifier) if each == changed else each for each in wanted]
        found = Search(interpreter, others).run()
        if found is not None and found.get(changed.name) is not None and _sound(found):
            return found[changed.name]
    return None


def _nearby(wanted: Wanted) -> Iterator[str]:
    """The same series, then, of TensorFlow, the next later ones (the program was written for what is asked), then any."""
    fixed = [each.version for each in SpecifierSet(wanted.specifier) if each.operator in ("==", "===", "~=", "<=", "<")]
    asked = parsed(fixed[0].removesuffix(".*")) if fixed else None
    if asked is not None:
        yield f"=={asked.major}.{asked.minor}.*"
    if asked is not None and asked.major < 2 and wanted.name in TENSORFLOW_NAMES:
        return  # a program for TensorFlow 1 does not run with 2
    if asked is not None and wanted.name in TENSORFLOW_NAMES:
        later = (str(each) for each in reversed(releases(wanted.name)) if each > asked)
        yield from dict.fromkeys(f"=={minor_of(each)}.*" for each in later)
    yield ""


def _sound(found: dict[str, str | None]) -> bool:
    """Whether nothing that pip would put beside TensorFlow was measured to fail with it."""
    tensorflow = next((found[name] for name in TENSORFLOW_NAMES if found.get(name)), None)
    outcomes = (measured(tensorflow, package, found.get(package)) for package in ("numpy", "protobuf"))
    return all(each is None or each.works for each in outcomes)


def _rewritten(wanted: Wanted, version: str) -> str:
    """The requirement with another version, as its file would write it."""
    extras = f"[{','.join(wanted.extras)}]" if wanted.extras else ""
    marker = f"; {wanted.marker}" if wanted.marker else ""
    if wanted.by == "poetry":
        return f'{wanted.name} = "{version}"'
    return f"{wanted.name}{extras}=={version}{marker}"
