"""TensorFlow's releases by what they run on: which Python, which C library, which system.

Covers: choosing a release, or a Python, that fits. Does not cover: what is installed, and conda's own builds, for which
the facts do not hold.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from packaging.version import Version

from crashcart.doctor._facts import RELEASED_NAMES, TENSORFLOW_NAMES, facts, minor_of, parsed
from crashcart.doctor._fix import install, quoted, uninstall
from crashcart.doctor._requirements import refused_by
from crashcart.installation import Distribution, Installation

_OTHER_BUILDS = frozenset({"tensorflow-rocm", "intel-tensorflow", "tensorflow-macos", "tensorflow-cpu-aws"})
# What brings wheels from an index, as it writes itself down.
_FROM_THE_INDEX = frozenset({"pip", "uv", "uv-pixi", "poetry", "pdm"})
# Fresh installs of these take a NumPy that they cannot be imported with: they declare no upper bound.
_UNCAPPED = frozenset({"2.7", "2.8", "2.9", "2.10", "2.11"})


def tensorflow_of(installation: Installation) -> Distribution | None:
    """The TensorFlow of the environment, whatever build it is."""
    return installation.find(*TENSORFLOW_NAMES)


def official(installation: Installation) -> Distribution | None:
    """The TensorFlow of the environment where it is a wheel from PyPI, for which the facts hold."""
    found = tensorflow_of(installation)
    return None if found is None or _is_shell(found) or other_build(installation, found) is not None else found


def other_build(installation: Installation, found: Distribution) -> str | None:
    """Why a TensorFlow is not to be taken for PyPI's own wheel, in words; None where it is."""
    version = parsed(found.version)
    if found.name in _OTHER_BUILDS:
        return f"{found.name} is a build of its own"
    if version is not None and version.local is not None:  # 2.17.0+nv25.02 is NVIDIA's own build
        return f"its version, {found.version}, is that of somebody's own build"
    if found.origin is not None:
        return f"it comes from {found.origin}, not from the index"
    if installation.plan is not None and found.installer is None:
        return None
    if (found.installer or "").lower().split(" ")[0] in _FROM_THE_INDEX:  # Poetry adds its version
        return None
    return f"it was brought by {found.installer}" if found.installer else "nothing says what installed it"


def tags_fit(installation: Installation, found: Distribution) -> bool | None:
    """Whether the installed wheel names this Python in its tags; None where it has none."""
    if not found.tags:
        return None
    here = parsed(installation.interpreter.minor)
    return any(_tag_fits(each, here) for each in found.tags)


def _tag_fits(tag: str, here: Version | None) -> bool:
    python, _, rest = tag.partition("-")
    digits = python.removeprefix("cp")
    if python == digits or not digits.isdecimal() or here is None:
        return True  # py3: any
    meant = Version(f"{digits[0]}.{digits[1:] or 0}")
    return meant == here or (rest.startswith("abi3-") and meant < here)


def made_for_platform(installation: Installation, found: Distribution) -> bool:
    """Whether the tags of the installed wheel name this system, processor and C library."""
    interpreter = installation.interpreter
    platforms = [each.rpartition("-")[2] for each in found.tags]
    if interpreter.system == "Darwin":
        ends = (f"_{interpreter.architecture}", "_universal2")
        return any(each.startswith("macosx_") and each.endswith(ends) for each in platforms)
    # Built on the machine itself, a wheel says linux_x86_64; an index takes such a one from nobody.
    starts = ("linux_", "musllinux_") if interpreter.libc == "musl" else ("linux_", "manylinux")
    return any(each.startswith(starts) and each.endswith(f"_{interpreter.architecture}") for each in platforms)


def _is_shell(distribution: Distribution) -> bool:
    """Whether it is the last tensorflow-gpu, which is source alone and brings nothing."""
    version = parsed(distribution.version)
    return distribution.name == "tensorflow-gpu" and version is not None and version >= Version("2.12")


def tensorflow_pythons(version: str | None) -> tuple[str, ...]:
    """The Python versions that a release has wheels for; empty where the release is not known."""
    release = facts("tensorflow")["releases"].get(version) or facts("tensorflow")["minors"].get(minor_of(version))
    return tuple(release["pythons"]) if release else ()


def all_pythons() -> list[str]:
    """Every Python that some known release has wheels for, oldest first."""
    found = {each for release in facts("tensorflow")["releases"].values() for each in release["pythons"]}
    return sorted(found, key=Version)


def newest_release(
    python: str | None = None, fits: Callable[[dict[str, Any]], bool] = lambda build: True
) -> str | None:
    """The newest known release that has wheels for a Python, and whose build fits."""
    known = facts("tensorflow")
    found = [
        version
        for version, release in known["releases"].items()
        if (python is None or python in release["pythons"]) and fits(known["minors"].get(minor_of(version), {}))
    ]
    return max(found, key=Version, default=None)


def wanted(name: str, version: str) -> tuple[str, ...]:
    """What to ask an installer for, so that a fresh install of the release works."""
    uncapped = minor_of(version) in _UNCAPPED or version == "2.14.0"
    return (f"{name}=={version}", "numpy<2") if uncapped else (f"{name}=={version}",)


def change_release(installation: Installation, name: str, version: str) -> str:
    """The commands that change the release, with a word on those packages that would not accept it.

    Not every name has every release: what is not `tensorflow` or `tensorflow-cpu` gives way to `tensorflow`.
    """
    kept = name if name in RELEASED_NAMES else "tensorflow"
    command = install(installation, *wanted(kept, version))
    if name != kept:
        command = f"{uninstall(installation, name)}, then {command}"
    refused = [str(each) for each in refused_by(installation, kept, version)]
    return f"{command} (then change these too: {'; '.join(refused[:3])})" if refused else command


def new_environment(installation: Installation, python: str, *requirements: str) -> str:
    """The command that makes another environment, with another Python, by the tool that made this one."""
    words = " ".join(quoted(each, installation.interpreter.system) for each in requirements)
    tool = installation.interpreter.tool
    if installation.interpreter.system == "Windows" and tool == "pip":
        return f"`py -{python} -m venv .venv-tf && .venv-tf\\Scripts\\python -m pip install {words}`"
    if tool == "conda":
        return f"`conda create -n tensorflow python={python} && conda run -n tensorflow pip install {words}`"
    if tool == "uv":
        return f"`uv venv --python {python} .venv-tf && uv pip install --python .venv-tf {words}`"
    return f"`python{python} -m venv .venv-tf && .venv-tf/bin/python -m pip install {words}`"
