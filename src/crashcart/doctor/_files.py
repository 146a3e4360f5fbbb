"""Whose files the modules really are: several distributions of one module, distributions without files, files that are gone.

Covers: what the RECORDs say and what lies there (`probe/modules.py`); in a plan, the names alone.
Does not cover: several copies of one distribution (`_copies.py`), modules that stand in the way (`module_shadowed.py`).
"""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.doctor._change import Change, State
from crashcart.doctor._facts import TENSORFLOW_NAMES, parsed
from crashcart.doctor._fix import again, elsewhere, uninstall
from crashcart.doctor._releases import matching, releases
from crashcart.doctor._requirements import demands_of
from crashcart.doctor._trouble import Trouble
from crashcart.finding import Confidence, Level
from crashcart.installation import Distribution, Module
from crashcart.units import plural

PARTNERS = ("tensorflow-intel", "tensorflow-macos", "tensorflow-cpu-aws")
"""What the wheels of `tensorflow` point to on some platforms, where they are empty themselves."""
_STUBS = {"tensorflow-gpu": "2.12.0"}
"""From this release on the distribution is empty, and made to fail."""
# A slimmed image may lack a file or two that nothing imports; an uninstallation takes hundreds.
_CLEARLY_GONE_FRACTION = 0.02


def file_troubles(state: State) -> Iterator[Trouble]:
    """All of them."""
    yield from stubs(state)
    yield from several(state)
    yield from files_missing(state)


def carriers(state: State) -> tuple[Distribution, ...]:
    """The distributions that wrote (or would write) the folder tensorflow."""
    there = [each for each in state.installation.distributions if each.name in TENSORFLOW_NAMES and not each.shadowed]
    there = list({each.name: each for each in reversed(there)}.values())[::-1]
    module = state.installation.modules.get("tensorflow")
    if module is not None and module.owners:
        return tuple(each for each in there if each.name in module.owners)
    partners = {each.version for each in there if each.name in PARTNERS}
    shims = [each for each in there if each.name == "tensorflow" and each.version in partners]
    return tuple(each for each in there if each not in shims and not _is_stub(each))


def several(state: State) -> Iterator[Trouble]:
    """More than one distribution wrote the folder tensorflow."""
    found = carriers(state)
    if len(found) < 2:
        return
    kept = _kept(state, found)
    others = tuple(each.name for each in found if each is not kept)
    same = len({each.version for each in found}) == 1
    called = " and ".join(f"{each.name} {each.version}" for each in found)
    planned = state.installation.plan is not None
    anew = Change() if planned else again(kept)
    yield Trouble(
        key="several-tensorflows",
        headline=f"{called} {'would write' if planned else 'wrote'} the same folder tensorflow"
        + ("" if same else ": it is a mixture of two releases"),
        because=tuple(_several_facts(state, found, same)),
        level=Level.RISK if same else Level.PROBLEM,
        confidence=Confidence.CERTAIN if same else Confidence.LIKELY,
        cures=() if anew is None else (Change(remove=others) + anew,),
        advice=()
        if anew is not None
        else (f"{uninstall(state.installation, *others)}; that takes files of both", elsewhere(kept)),
        about=frozenset(TENSORFLOW_NAMES),
    )


def _several_facts(state: State, found: tuple[Distribution, ...], same: bool) -> Iterator[str]:
    module = state.installation.modules.get("tensorflow")
    if module is not None and module.owners:
        yield f"each lists {module.file or 'tensorflow/__init__.py'} as its own"
        if len(module.whole) == 1:
            yield f"the files that lie there are those of {module.whole[0]}, which was installed last"
        elif not module.whole:
            yield "the files that lie there are of neither one alone"
    yield (
        "it works until one of them is uninstalled or upgraded: that deletes files of the other one"
        if same
        else "the one that was installed last wins, but the requirements of both are counted, and files of the other remain"
    )
    askers = [each.name for each in state.installation.distributions if _asks_for_tensorflow(state, each)]
    if askers and "tensorflow" in {each.name for each in found}:
        named = ", ".join(sorted(askers)[:3])
        yield f"tensorflow may have come along with {named}: {'they ask' if len(askers) > 1 else 'it asks'} for that very name"


def _asks_for_tensorflow(state: State, distribution: Distribution) -> bool:
    if distribution.name in TENSORFLOW_NAMES:
        return False
    return any(each.name == "tensorflow" for each in demands_of(distribution, state.installation.interpreter))


def _kept(state: State, found: tuple[Distribution, ...]) -> Distribution:
    """With NVIDIA's libraries installed, the one that can use them; else the one whose files lie there; else the newest.

    In a plan, one that its file does not name cannot be taken out of it.
    """
    brought = next((each for each in found if not each.pinned), None)
    if brought is not None:
        return brought
    names = {each.name for each in state.installation.distributions}
    if any(name.startswith("nvidia-cudnn") for name in names):
        plain = next((each for each in found if each.name == "tensorflow"), None)
        if plain is not None:
            return plain
    module = state.installation.modules.get("tensorflow")
    whole = [each for each in found if module is not None and each.name in module.whole]
    if len(whole) == 1:
        return whole[0]
    newest = max(
        (parsed(each.version) for each in found), key=lambda version: (version is not None, version), default=None
    )
    return next((each for each in found if parsed(each.version) == newest), found[0])


