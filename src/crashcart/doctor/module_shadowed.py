"""D109: a file or folder stands where Python looks first, and hides an installed or standard module."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath

from crashcart.doctor._facts import TENSORFLOW_NAMES
from crashcart.finding import Cause, Confidence, Finding, Level
from crashcart.installation import HERE, Installation, Module, Shadow
from crashcart.rule import Rank, rule

_MOST_NAMED = 6


@rule("D109", "module-shadowed", Rank.KIND)
def module_shadowed(installation: Installation) -> Iterator[Finding]:
    """A file of yours has the name of a module that TensorFlow needs, and Python finds it first.

    ## What it means

    Python looks in the directory of the started program (in a notebook or with `-m`: the current directory) and in PYTHONPATH
    before the installed packages and the standard library. A `tensorflow.py`, `keras.py` or `random.py` there is imported
    instead. An empty folder that remains of an uninstalled package is imported as a module without content.

    ## How we know

    The file lies in the current directory, or in a directory of PYTHONPATH, and the module that it hides was found behind
    it. A folder without `__init__.py` hides nothing, and is only reported where there is no other module of its name. Whether
    your program starts there is not known, so that the finding is *likely*.

    ## What to do

    Rename the file (of a package: its folder), and delete the `__pycache__` beside it. A source checkout that is on PYTHONPATH on
    purpose can stay: for a whole package there the finding is a risk only.
    """
    installed = [each for each in installation.shadows if each.hidden is not None]
    yield from (_hides_installed(each) for each in installed)
    standard = [each for each in installation.shadows if each.hidden is None]
    if standard:
        yield _hides_standard(standard)
    for module in installation.modules.values():
        if module.remnant is not None and not module.owners and not _listed(installation, module):
            yield _remnant(module)


def _hides_installed(shadow: Shadow) -> Finding:
    """A whole package on PYTHONPATH may be a source checkout that is meant to come first."""
    meant = _is_package(shadow) and shadow.place != HERE
    aside = f"rename {_thing(shadow)}{'' if _is_package(shadow) else ', and delete the __pycache__ beside it'}"
    return Finding(
        Cause.LIBRARY_CONFLICT,
        f"{_thing(shadow)} hides the installed {shadow.name}",
        (
            f"it lies in {shadow.place}, which Python searches first",
            f"a program that starts there imports it instead of {shadow.hidden}"
            if not meant
            else f"programs import it instead of {shadow.hidden}",
        ),
        (f"nothing, if that is meant; otherwise take its directory out of PYTHONPATH, or {aside}" if meant else aside,),
        Confidence.LIKELY,
        level=Level.RISK if meant else Level.PROBLEM,
    )


def _is_package(shadow: Shadow) -> bool:
    return PurePath(shadow.file).name == "__init__.py"


def _thing(shadow: Shadow) -> str:
    """What to rename: of a package, its folder."""
    return str(PurePath(shadow.file).parent) if _is_package(shadow) else shadow.file


def _hides_standard(shadows: list[Shadow]) -> Finding:
    first = shadows[0]
    names = ", ".join(each.name for each in shadows[:_MOST_NAMED])
    more = f" and {len(shadows) - _MOST_NAMED} more" if len(shadows) > _MOST_NAMED else ""
    one = f"{_thing(first)} hides Python's own module {first.name}"
    many = f"files in {first.place} hide modules of Python itself: {names}{more}"
    return Finding(
        Cause.LIBRARY_CONFLICT,
        one if len(shadows) == 1 else many,
        (
            *(_thing(each) for each in shadows[:_MOST_NAMED] if len(shadows) > 1),
            f"it lies in {first.place}, which Python searches first"
            if len(shadows) == 1
            else "Python searches that directory first",
            "TensorFlow uses what is hidden: in a program that starts there, its import may fail or go wrong",
        ),
        (f"rename {_thing(first) if len(shadows) == 1 else 'them'}, and delete the __pycache__ beside",),
        Confidence.LIKELY,
        level=Level.RISK,
    )


def _listed(installation: Installation, module: Module) -> bool:
    """Then the files of a distribution are missing, which is another rule's."""
    names = TENSORFLOW_NAMES if module.name == "tensorflow" else (module.name, f"{module.name}-nightly")
    return installation.find(*names) is not None


def _remnant(module: Module) -> Finding:
    return Finding(
        Cause.LIBRARY_CONFLICT,
        f"{module.name} is not installed, but a folder of that name makes `import {module.name}` give an empty module",
        (f"{module.remnant} has no __init__.py, and no distribution owns it",),
        (f"delete {module.remnant}; then install {module.name}, if it is to be there",),
        Confidence.CERTAIN,
        level=Level.NOTE,
    )
