"""D302: the wheel has no code for this generation of GPUs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from crashcart.doctor._builds import change_release, newest_release
from crashcart.doctor._cuda import gpu_build
from crashcart.evidence import GpuDevice
from crashcart.finding import Cause, Confidence, Finding, Level
from crashcart.installation import Distribution, Installation
from crashcart.rule import Rank, rule

# Reported: on RTX 50xx (12.0) the first kernel fails, although the wheel has code that the driver should translate.
_FAILING_MAJOR = 12


@rule("D302", "gpu-generation-not-in-wheel", Rank.ROOT)
def gpu_generation_not_in_wheel(installation: Installation, gpus: tuple[GpuDevice, ...]) -> Iterator[Finding]:
    """TensorFlow's wheel was not compiled for this generation of NVIDIA cards.

    ## What it means

    A wheel has machine code for some generations (compute capabilities), and code that the driver can translate for
    newer ones. A card older than the oldest is passed over, and TensorFlow computes on the CPU. On a newer one the
    first start takes minutes, because everything is translated once; on Blackwell cards (RTX 50xx, 12.0) users report
    that the first operation fails ("CUDA_ERROR_INVALID_PTX", "no kernel image").

    ## How we know

    The card's compute capability (NVML) against the list that the wheel carries. Machine code of one generation runs
    on later cards of the same major number. The failure on Blackwell was reported, not measured here.

    ## What to do

    For an old card: the TensorFlow release that the finding names. For Blackwell: NVIDIA's container
    (nvcr.io/nvidia/tensorflow), or a build from source.
    """
    built = gpu_build(installation)
    if built is None:
        return
    oldest = min(_lists(built[1])[0])
    others_do = any((_number(each.capability) or 0) >= oldest for each in gpus)
    for gpu in gpus:
        capability = _number(gpu.capability)
        if capability is not None and capability < oldest:
            yield _too_old(installation, built[0], gpu, capability, _facts(*built, gpu), others_do)
        elif capability is not None:
            yield from _judge(*built, gpu, capability)


def _number(capability: str | None) -> int | None:
    major, _, minor = (capability or "").partition(".")
    return int(major) * 10 + int(minor) if major.isdecimal() and minor.isdecimal() else None


def _lists(facts: dict[str, Any]) -> tuple[list[int], list[int]]:
    """Machine code and translatable code, as numbers (sm_86 is 86)."""
    names = [each.partition("_") for each in facts["capabilities"]]
    return [int(number) for kind, _, number in names if kind == "sm"], [
        int(number) for kind, _, number in names if kind == "compute"
    ]


def _facts(found: Distribution, facts: dict[str, Any], gpu: GpuDevice) -> tuple[str, ...]:
    return (
        f"GPU {gpu.index}, {gpu.name}, has compute capability {gpu.capability}",
        f"{found.name} {found.version} has code for {', '.join(facts['capabilities'])}",
    )


def _judge(found: Distribution, facts: dict[str, Any], gpu: GpuDevice, capability: int) -> Iterator[Finding]:
    machine_code, translatable = _lists(facts)
    because = _facts(found, facts, gpu)
    fits = any(each // 10 == capability // 10 and each <= capability for each in machine_code)
    if capability // 10 >= _FAILING_MAJOR:
        yield _too_new(gpu, because)
    elif not fits and any(each <= capability for each in translatable) and capability not in translatable:
        yield _translated(gpu, because)


def _too_old(
    installation: Installation,
    found: Distribution,
    gpu: GpuDevice,
    capability: int,
    because: tuple[str, ...],
    others_do: bool,
) -> Finding:
    older = newest_release(
        installation.interpreter.minor, lambda build: bool(build) and min(_lists(build)[0]) <= capability
    )
    remedy = change_release(installation, found.name, older) if older else None
    return Finding(
        Cause.CUDA_MISMATCH,
        f"{gpu.name} is too old for {found.name} {found.version}: "
        + ("it is passed over, and the others are used" if others_do else "it will use the CPU"),
        because,
        (remedy or "no release for this Python supports this card: use an older Python and TensorFlow, or the CPU",),
        Confidence.LIKELY,
        level=Level.NOTE if others_do else Level.RISK,
    )


def _too_new(gpu: GpuDevice, because: tuple[str, ...]) -> Finding:
    return Finding(
        Cause.CUDA_MISMATCH,
        f"{gpu.name} is newer than every TensorFlow wheel: the first GPU operation may fail",
        (*because, "reported by users of such cards: the translation of the wheel's code fails"),
        (
            "use NVIDIA's own build: `docker run --gpus all -it nvcr.io/nvidia/tensorflow:25.02-tf2-py3`",
            "or build TensorFlow from source for this card; or compute on the CPU: `export CUDA_VISIBLE_DEVICES=-1`",
        ),
        Confidence.LIKELY,
    )


def _translated(gpu: GpuDevice, because: tuple[str, ...]) -> Finding:
    return Finding(
        Cause.CUDA_MISMATCH,
        f"the first start on {gpu.name} takes minutes: the driver translates the wheel's code",
        because,
        ("let it finish once: the driver keeps the result; `export CUDA_CACHE_MAXSIZE=4294967296` makes room for it",),
        Confidence.LIKELY,
        level=Level.NOTE,
    )
