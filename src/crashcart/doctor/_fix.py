"""The exact commands that carry out a change, in the words of the tool that installs into the environment.

Covers: pip, uv and conda; a line for a requirements file where nothing is installed yet.
Does not cover: which change is good (`_repair.py`), or running it.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping

from crashcart.doctor._change import Change
from crashcart.doctor._facts import TENSORFLOW_NAMES, parsed
from crashcart.doctor._releases import requires_of
from crashcart.doctor._requirements import demands_of, meets, requirement_name
from crashcart.installation import Distribution, Installation
from crashcart.redact import HIDDEN

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


def quoted(text: str, system: str = "Linux") -> str:
    """As the shell of the system wants it; cmd.exe knows double quotes only."""
    if system != "Windows":
        return shlex.quote(text)
    return f'"{text}"' if set(text) & set(" <>&|^()") else text


def without_entries(name: str, value: str, entries: Iterable[str], system: str = "Linux") -> Change | None:
    """Taking directories out of a variable that lists several; None where it does not list them."""
    separator = ";" if system == "Windows" else ":"
    listed = [each for each in value.split(separator) if each]
    unwanted = {each.rstrip("/\\") for each in entries}
    kept = [each for each in listed if each.rstrip("/\\") not in unwanted]
    if len(kept) == len(listed) or HIDDEN in value:
        return None
    return Change(assign=((name, separator.join(kept)),)) if kept else Change(unset=(name,))


def back_to_conda(installation: Installation, versions: Mapping[str, str]) -> str:
    """The commands that hand what pip wrote over back to conda, each in its version."""
    interpreter = installation.interpreter
    pins = " ".join(quoted(_for_conda(f"{name}=={version}")) for name, version in versions.items())
    prefix = quoted(interpreter.prefix or "", interpreter.system)
    return f"`{_uninstall(installation, versions)}`, then `conda install -p {prefix} --force-reinstall {pins}`"


def again(found: Distribution) -> Change | None:
    """Writing its files again; None where no index has what is there: a build of its own, or one from elsewhere."""
    version = parsed(found.version)
    by_conda = found.installer == "conda"  # its own builds come from a folder, and conda has them
    if version is None or (not by_conda and (version.local is not None or found.origin is not None)):
        return None
    return Change(again=((found.name, found.version or ""),))


def elsewhere(found: Distribution) -> str:
    """What to do where the files cannot be written again from an index."""
    called = f"{found.name} {found.version}" if found.version else found.name
    if found.origin is not None:
        return f"install it again from where it came: {called} is from {found.origin}"
    if parsed(found.version) is None:
        return f"install {called} again from where it came"
    return f"install it again from where it came (a container image, a vendor's wheels): no package index has {called}"


def _planned(plan: str, change: Change) -> Iterator[str]:
    wanted = [f"{name}=={version}" for name, version in change.versions().items()] + list(change.ask)
    if change.remove:
        yield f"in {plan}: remove {', '.join(change.remove)}"
    if wanted:
        yield f"in {plan}: {', '.join(wanted)}"
    yield from _settings(change, "Linux")


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
    yield from _settings(change, installation.interpreter.system)


def _settings(change: Change, system: str) -> Iterator[str]:
    windows = system == "Windows"
    yield from (f"set {name}=" if windows else f"unset {name}" for name in change.unset)
    for name, value in change.assign:
        yield f"set {name}={value}" if windows else f"export {name}={quoted(value)}"


def _alone(installation: Installation, change: Change) -> frozenset[str]:
    """What is installed without its requirements.

    An add-on that asks for `tensorflow` by name would bring a second TensorFlow beside tensorflow-cpu; and what another
    package of the same command refuses, pip would not install at all.
    """
    there = {each.name for each in installation.distributions if not each.shadowed} - {*change.remove}
    there |= change.versions().keys()
    brought = [_release(name, version) for name, version in change.install]
    versions = dict(change.install)
    found = set()
    for each in brought:
        for demand in demands_of(each, installation.interpreter):
            second = demand.name in TENSORFLOW_NAMES and demand.name not in there and there & {*TENSORFLOW_NAMES}
            if second and each.name not in TENSORFLOW_NAMES:
                found.add(each.name)
            if demand.name in versions and not meets(demand.requirement, versions[demand.name]):
                found.add(demand.name)
    return frozenset(found)


def _release(name: str, version: str) -> Distribution:
    return Distribution(name, version, requires=requires_of(name, version) or ())


def _install(installation: Installation, wanted: Iterable[str], *options: str) -> str:
    interpreter = installation.interpreter
    python = quoted(interpreter.executable or "python", interpreter.system)
    wanted = list(wanted)
    words = " ".join([*options, *(quoted(each, interpreter.system) for each in wanted)])
    if interpreter.tool == "uv":
        return f"uv pip install --python {python} {words.replace('--force-reinstall', '--reinstall')}"
    if interpreter.tool == "conda" and _all_by_conda(installation, wanted):
        conda = " ".join(
            [
                *(each for each in options if each != "--no-deps"),
                *(quoted(_for_conda(each), interpreter.system) for each in wanted),
            ]
        )
        return f"conda install -p {quoted(interpreter.prefix or '', interpreter.system)} {conda}"
    return f"{python} -m pip install {words}"


def _uninstall(installation: Installation, names: Iterable[str]) -> str:
    interpreter = installation.interpreter
    python = quoted(interpreter.executable or "python", interpreter.system)
    words = " ".join(names)
    if interpreter.tool == "uv":
        return f"uv pip uninstall --python {python} {words}"
    if interpreter.tool == "conda" and _all_by_conda(installation, names):
        return f"conda remove -p {quoted(interpreter.prefix or '', interpreter.system)} {words}"
    return f"{python} -m pip uninstall -y {words}"


def _delete(installation: Installation, paths: Iterable[str]) -> str:
    if installation.interpreter.system == "Windows":
        return " & ".join(f'rmdir /s /q "{each}"' for each in paths)
    return f"rm -rf {' '.join(map(quoted, paths))}"


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
