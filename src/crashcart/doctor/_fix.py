"""The exact commands that carry out a change, in the words of the tool that installs into the environment.

Covers: pip, uv and conda; a line for a requirements file where nothing is installed yet.
Does not cover: which change is good (`_repair.py`), or running it.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator

from crashcart.doctor._change import Change
from crashcart.doctor._facts import TENSORFLOW_NAMES
from crashcart.doctor._releases import requires_of
from crashcart.doctor._requirements import demands_of, meets, requirement_name
from crashcart.installation import Distribution, Installation

# Conda has its own names for a few distributions.
_CONDA_NAMES = {"ml-dtypes": "ml_dtypes", "typing-extensions": "typing_extensions", "flatbuffers": "python-flatbuffers"}


def install(installation: Installation, *wanted: str) -> str:
    """The command that brings the wanted requirements (`numpy==1.26.4`) into the environment, in backquotes."""
    if installation.plan is not None:
        return f"in {installation.plan}: {', '.join(wanted)}"
    return f"`{_install(installation, wanted)}`"


def uninstall(installation: Installation, *names: str) -> str:
    """The command that removes distributions, in backquotes."""
    if installation.plan is not None:
        return f"in {installation.plan}: remove {', '.join(names)}"
    return f"`{_uninstall(installation, names)}`"


def commands(installation: Installation, change: Change) -> tuple[str, ...]:
    """The commands of a change, in order. In a plan: what to write into its file."""
    if installation.plan is not None:
        return tuple(_planned(installation.plan, change))
    return tuple(_commands(installation, change))


def told(installation: Installation, change: Change) -> str:
    """A change as a remedy: its commands in backquotes, in order."""
    found = commands(installation, change)
    return ", then ".join(found) if installation.plan is not None else ", then ".join(f"`{each}`" for each in found)


def _planned(plan: str, change: Change) -> Iterator[str]:
    wanted = [f"{name}=={version}" for name, version in change.versions().items()] + list(change.ask)
    if change.remove:
        yield f"in {plan}: remove {', '.join(change.remove)}"
    if wanted:
        yield f"in {plan}: {', '.join(wanted)}"
    yield from (f"unset {name}" for name in change.unset)


def _commands(installation: Installation, change: Change) -> Iterator[str]:
    if change.remove:
        yield _uninstall(installation, change.remove)
    if change.delete:
        yield _delete(installation, change.delete)
    if change.again:
        yield _install(
            installation, [f"{name}=={version}" for name, version in change.again], "--force-reinstall", "--no-deps"
        )
    alone = _alone(installation, change)
    together = [f"{name}=={version}" for name, version in change.install if name not in alone] + list(change.ask)
    if together:
        yield _install(installation, together)
    if alone:
        yield _install(
            installation, [f"{name}=={version}" for name, version in change.install if name in alone], "--no-deps"
        )
    windows = installation.interpreter.system == "Windows"
    yield from (f"set {name}=" if windows else f"unset {name}" for name in change.unset)


def _alone(installation: Installation, change: Change) -> frozenset[str]:
    """What is installed without its requirements.

    An add-on that asks for `tensorflow` by name would bring a second TensorFlow beside tensorflow-cpu; and what another
    package of the same command refuses, pip would not install at all.
    """
    there = {each.name for each in installation.distributions if not each.shadowed} | change.versions().keys()
    brought = [_release(name, version) for name, version in change.install]
    versions = dict(change.install)
    found = set()
    for each in brought:
        for demand in demands_of(each, installation.interpreter):
            if demand.name in TENSORFLOW_NAMES and demand.name not in there and there & {*TENSORFLOW_NAMES}:
                found.add(each.name)
            if demand.name in versions and not meets(demand.requirement, versions[demand.name]):
                found.add(demand.name)
    return frozenset(found)


def _quoted(installation: Installation, text: str) -> str:
    """As the shell of the system wants it; cmd.exe knows double quotes only."""
    if installation.interpreter.system != "Windows":
        return shlex.quote(text)
    return f'"{text}"' if set(text) & set(" <>&|^()") else text


def _release(name: str, version: str) -> Distribution:
    return Distribution(name, version, requires=requires_of(name, version) or ())


def _install(installation: Installation, wanted: Iterable[str], *options: str) -> str:
    interpreter = installation.interpreter
    python = _quoted(installation, interpreter.executable or "python")
    wanted = list(wanted)
    words = " ".join([*options, *(_quoted(installation, each) for each in wanted)])
    if interpreter.tool == "uv":
        return f"uv pip install --python {python} {words.replace('--force-reinstall', '--reinstall')}"
    if interpreter.tool == "conda" and _all_by_conda(installation, wanted):
        conda = " ".join(
            [
                *(each for each in options if each != "--no-deps"),
                *(_quoted(installation, _for_conda(each)) for each in wanted),
            ]
        )
        return f"conda install -p {_quoted(installation, interpreter.prefix or '')} {conda}"
    return f"{python} -m pip install {words}"


def _uninstall(installation: Installation, names: Iterable[str]) -> str:
    interpreter = installation.interpreter
    python = _quoted(installation, interpreter.executable or "python")
    words = " ".join(names)
    if interpreter.tool == "uv":
        return f"uv pip uninstall --python {python} {words}"
    if interpreter.tool == "conda" and _all_by_conda(installation, names):
        return f"conda remove -p {_quoted(installation, interpreter.prefix or '')} {words}"
    return f"{python} -m pip uninstall -y {words}"


def _delete(installation: Installation, paths: Iterable[str]) -> str:
    if installation.interpreter.system == "Windows":
        return " & ".join(f'rmdir /s /q "{each}"' for each in paths)
    return f"rm -rf {' '.join(shlex.quote(each) for each in paths)}"


def _all_by_conda(installation: Installation, wanted: Iterable[str]) -> bool:
    """Conda does not see what pip installed; each tool changes what it brought."""
    for each in wanted:
        if "[" in each:
            return False  # extras are pip's
        found = installation.find(requirement_name(each))
        if found is not None and found.installer not in (None, "conda"):
            return False
    return True


def _for_conda(requirement: str) -> str:
    name = requirement_name(requirement)
    return _CONDA_NAMES.get(name, name) + requirement[len(name) :]
