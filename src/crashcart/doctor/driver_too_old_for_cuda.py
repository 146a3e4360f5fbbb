"""D301: the NVIDIA driver is older than the CUDA that TensorFlow was built with needs."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.doctor._builds import change_release, newest_release
from crashcart.doctor._cuda import gpu_build
from crashcart.doctor._facts import parsed
from crashcart.evidence import GpuDevice, Machine
from crashcart.finding import Cause, Confidence, Finding, Level
from crashcart.installation import Installation
from crashcart.rule import Rank, rule


@rule("D301", "driver-too-old-for-cuda", Rank.ROOT)
def driver_too_old_for_cuda(
    installation: Installation, gpus: tuple[GpuDevice, ...], machine: Machine | None = None
) -> Iterator[Finding]:
    """The NVIDIA driver is older than the least one for the CUDA generation of this TensorFlow.

    ## What it means

    TensorFlow starts, finds that the driver cannot run its CUDA ("CUDA driver version is insufficient for CUDA
    runtime version"), and computes on the CPU. Releases up to 2.14 are built with CUDA 11 (driver 450.80 or later),
    those from 2.15 on with CUDA 12 (525.60 or later).

    ## How we know

    The driver's own version (NVML) against the least one that NVIDIA names for the CUDA generation. That is NVIDIA's
    word, not our measurement, so the finding is *likely*; a compatibility package (cuda-compat) on data-centre cards
    may help an old driver on.

    ## What to do

    Update the driver on the host (a container uses the host's), or take the TensorFlow release that the finding
    names.
    """
    built = gpu_build(installation)
    driver = gpus[0].driver if gpus else None
    here = parsed(driver)
    if built is None or here is None:
        return
    found, facts = built
    windows = machine is not None and "microsoft" in (machine.release or "").lower()
    least = parsed(facts["driver_windows" if windows else "driver_linux"])
    if least is None or here >= least:
        return
    older = newest_release(
        installation.interpreter.minor,
        lambda build: bool(build) and (parsed(build["driver_windows" if windows else "driver_linux"]) or least) <= here,
    )
    instead = (f"or a release for this driver: {change_release(installation, found.name, older)}",) if older else ()
    yield Finding(
        Cause.CUDA_MISMATCH,
        f"driver {driver} is too old for the CUDA {facts['cuda']} of {found.name} {found.version}: it will use the CPU",
        (
            f"{gpus[0].name} has driver {driver}",
            f"CUDA {_family(facts['cuda'])} needs {least} or later, says NVIDIA",
        ),
        (f"update the NVIDIA driver to {least} or later on the host, and restart it", *instead),
        Confidence.LIKELY,
        level=Level.RISK,
    )


def _family(cuda: str) -> str:
    """12.5.1 as 12.x."""
    return f"{cuda.partition('.')[0]}.x"
