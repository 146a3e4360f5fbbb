"""D602: the driver shows a GPU that the imported framework does not see."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.doctor._fix import install, uninstall
from crashcart.finding import Cause, Confidence, Finding, Level
from crashcart.ground import GpuDevice
from crashcart.installation import ImportAttempt, Installation
from crashcart.rule import Rank, rule
from crashcart.units import plural

_CPU_BUILDS = ("tensorflow-cpu", "tf-nightly-cpu", "tensorflow-intel", "tensorflow-cpu-aws")


@rule("D602", "gpu-not-seen", Rank.KIND)
def gpu_not_seen(
    attempts: tuple[ImportAttempt, ...], gpus: tuple[GpuDevice, ...], installation: Installation | None = None
) -> Iterator[Finding]:
    """The driver shows a GPU, and the framework does not see it.

    ## What it means

    Programs run on the CPU, many times slower, and say so only in a line of their log.

    ## How we know

    The driver lists its devices (NVML), the framework was imported in a child process and listed none.

    ## What to do

    Install the framework together with the CUDA libraries that it was built for; the finding names the command. If that is
    done, look at CUDA_VISIBLE_DEVICES, and at the other findings about the driver and the libraries.
    """
    for each in attempts if gpus else ():
        if each.exit_code == 0 and each.facts.get("gpus") == []:
            yield Finding(
                Cause.CUDA_MISMATCH,
                f"{each.module} does not see the GPU",
                (
                    f"the driver shows {plural(len(gpus), 'device')}: {', '.join(gpu.name for gpu in gpus)}",
                    f"{each.module} {each.facts.get('version')}, imported in a child process, lists none",
                ),
                tuple(_remedies(each, installation)),
                Confidence.CERTAIN,
                level=Level.RISK,
            )


def _remedies(attempt: ImportAttempt, installation: Installation | None) -> Iterator[str]:
    if installation is not None and attempt.module == "tensorflow":
        cpu = installation.find(*_CPU_BUILDS)
        if cpu is not None:
            yield f"{uninstall(installation, cpu.name)}: it is a build without GPU support"
        yield install(installation, f"tensorflow[and-cuda]=={attempt.facts.get('version')}")
    yield "`CUDA_VISIBLE_DEVICES` must be unset or name a device; `nvidia-smi` must work in the same container"
