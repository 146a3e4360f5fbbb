"""Several copies of one distribution, and metadata that cannot be read.

Covers: two entries in one directory after a broken upgrade, a copy of PYTHONPATH or of the user's own directory before the
environment's, entries that cannot be read. Does not cover: pip over conda (`_conda.py`), several distributions of one module
(`_files.py`).
"""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.doctor._change import Change, State
from crashcart.doctor._facts import TENSORFLOW_NAMES
from crashcart.doctor._fix import again, elsewhere, quoted, without_entries
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
        if each.folder and each.entry:
            groups.setdefault((each.folder, each.name), []).append(each)
    for (_, name), entries in groups.items():
        if len(entries) > 1:
            yield _twice(entries, name in stack(state.installation))


def _twice(entries: list[Distribution], concerned: bool) -> Trouble:
    """Kept is what can be read; of a `dist-info` and an older tool's entry, the first: pip cannot uninstall the other."""
    kept = max(entries, key=lambda each: (each.fault is None, each.entry.endswith(".dist-info")))
    versions = list(dict.fromkeys(each.version or "?" for each in entries))
    same = len(versions) == 1
    anew = None if same else again(kept)
    stale = Change(delete=tuple(f"{each.folder}/{each.entry}" for each in entries if each is not kept))
    said = (
        "an upgrade that broke off leaves this; tools may read the version of the one and import the files of the other"
    )
    return Trouble(
        key=f"twice:{kept.name}",
        headline=f"{kept.name} is listed as installed more than once in one directory: {', '.join(versions)}",
        because=(
            f"in {kept.folder}: {', '.join(each.entry for each in entries)}",
            "it is the same version: nothing fails of it, but pip's next upgrade may stop at it" if same else said,
        ),
        level=Level.RISK if concerned and not same else Level.NOTE,
        confidence=Confidence.CERTAIN,
        cures=(stale if anew is None else stale + anew,),
        advice=() if same or anew is not None else (elsewhere(kept),),
        about=frozenset({kept.name}),
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
    named = ", ".join(first.name for first, _ in shown[:_MOST_NAMED])
    given = state.variables.get("PYTHONPATH", "")
    shorter = without_entries("PYTHONPATH", given, [folder], installation.interpreter.system)
    yield Trouble(
        key=f"hidden:{folder}",
        headline=f"{what} hides what is installed in this environment: {named}",
        because=tuple(
            f"{first.name} {first.version} in {first.folder} comes before {each.version} in {each.folder}"
            for first, each in shown[:_MOST_NAMED]
        ),
        level=Level.RISK if concerned and not of_the_user else Level.NOTE,
        confidence=Confidence.CERTAIN,
        cures=() if of_the_user or shorter is None else (shorter,),
        advice=("start Python with PYTHONNOUSERSITE=1 to leave the user's own directory out",)
        if of_the_user
        else ("start the program without that directory in PYTHONPATH",),
        about=frozenset(first.name for first, _ in shown),
    )


def unreadable(state: State) -> Iterator[Trouble]:
    """Entries whose metadata is broken, and directories that cannot be read."""
    installation = state.installation
    whole = {
        (each.folder, each.name) for each in installation.distributions if each.fault is None
    }  # `twice` tells of them
    broken = [
        each
        for each in installation.distributions
        if each.fault is not None and not each.shadowed and (each.folder, each.name) not in whole
    ]
    concerned = stack(installation)
    for each in broken:
        anew = again(each)
        grave = each.name in concerned or each.name in TENSORFLOW_NAMES
        yield Trouble(
            key=f"broken:{each.name}",
            headline=f"the metadata of {_called(each)} cannot be read: what it needs is not known",
            because=(
                f"{each.folder}/{each.entry}: {each.fault}",
                "pip, too, may stop at it, whatever it is asked to do",
            ),
            level=Level.RISK if grave else Level.NOTE,
            confidence=Confidence.CERTAIN,
            cures=() if anew is None else (Change(delete=(f"{each.folder}/{each.entry}",)) + anew,),
            advice=() if anew is not None else (elsewhere(each),),
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
            advice=(
                f"as its owner: `chmod -R a+rX {quoted(folder)}`, or take it off the path (PYTHONPATH, .pth files)",
            ),
        )


def _called(distribution: Distribution) -> str:
    return f"{distribution.name} {distribution.version}" if distribution.version else distribution.name
