"""D602: the driver shows a GPU that the imported framework does not see."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.doctor._cuda import CPU_BUILDS, bring_libraries, gpu_build
from crashcart.doctor._facts import parsed
from crashcart.evidence import Environment
from crashcart.finding import Cause, Confidence, Finding, Level
from crashcart.ground import GpuDevice
from crashcart.installation import ImportAttempt, Installation
from crashcart.rule import Rank, rule
from crashcart.units import plural


@rule("D602", "gpu-not-seen", Rank.KIND)
def gpu_not_seen(
    attempts: tuple[ImportAttempt, ...],
    gpus: tuple[GpuDevice, ...],
    installation: Installation | None = None,
    environment: Environment | None = None,
) -> Iterator[Finding]:
    """The driver shows a GPU, and the framework does not see it.

    ## What it means

    Programs run on the CPU, many times slower, and say so only in a line of their log.

    ## How we know

    The driver lists its devices (NVML), the framework was imported in a child process and listed none. Builds for the CPU
    (tensorflow-cpu, torch +cpu, jax without its CUDA plugin) and a CUDA_VISIBLE_DEVICES that hides every device are somebody's
    choice, and left alone: rules of their own tell of them.

    ## What to do

    Install the framework together with the CUDA libraries that it was built for; the finding names the command. If that is
    done, look at the other findings about the driver and the libraries.
    """
    variables = environment.variables if environment is not None else {}
    hidden = _hides_all(variables.get("CUDA_VISIBLE_DEVICES"), len(gpus))
    for each in attempts if gpus and not hidden else ():
        if each.exit_code == 0 and each.facts.get("gpus") == [] and not _is_for_cpu(each, installation):
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


def _hides_all(value: str | None, count: int) -> bool:
    """Whether CUDA shows no device for this CUDA_VISIBLE_DEVICES: the list ends at the first that is not there."""
    first = value.partition(",")[0].strip() if value is not None else "0"
    return first in ("", "NoDevFiles") or first.startswith("-") or (first.isdecimal() and int(first) >= count)


def _is_for_cpu(attempt: ImportAttempt, installation: Installation | None) -> bool:
    """Whether the build has no GPU code: by what it says itself, its name, its local version, or for want of a plugin."""
    if attempt.facts.get("gpu_code") is False:
        return True
    version = parsed(str(attempt.facts.get("version") or ""))
    if attempt.module == "torch":
        return version is not None and version.local == "cpu"
    if installation is None:
        return False
    if attempt.module == "jax":
        jaxlib = installation.find("jaxlib")
        with_cuda = jaxlib is not None and "cuda" in (jaxlib.version or "")
        plugins = [each for each in installation.distributions if each.name.startswith("jax-cuda")]
        return not with_cuda and not plugins
    return installation.find(*CPU_BUILDS) is not None


def _remedies(attempt: ImportAttempt, installation: Installation | None) -> Iterator[str]:
    built = gpu_build(installation) if installation is not None and attempt.module == "tensorflow" else None
    if installation is not None and built is not None:
        yield bring_libraries(installation, *built)
    yield "`nvidia-smi` must work in the same container; `crashcart doctor` tells of the driver and the libraries"
