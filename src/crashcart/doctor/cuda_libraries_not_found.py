"""D303: the CUDA libraries that TensorFlow opens are not where it looks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from crashcart.doctor._cuda import bring_libraries, gpu_build, looks_into_wheels, needed, other_majors
from crashcart.doctor._fix import quoted
from crashcart.evidence import GpuDevice
from crashcart.finding import Cause, Confidence, Finding, Level
from crashcart.installation import Distribution, Installation, SharedLibrary
from crashcart.rule import Rank, rule


@rule("D303", "cuda-libraries-not-found", Rank.ROOT)
def cuda_libraries_not_found(installation: Installation, gpus: tuple[GpuDevice, ...]) -> Iterator[Finding]:
    """There is a GPU, and libraries of CUDA or cuDNN that this TensorFlow opens are missing or of another generation.

    ## What it means

    TensorFlow opens libcudart, libcublas, libcufft, libcusolver, libcusparse and libcudnn by names with a number
    (libcudnn.so.9). If one cannot be opened it prints "Cannot dlopen some GPU libraries", and computes on the CPU.
    Having CUDA 13 does not help a wheel that was built for CUDA 12. TensorFlow 2.16 and 2.17 do not find the
    libraries that `tensorflow[and-cuda]` installs beside them.

    ## How we know

    We look where the loader looks: LD_LIBRARY_PATH, its cache, an environment's own lib, and NVIDIA's packages in
    site-packages. Without a GPU nothing is said: the libraries are not needed then.

    ## What to do

    Install the extra that brings the right libraries; for 2.16 and 2.17, also name their folders in LD_LIBRARY_PATH:
    the finding has the line.
    """
    built = gpu_build(installation)
    if built is None or not gpus or installation.libraries is None or installation.interpreter.system != "Linux":
        return
    found, facts = built
    reached = [each for each in installation.libraries if each.owner is not None]
    inside = [each for each in reached if (each.owner or "").startswith("nvidia/")]
    if not looks_into_wheels(found.version):
        reached = [each for each in reached if each not in inside]
    missing = [name for name in needed(facts) if all(each.name != name for each in reached)]
    if not missing:
        return
    folders = [each.path.rpartition("/")[0] for each in inside if each.name in missing]
    if len(folders) == len(missing):
        yield _not_on_the_path(found, missing, folders)
    else:
        yield _missing(installation, found, facts, missing)


def _not_on_the_path(found: Distribution, missing: list[str], folders: list[str]) -> Finding:
    return Finding(
        Cause.CUDA_MISMATCH,
        f"{found.name} {found.version} does not find the CUDA libraries beside it, and will use the CPU",
        (
            f"{', '.join(missing)} lie in NVIDIA's packages in site-packages",
            "this release does not look there by itself, and neither LD_LIBRARY_PATH nor the loader's cache names them",
        ),
        (
            f"`export LD_LIBRARY_PATH=$(printf '%s:' {_all_folders(folders)})$LD_LIBRARY_PATH` before Python starts",
            "or a release that looks there: 2.15.1, or 2.18 and later",
        ),
        Confidence.LIKELY,
        level=Level.RISK,
    )


def _all_folders(folders: list[str]) -> str:
    """NVIDIA's packages all lie in one folder: `…/site-packages/nvidia/*/lib`."""
    top = folders[0].rpartition("/nvidia/")[0]
    return f"{quoted(top)}/nvidia/*/lib"


def _missing(installation: Installation, found: Distribution, facts: dict[str, Any], missing: list[str]) -> Finding:
    libraries = installation.libraries or ()
    aside = [each for each in libraries if each.name in missing and each.owner is None]
    others = [each for name in missing for each in other_majors(libraries, name)]
    return Finding(
        Cause.CUDA_MISMATCH,
        f"there is a GPU, and {found.name} {found.version} will not find {_some(missing)}: it will use the CPU",
        (
            f"built with CUDA {facts['cuda']} and cuDNN {facts['cudnn']}; not found: {', '.join(missing)}",
            *(f"another generation is there: {each.path}" for each in others[:3]),
            *(f"it lies where the loader does not look: {each.path}" for each in aside[:3]),
        ),
        tuple(_remedies(installation, found, facts, aside)),
        Confidence.LIKELY,
        level=Level.RISK,
    )


def _some(missing: list[str]) -> str:
    return missing[0] if len(missing) == 1 else f"{missing[0]} and {len(missing) - 1} more libraries"


def _remedies(
    installation: Installation, found: Distribution, facts: dict[str, Any], aside: list[SharedLibrary]
) -> Iterator[str]:
    if aside:
        folder = aside[0].path.rpartition("/")[0]
        yield f"`export LD_LIBRARY_PATH={quoted(folder)}:$LD_LIBRARY_PATH` before Python starts"
    yield bring_libraries(installation, found, facts)
    yield "`python -c \"import tensorflow as tf; print(tf.config.list_physical_devices('GPU'))\"` must then list it"
