"""D304: there is a GPU, and this TensorFlow has no code for it."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.doctor._builds import official
from crashcart.doctor._cuda import LAST_WINDOWS_WITH_GPU, minor, other_gpus, with_libraries
from crashcart.doctor._fix import install, uninstall
from crashcart.evidence import GpuDevice
from crashcart.finding import Cause, Confidence, Finding, Level
from crashcart.installation import Distribution, Installation
from crashcart.rule import Rank, rule

_FOR_CPU = frozenset({"tensorflow-cpu", "tensorflow-intel", "tf-nightly-cpu"})


@rule("D304", "build-without-gpu-code", Rank.ROOT)
def build_without_gpu_code(installation: Installation, gpus: tuple[GpuDevice, ...]) -> Iterator[Finding]:
    """A GPU is here, and the installed TensorFlow is a build for the CPU alone.

    ## What it means

    `tensorflow-cpu` never uses a GPU; nor do TensorFlow's own wheels for Windows from 2.11 on, nor those for ARM.
    Everything works, on the CPU. With `tensorflow-cpu` that was somebody's choice, so it is a note.

    ## How we know

    The name of the installed distribution, its release, the system and processor of the interpreter, and the devices
    that the driver shows.

    ## What to do

    On Linux: `tensorflow[and-cuda]` in place of `tensorflow-cpu`. On Windows: WSL2. Nothing, if the CPU is what you
    want.
    """
    found = official(installation)
    if found is None or not gpus or other_gpus(installation) is not None:
        return
    interpreter = installation.interpreter
    here = f"the driver shows {gpus[0].name}" + (f" and {len(gpus) - 1} more" if len(gpus) > 1 else "")
    if interpreter.system == "Windows" and minor(found.version) > LAST_WINDOWS_WITH_GPU:
        remedy: tuple[str, ...] = (
            "run it in WSL2, where the Linux wheels use the GPU: `wsl --install`",
            "or TensorFlow 2.10 with CUDA 11.2",
        )
        yield _finding(found, here, "TensorFlow's wheels for Windows use no GPU from 2.11 on", remedy, Level.RISK)
    elif interpreter.system == "Linux" and interpreter.architecture in ("aarch64", "arm64"):
        remedy = ("use NVIDIA's container for ARM (nvcr.io/nvidia/tensorflow), or a build from source",)
        yield _finding(found, here, "TensorFlow's wheels for ARM are for the CPU alone", remedy, Level.RISK)
    elif found.name in _FOR_CPU:
        remedy = (
            f"if the GPU is wanted: {uninstall(installation, found.name)}, then"
            f" {install(installation, *with_libraries(found))}",
        )
        yield _finding(found, here, f"{found.name} is the build without GPU code", remedy, Level.NOTE)


def _finding(found: Distribution, here: str, why: str, remedy: tuple[str, ...], level: Level) -> Finding:
    return Finding(
        Cause.DEVICE_PLACEMENT,
        f"{found.name} {found.version} will not use the GPU of this machine",
        (why, here),
        remedy,
        Confidence.CERTAIN,
        level=level,
    )
