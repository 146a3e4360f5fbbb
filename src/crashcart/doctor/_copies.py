"""Several copies of one distribution, and metadata that cannot be read.

Covers: two entries in one directory after a broken upgrade, a copy of PYTHONPATH or of the user's own directory before the
environment's, pip over conda, entries that cannot be read. Does not cover: several distributions of one module (`_files.py`).
"""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.doctor._change import Change, State
from crashcart.doctor._facts import TENSORFLOW_NAMES
from crashcart.doctor._fix import commands
from crashcart.doctor._requirements import demands_of
from crashcart.doctor._trouble import Trouble
from crashcart.finding import Confidence, Level
from crashcart.installation import Distribution, Installation
from crashcart.units import plural

_MOST_NAMED = 8


def copy_troubles(state: State) -> Iterator[Trouble]:
    """Those that a change can cure."""
    yield from twice(state)
    yield from unreadable(state)


def stack(installation: Installation) -> frozenset[str]:
    """TensorFlow, what it asks for, and what that asks for."""
    there = {each.name: each for each in reversed(installation.distributions) if not each.shadowed}
    names = [name for name in TENSORFLOW_NAMES if name in there]
    for name in names:  # grows while it is walked
        if name in there:
            asked = [each.name for each in demands_of(there[name], installation.interpreter)]
            names.extend(each for each in dict.fromkeys(asked) if each not in names)
    return frozenset(names)


def twice(state: State) -> Iterator[Trouble]:
    """Two entries of one name in one directory."""
    groups: dict[tuple[str, str], list[Distribution]] = {}
    for each in state.installation.distributions:
        groups.setdefault((each.folder, each.name), []).append(each)
    for (folder, name), entries in groups.items():
        if len(entries) < 2 or not folder:
            continue
        first, *stale = entries
        versions = ", ".join(dict.fromkeys(each.version or "?" for each in entries))
        concerned = name in stack(state.installation)
        yield Trouble(
            key=f"twice:{name}",
            headline=f"{name} is listed as installed more than once in one directory: {versions}",
            because=(
                f"in {folder}: {', '.join(each.entry for each in entries)}",
                "an upgrade that broke off leaves this; tools may read the version of the one and import the files of the other",
            ),
            level=Level.RISK if concerned else Level.NOTE,
            confidence=Confidence.CERTAIN,
            cures=(
                Change(
                    delete=tuple(f"{each.folder}/{each.entry}" for each in stale), again=((name, first.version or ""),)
                ),
            ),
            about=frozenset({name}),
        )


def left_behind(state: State) -> Iterator[Trouble]:
    """What pip renamed before it wrote the new files, and did not come to delete."""
    found = state.installation.leftovers
    if found:
        yield Trouble(
            key="left-behind",
            headline=f"an interrupted pip left {plural(len(found), 'entry', 'entries')} behind",
            because=(*found[:_MOST_NAMED], "pip warns of an invalid distribution; nothing else comes of it"),
            level=Level.NOTE,
            confidence=Confidence.CERTAIN,
            cures=(Change(delete=found),),
        )


def hidden(state: State) -> Iterator[Trouble]:
    """A copy outside of the environment comes before the environment's own, with another version."""
    installation = state.installation
    prefix = installation.interpreter.prefix
    pairs = [
        (first, each)
        for each in installation.distributions
        if each.shadowed and (first := installation.find(each.name)) is not None and first.version != each.version
        if prefix and each.folder.startswith(prefix) and not first.folder.startswith(prefix)
    ]
    concerned = [pair for pair in pairs if pair[0].name in stack(installation)]
    shown = concerned or pairs
    if not shown:
        return
    folder = shown[0][0].folder
    of_the_user = folder == installation.interpreter.user_site
    what = "the user's own directory" if of_the_user else "a directory of PYTHONPATH"
    names = ", ".join(first.name for first, _ in shown[:_MOST_NAMED])
    yield Trouble(
        key=f"hidden:{folder}",
        headline=f"{what} hides what is installed in this environment: {names}",
        because=tuple(
            f"{first.name} {first.version} in {first.folder} comes before {each.version} in {each.folder}"
            for first, each in shown[:_MOST_NAMED]
        ),
        level=Level.RISK if concerned and not of_the_user else Level.NOTE,
        confidence=Confidence.CERTAIN,
        cures=() if of_the_user else (Change(unset=("PYTHONPATH",)),) if "PYTHONPATH" in state.variables else (),
        advice=("start Python with PYTHONNOUSERSITE=1 to leave the user's own directory out",)
        if of_the_user
        else ("start the program without that directory in PYTHONPATH",),
        about=frozenset(first.name for first, _ in shown),
    )


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
        advice=(
            _back_to_conda(installation, [each.name for each, _ in shown]),
            "or keep it, and from now on change these packages with pip alone",
        ),
        about=frozenset(each.name for each, _ in shown),
    )


def _back_to_conda(installation: Installation, names: list[str]) -> str:
    first = "; ".join(commands(installation, Change(remove=tuple(names))))
    again = " ".join(names)
    return f"`{first}`, then `conda install -p {installation.interpreter.prefix} --force-reinstall {again}`"


def unreadable(state: State) -> Iterator[Trouble]:
    """Entries whose metadata is broken, and directories that cannot be read."""
    installation = state.installation
    broken = [each for each in installation.distributions if each.fault is not None and not each.shadowed]
    concerned = stack(installation)
    for each in broken:
        grave = each.name in concerned or each.name in TENSORFLOW_NAMES
        yield Trouble(
            key=f"broken:{each.name}",
            headline=f"the metadata of {each.name} {each.version} cannot be read: what it needs is not known",
            because=(
                f"{each.folder}/{each.entry}: {each.fault}",
                "pip, too, may stop at it, whatever it is asked to do",
            ),
            level=Level.RISK if grave else Level.NOTE,
            confidence=Confidence.CERTAIN,
            cures=(Change(delete=(f"{each.folder}/{each.entry}",), again=((each.name, each.version or ""),)),),
            about=frozenset({each.name}),
        )
    for said in installation.unreadable:
        folder = said.rpartition(": ")[0]
        yield Trouble(
            key=f"unreadable:{folder}",
            headline=f"{folder} is on Python's path and cannot be read",
            because=(said, "what is installed there was not looked at, and cannot be imported by this user either"),
            level=Level.RISK,
            confidence=Confidence.CERTAIN,
            advice=(f"as its owner: `chmod -R a+rX {folder}`, or take it off the path (PYTHONPATH, .pth files)",),
        )
