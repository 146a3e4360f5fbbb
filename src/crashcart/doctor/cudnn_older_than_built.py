"""D310: the cuDNN that would be loaded is older than the one that TensorFlow was built with."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from packaging.version import Version

from crashcart.doctor._cuda import gpu_build
from crashcart.doctor._facts import parsed
from crashcart.doctor._fix import install
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

    The version of NVIDIA's package, or the number in the file's name that comes first for the loader, against the
    version that the release is tested with. It matters only where there is a GPU.

    ## What to do

    Install the cuDNN that the finding names; with PyTorch beside it, take TensorFlow 2.20 or later, which accept its
    cuDNN.
    """
    built = gpu_build(installation)
    if built is None or not gpus:
        return
    found, facts = built
    least = Version(facts["cudnn"])
    here = _loaded(installation, least)
    if here is None or here[0].major != least.major or here[0].release[:2] >= least.release[:2]:
        return
    yield _finding(installation, found, facts, *here)


def _loaded(installation: Installation, least: Version) -> tuple[Version, str] | None:
    """What the loader takes first: a file on LD_LIBRARY_PATH, then NVIDIA's package."""
    for each in installation.libraries or ():
        match = _FULL_NAME.search(each.path)
        if each.owner == "LD_LIBRARY_PATH" and match and each.name == f"libcudnn.so.{least.major}":
            return Version(match[1]), f"{each.path}, found first by LD_LIBRARY_PATH"
    package = installation.find("nvidia-cudnn-cu12", "nvidia-cudnn-cu11")
    version = parsed(package.version) if package is not None else None
    return (version, f"{package.name} {package.version}") if package is not None and version is not None else None


def _finding(
    installation: Installation, found: Distribution, facts: dict[str, Any], here: Version, source: str
) -> Finding:
    package = f"nvidia-cudnn-cu{Version(facts['cuda']).major}"
    least = Version(facts["cudnn"])
    on_path = "LD_LIBRARY_PATH" in source
    torch = installation.find("torch")
    remedy = (
        f"take {source.partition(',')[0].rpartition('/')[0]} out of LD_LIBRARY_PATH"
        if on_path
        else install(installation, f"{package}>={least},<{least.major + 1}")
    )
    return Finding(
        Cause.CUDA_MISMATCH,
        f"cuDNN {'.'.join(map(str, here.release[:3]))} is older than the {facts['cudnn']} of {found.name} {found.version}: the"
        " first convolution fails",
        (
            f"it would load {source}",
            f"this release was built with cuDNN {facts['cudnn']}, and needs that minor or a later one",
        ),
        (
            remedy,
            *(
                (
                    f"torch {torch.version} pins its own cuDNN: TensorFlow 2.20 or later with torch 2.7 or later share one",
                )
                if torch is not None
                else ()
            ),
        ),
        Confidence.LIKELY,
    )
