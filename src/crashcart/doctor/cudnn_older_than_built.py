"""D310: the cuDNN that would be loaded is older than the one that TensorFlow was built with."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from packaging.version import Version

from crashcart.doctor._builds import new_environment
from crashcart.doctor._cuda import gpu_build, looks_into_wheels, with_libraries
from crashcart.doctor._facts import parsed
from crashcart.doctor._fix import install
from crashcart.doctor._requirements import Demand, demands, meets
from crashcart.evidence import GpuDevice
from crashcart.finding import Cause, Confidence, Finding
from crashcart.installation import Distribution, Installation
from crashcart.rule import Rank, rule

_FULL_NAME = re.compile(r"libcudnn\.so\.(\d+\.\d+(?:\.\d+)*)$")


@rule("D310", "cudnn-older-than-built", Rank.ROOT)
def cudnn_older_than_built(installation: Installation, gpus: tuple[GpuDevice, ...]) -> Iterator[Finding]:
    """The cuDNN that would be loaded has an older minor version than the one TensorFlow was built with.

    ## What it means

    The first convolution or recurrent layer fails: "Loaded runtime CuDNN library: 8.5.0 but source was compiled with:
    8.9.4". cuDNN must have the same major version, and the same or a later minor one. It happens when another package
    (PyTorch pins its own) replaced NVIDIA's, or when a folder in LD_LIBRARY_PATH holds an older one.

    ## How we know

    The number in the name of the file that comes first for the loader, or the version of NVIDIA's package where the
    release looks for it (2.14, 2.15, and from 2.18 on), against the version that the release is tested with. It matters
    only where there is a GPU.

    ## What to do

    Install the cuDNN that the finding names; where PyTorch pins the older one, give TensorFlow an environment of its own,
    or take TensorFlow 2.20 or later with PyTorch 2.7 or later, which share one.
    """
    built = gpu_build(installation)
    if built is None or not gpus:
        return
    found, facts = built
    least = Version(facts["cudnn"])
    here = _loaded(installation, found, facts)
    if here is None or here[0].major != least.major or here[0].release[:2] >= least.release[:2]:
        return
    yield _finding(installation, found, facts, *here)


def _package(facts: dict[str, Any]) -> str:
    return f"nvidia-cudnn-cu{Version(facts['cuda']).major}"


def _loaded(installation: Installation, found: Distribution, facts: dict[str, Any]) -> tuple[Version, str] | None:
    """What TensorFlow takes first: a file on LD_LIBRARY_PATH, then NVIDIA's package, where the release looks for it."""
    soname = f"libcudnn.so.{Version(facts['cudnn']).major}"
    for each in installation.libraries or ():
        match = _FULL_NAME.search(each.path)
        if each.owner == "LD_LIBRARY_PATH" and match and each.name == soname:
            return Version(match[1]), f"{each.path}, found first by LD_LIBRARY_PATH"
    package = installation.find(_package(facts)) if looks_into_wheels(found.version) else None
    version = parsed(package.version) if package is not None else None
    return (version, f"{package.name} {package.version}") if package is not None and version is not None else None


def _finding(
    installation: Installation, found: Distribution, facts: dict[str, Any], here: Version, source: str
) -> Finding:
    return Finding(
        Cause.CUDA_MISMATCH,
        f"cuDNN {'.'.join(map(str, here.release[:3]))} is older than the {facts['cudnn']} of {found.name} {found.version}: the"
        " first convolution fails",
        (
            f"it would load {source}",
            f"this release was built with cuDNN {facts['cudnn']}, and needs that minor or a later one",
        ),
        tuple(_remedies(installation, found, facts, source)),
        Confidence.LIKELY,
    )


def _remedies(installation: Installation, found: Distribution, facts: dict[str, Any], source: str) -> Iterator[str]:
    if "LD_LIBRARY_PATH" in source:
        yield f"take {source.partition(',')[0].rpartition('/')[0]} out of LD_LIBRARY_PATH"
        return
    package, least = _package(facts), Version(facts["cudnn"])
    pin = _pin(installation, package)
    if pin is None:
        yield install(installation, f"{package}>={least},<{least.major + 1}")
    else:
        alone = new_environment(installation, installation.interpreter.minor, *with_libraries(found))
        yield f"an environment of its own, since {pin}, and another one here would break that: {alone}"
    torch = installation.find("torch")
    if torch is not None:
        yield f"torch {torch.version} pins its own cuDNN: TensorFlow 2.20 or later with torch 2.7 or later share one"


def _pin(installation: Installation, package: str) -> Demand | None:
    """Who asks for exactly the cuDNN that is there."""
    found = installation.find(package)
    asked = (each for each in demands(installation) if each.name == package)
    exact = (each for each in asked if any(part.operator == "==" for part in each.requirement.specifier))
    return next((each for each in exact if found is not None and meets(each.requirement, found.version or "")), None)
