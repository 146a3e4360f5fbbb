"""D701: the plan asks for what no installer can bring."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.doctor._facts import TENSORFLOW_NAMES
from crashcart.finding import Cause, Confidence, Finding, Level
from crashcart.installation import Conflict, Installation
from crashcart.rule import Rank, rule


@rule("D701", "plan-cannot-be-installed", Rank.ROOT)
def plan_cannot_be_installed(installation: Installation) -> Iterator[Finding]:
    """A requirements file asks for releases that do not exist together, or not for this Python.

    ## What it means

    Each TensorFlow release has wheels for a few Pythons only (2.15: 3.9 to 3.11), no source package, and declares ranges
    for what it stands on (2.15.0: NumPy below 2). A file that asks for more than one of these allows at once makes the
    installer stop, often after minutes of trying. A package of which there is only source for this Python must be compiled,
    which takes a compiler and often fails: that is a risk, not a certain failure.

    ## How we know

    The releases, their wheels for Linux on x86-64 and what they declare are known to crashcart (`docs/doctor.md` says from
    where, and how they are renewed). The newest release that everything allows is sought for each package, as pip does.
    A change is named only where the whole plan resolves with it.

    ## What to do

    Make one of the changes that the finding names, or use a Python that the release has wheels for.
    """
    for each in installation.conflicts:
        yield Finding(
            Cause.LIBRARY_CONFLICT,
            _headline(installation, each),
            tuple(_facts(installation, each)),
            tuple(_remedies(installation, each)),
            _confidence(installation, each),
            level=Level.RISK if each.builds else Level.PROBLEM,
        )


def _headline(installation: Installation, conflict: Conflict) -> str:
    plan, python = installation.plan, installation.interpreter.minor
    if conflict.kind == "missing-file":
        what = (
            "a file that it includes" if len(conflict.asked) == 1 else f"{len(conflict.asked)} files that it includes"
        )
        return f"{plan} cannot be installed: {what} cannot be read"
    if conflict.kind == "includes-itself":
        return f"{plan} cannot be installed: a file includes itself"
    if conflict.builds:
        return f"{plan}: {conflict.package} has no wheel for Python {python}, so it must be compiled"
    if conflict.kind == "no-wheel":
        return f"{plan} cannot be installed: {conflict.package} has no wheel for Python {python}"
    if conflict.kind == "refuses":
        return f"{plan} cannot be installed: {conflict.package} is only a shell now, which stops with an error"
    if conflict.kind == "no-release":
        return f"{plan} cannot be installed: there is no such release of {conflict.package}"
    return f"{plan} cannot be installed: no {conflict.package} fits all that is asked for"


def _facts(installation: Installation, conflict: Conflict) -> Iterator[str]:
    yield from conflict.asked
    if conflict.kind == "no-wheel":
        yield f"its wheels are for Python {_pythons(conflict)}; the plan is for {installation.interpreter.version}"


def _pythons(conflict: Conflict) -> str:
    known = conflict.pythons
    return f"{known[0]} to {known[-1]}" if len(known) > 2 else " and ".join(known)


def _remedies(installation: Installation, conflict: Conflict) -> Iterator[str]:
    for each in conflict.changes:
        yield f"in {each.place}, instead of {each.old}: {each.new}"
    if conflict.kind == "no-wheel" and conflict.pythons:
        yield f"or use Python {conflict.pythons[-1]}" if conflict.changes else f"use Python {conflict.pythons[-1]}"
    if conflict.kind == "missing-file":
        yield "put the file there, or remove the line"
    elif conflict.kind == "includes-itself":
        yield "remove the line"
    elif not conflict.changes and conflict.kind != "no-wheel":
        yield f"loosen one of these ranges in {installation.plan}; no single change was found that is enough"


def _confidence(installation: Installation, conflict: Conflict) -> Confidence:
    """Certain where nothing newer than we know could help: a TensorFlow that is there, or a file that is not."""
    if conflict.kind in ("missing-file", "includes-itself"):
        return Confidence.CERTAIN
    interpreter = installation.interpreter
    here = interpreter.system == "Linux" and interpreter.architecture == "x86_64"
    fixed = installation.find(*TENSORFLOW_NAMES)
    sure = conflict.package in TENSORFLOW_NAMES and conflict.kind in ("no-wheel", "refuses")
    sure = sure or (conflict.kind == "ranges" and fixed is not None and fixed.pinned)
    return Confidence.CERTAIN if here and sure else Confidence.LIKELY
