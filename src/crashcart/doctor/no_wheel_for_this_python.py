"""D201: TensorFlow has no wheel for this Python."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.version import Version

from crashcart.doctor._builds import (
    all_pythons,
    change_release,
    new_environment,
    newest_release,
    official,
    tags_fit,
    tensorflow_of,
    tensorflow_pythons,
    wanted,
)
from crashcart.doctor._change import Change
from crashcart.doctor._facts import facts, minor_of
from crashcart.doctor._fix import told
from crashcart.finding import Cause, Confidence, Finding, Level
from crashcart.installation import Distribution, Installation
from crashcart.rule import Rank, rule


@rule("D201", "no-wheel-for-this-python", Rank.ROOT)
def no_wheel_for_this_python(installation: Installation) -> Iterator[Finding]:
    """TensorFlow has no wheel for this Python: it cannot be installed, or what lies there cannot be loaded.

    ## What it means

    TensorFlow is published as wheels alone, one for each Python version that a release supports, for 64-bit CPython.
    Where there is none, pip says "No matching distribution found" or "from versions: none". Python 3.13 needs
    TensorFlow 2.20 or later, 3.12 needs 2.16 or later; 3.9 ends at 2.20, 3.8 at 2.13.

    ## How we know

    The list of wheels of every release, and the version, implementation and word size that the interpreter says of
    itself; of an installed TensorFlow, the tags of its wheel come before the list. Where no TensorFlow is installed or
    planned it is a note: nothing fails of it yet. Builds that are not from the index (conda, NVIDIA, your own) are
    left alone; so are releases newer than the ones we know.

    ## What to do

    Make an environment with a Python that has wheels; the finding has the command. Or take the TensorFlow release
    that it names for the Python you have.
    """
    found = tensorflow_of(installation)
    unwanted = found is None and installation.plan is not None
    if unwanted or (found is not None and official(installation) is None):
        return
    misfit = _kind_of_python(installation)
    if misfit is not None:
        yield _finding(installation, found, *misfit)
    elif found is None:
        yield from _too_new_or_old(installation)
    elif tags_fit(installation, found) is False:
        yield _made_for_another(installation, found)
    elif found.tags:
        return  # a wheel for this Python lies there, whoever built it
    elif tensorflow_pythons(found.version) and installation.interpreter.minor not in tensorflow_pythons(found.version):
        yield _not_for_this_release(installation, found)


def _kind_of_python(installation: Installation) -> tuple[str, str] | None:
    interpreter = installation.interpreter
    if interpreter.bits == 32:
        return (
            "TensorFlow has no 32-bit wheels, and this Python is a 32-bit one",
            "the interpreter's pointers have 32 bits",
        )
    if interpreter.implementation != "cpython":
        return (
            f"TensorFlow has wheels for CPython alone, and this is {interpreter.implementation}",
            f"the interpreter says that it is {interpreter.implementation} {interpreter.version}",
        )
    return None


def _finding(installation: Installation, found: Distribution | None, headline: str, fact: str) -> Finding:
    newest = newest_release()
    python = tensorflow_pythons(newest)[-1]
    return Finding(
        Cause.LIBRARY_CONFLICT,
        headline,
        (fact, "no release has a wheel for it; there is no source distribution either"),
        (new_environment(installation, python, "tensorflow"), "with a 64-bit CPython from python.org, conda or uv"),
        Confidence.CERTAIN,
        level=Level.NOTE if found is None else Level.PROBLEM,
    )


def _too_new_or_old(installation: Installation) -> Iterator[Finding]:
    """Without TensorFlow, a note."""
    minor, known = installation.interpreter.minor, all_pythons()
    if minor in known:
        return
    newest = newest_release()
    newer = Version(minor) > Version(known[-1])
    python = tensorflow_pythons(newest)[-1] if newer else tensorflow_pythons(newest)[0]
    yield Finding(
        Cause.LIBRARY_CONFLICT,
        f"no TensorFlow release that we know has a wheel for Python {minor}",
        (
            f"releases up to {newest} have wheels for Python {known[0]} to {known[-1]}",
            "TensorFlow is not installed here, so nothing fails of it",
        ),
        (
            f"if you want TensorFlow: {new_environment(installation, python, 'tensorflow')}",
            *(("or look whether a later release has one: `pip index versions tensorflow`",) if newer else ()),
        ),
        Confidence.LIKELY if newer else Confidence.CERTAIN,
        level=Level.NOTE,
    )


def _not_for_this_release(installation: Installation, found: Distribution) -> Finding:
    minor, pythons = installation.interpreter.minor, tensorflow_pythons(found.version)
    exact = found.version in facts("tensorflow")["releases"]
    return Finding(
        Cause.LIBRARY_CONFLICT,
        f"{found.name} {found.version} has no wheel for Python {minor}",
        (
            f"{found.version if exact else minor_of(found.version)} has wheels for Python {', '.join(pythons)}",
            _where_it_is(installation, found, minor),
        ),
        tuple(_remedies(installation, found, pythons)),
        Confidence.CERTAIN if installation.plan is not None and found.pinned else Confidence.LIKELY,
    )


def _made_for_another(installation: Installation, found: Distribution) -> Finding:
    minor, pythons = installation.interpreter.minor, tensorflow_pythons(found.version)
    again = told(installation, Change(again=((found.name, found.version or ""),)))
    return Finding(
        Cause.LIBRARY_CONFLICT,
        f"the {found.name} {found.version} that lies here was not made for Python {minor}",
        (f"its wheel is for {', '.join(found.tags[:3])}", f"it lies in {found.folder or 'the path'}"),
        tuple(_remedies(installation, found, pythons)) if pythons and minor not in pythons else (again,),
        Confidence.CERTAIN,
    )


def _where_it_is(installation: Installation, found: Distribution, minor: str) -> str:
    if installation.plan is not None:
        return (
            f"{installation.plan} asks for it with Python {minor}: pip says that no version satisfies the requirement"
        )
    return f"it lies in {found.folder or 'the path'}; its compiled parts were not made for Python {minor}"


def _remedies(installation: Installation, found: Distribution, pythons: tuple[str, ...]) -> Iterator[str]:
    release = newest_release(installation.interpreter.minor)
    if release is not None:
        yield change_release(installation, found.name, release)
    if found.version:
        command = new_environment(installation, pythons[-1], *wanted(found.name, found.version))
        yield f"{'or ' if release is not None else ''}keep the release, with another Python: {command}"