def _is_stub(distribution: Distribution) -> bool:
    limit, version = parsed(_STUBS.get(distribution.name)), parsed(distribution.version)
    return limit is not None and version is not None and version >= limit


def stubs(state: State) -> Iterator[Trouble]:
    """A distribution of TensorFlow that brings none."""
    found = [each for each in state.installation.distributions if each.name in TENSORFLOW_NAMES and not each.shadowed]
    empty = [each for each in found if _is_stub(each)]
    others = [each for each in found if each not in empty]
    for each in empty:
        yield Trouble(
            key=f"stub:{each.name}",
            headline=f"{each.name} {each.version} is an empty package that was made to fail: it brings no TensorFlow",
            because=("tensorflow-gpu was given up with 2.12; the package tensorflow has the GPU in it",),
            level=Level.PROBLEM,
            confidence=Confidence.CERTAIN,
            cures=_instead(state, each, bool(others)),
            about=frozenset({each.name}),
        )
    module = state.installation.modules.get("tensorflow")
    if module is not None and module.file is None and not module.owners and others and module.remnant is None:
        yield _no_module(state, others[0])


def _instead(state: State, stub: Distribution, others: bool) -> tuple[Change, ...]:
    if others:
        return (Change(remove=(stub.name,)),)
    interpreter = state.installation.interpreter
    wanted = matching("tensorflow", "==2.12.*", interpreter) or releases("tensorflow", interpreter)
    return tuple(Change(remove=(stub.name,), install=(("tensorflow", each),)) for each in wanted[:3])


def _no_module(state: State, found: Distribution) -> Trouble:
    partner = next((name for name in PARTNERS for each in found.requires or () if each.startswith(name)), None)
    version, anew = found.version or "", again(found)
    return Trouble(
        key="no-module",
        headline=f"{found.name} {version} is installed, but there is no module tensorflow",
        because=(
            f"its metadata is in {found.folder}; no directory of the path has tensorflow/__init__.py",
            *([f"on this platform it only points to {partner}"] if partner else []),
        ),
        level=Level.PROBLEM,
        confidence=Confidence.CERTAIN,
        cures=(Change(install=((partner, version),)),) if partner else () if anew is None else (anew,),
        advice=() if partner or anew is not None else (elsewhere(found),),
        about=frozenset({found.name}),
    )


def files_missing(state: State) -> Iterator[Trouble]:
    """A distribution is listed as installed, and its files are not there."""
    for name, module in state.installation.modules.items():
        owner = _owner(state, name, module)
        if owner is None:
            continue
        gone = module.file is None
        if gone or module.missing_files:
            yield _missing_files(state, module, owner)


def _owner(state: State, name: str, module: Module) -> Distribution | None:
    names = TENSORFLOW_NAMES if name == "tensorflow" else (name,)
    owned = state.installation.find(*module.owners) if module.owners else None
    return owned if owned is not None else (state.installation.find(*names) if module.remnant else None)


def _missing_files(state: State, module: Module, owner: Distribution) -> Trouble:
    gone = module.file is None
    share = module.missing_files / module.looked_for if module.looked_for else 0.0
    grave = gone or share >= _CLEARLY_GONE_FRACTION
    found = carriers(state) if module.name == "tensorflow" else ()
    both = next(several(state), None) if len(found) > 1 else None
    anew = again(owner)
    what = "there is no module" if gone else f"files of the module {module.name} are gone"
    return Trouble(
        key=f"files:{module.name}",
        headline=f"{owner.name} {owner.version} is listed as installed, but "
        + (f"{what} {module.name}" if gone else what),
        because=tuple(_missing_facts(module, gone)),
        level=Level.PROBLEM if grave else Level.RISK,
        confidence=Confidence.CERTAIN if gone else Confidence.LIKELY,
        cures=both.cures if both is not None else () if anew is None else (anew,),
        advice=both.advice if both is not None else () if anew is not None else (elsewhere(owner),),
        about=frozenset({owner.name}),
    )


def _missing_facts(module: Module, gone: bool) -> Iterator[str]:
    if module.remnant is not None:
        yield f"{module.remnant} is a folder without __init__.py: `import {module.name}` gives an empty module"
    elif gone:
        yield "its RECORD lists files that are not there"
    if module.missing_files:
        yield f"of {plural(module.looked_for, 'recorded file')} that were looked for, {module.missing_files:,} are missing"
    yield "uninstalling one of two distributions that share a folder deletes the files of both"
