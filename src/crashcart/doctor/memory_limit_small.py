"""D401: the memory limit is below what TensorFlow needs to start."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.doctor._builds import tensorflow_of
from crashcart.evidence import Machine, MemoryLimit
from crashcart.finding import Cause, Confidence, Finding, Level
from crashcart.installation import Installation
from crashcart.rule import Rank, rule
from crashcart.units import GIB, MIB, size

# Measured with TensorFlow 2.21 for the CPU in a memory group: `import tensorflow` is killed at 200 MiB and passes at 256 MiB,
# because pages of its libraries can be dropped and read again. It wants 540 MiB to stay in memory whole, and 585 MiB while
# a small convolution is trained. A model with Adam keeps four copies of its weights, and a batch its activations: below 1 GiB
# there is room for toys alone.
_IMPORT_DIES_BYTES = 256 * MIB
_SMALL_BYTES = 1 * GIB
_IMPORTED_BYTES = 540 * MIB
_KINDS = ("container", "machine")


@rule("D401", "memory-limit-small", Rank.KIND)
def memory_limit_small(machine: Machine, installation: Installation) -> Iterator[Finding]:
    """The container's or machine's memory is below what importing TensorFlow and a small training take.

    ## What it means

    `import tensorflow` alone takes about 540 MiB of memory. Where less is allowed, its libraries are dropped and read
    from disk again and again, which is slow; below about 256 MiB the kernel kills the process (signal 9, exit code
    137).

    ## How we know

    The limit of the control group (or the machine's memory, where that is less), against figures measured with
    TensorFlow 2.21 on the CPU in groups of decreasing size. A GPU build takes more.

    ## What to do

    Give the container more memory: `docker run --memory 4g …`, `resources.limits.memory: 4Gi`, `#SBATCH --mem=4G`.
    """
    found = tensorflow_of(installation)
    limits = [each for kind in _KINDS if (each := machine.limit(kind)) is not None]
    limit = min(limits, key=lambda each: each.bytes, default=None)
    if found is None or limit is None or limit.bytes >= _SMALL_BYTES:
        return
    dies = limit.bytes < _IMPORT_DIES_BYTES
    yield Finding(
        Cause.CONTAINER_MEMORY if limit.kind == "container" else Cause.HOST_MEMORY,
        f"{size(limit.bytes)} of memory are too little: "
        + ("`import tensorflow` will be killed" if dies else "TensorFlow starts, and hardly anything fits beside it"),
        (
            f"{limit.source}: {size(limit.bytes)}",
            f"measured: `import tensorflow` takes {size(_IMPORTED_BYTES)}, and is killed where only 200 MiB are allowed",
        ),
        tuple(_remedies(limit)),
        Confidence.LIKELY,
        level=Level.PROBLEM if dies else Level.RISK,
    )


def _remedies(limit: MemoryLimit) -> Iterator[str]:
    if limit.kind == "container":
        yield "raise the limit: `docker run --memory 4g …`, `resources.limits.memory: 4Gi` (Kubernetes), `#SBATCH --mem=4G`"
    else:
        yield "use a machine with 4 GB of memory or more; swap space keeps it alive, slowly"
    yield "for inference alone, a smaller runtime does with less (LiteRT, ONNX Runtime)"
