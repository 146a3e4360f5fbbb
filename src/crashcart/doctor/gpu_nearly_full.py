"""D308: other processes hold most of a GPU's memory."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.evidence import GpuDevice
from crashcart.finding import Cause, Confidence, Finding, Level
from crashcart.rule import Rank, rule
from crashcart.units import size

# A desktop takes up to a tenth of a small card. Below half, a training that fits the card does not fit what is left.
_MUCH_FRACTION = 0.5
_MOST_PROCESSES = 5


@rule("D308", "gpu-nearly-full", Rank.KIND)
def gpu_nearly_full(gpus: tuple[GpuDevice, ...]) -> Iterator[Finding]:
    """Less than half of a GPU's memory is free, before your program has started.

    ## What it means

    A program that starts now gets what is left. TensorFlow takes nearly all of a GPU when it first uses it, and keeps
    it until the process ends: a notebook's kernel that is still open is the usual holder.

    ## How we know

    The driver's own figures (NVML), at the moment of asking, with the processes that it lists. In a container their
    numbers are mostly the host's, or none are listed.

    ## What to do

    End the processes that are no longer needed (a notebook: shut its kernel down), or let them take less:
    `TF_FORCE_GPU_ALLOW_GROWTH=true`.
    """
    for gpu in gpus:
        if gpu.total_bytes and gpu.free_bytes < gpu.total_bytes * (1 - _MUCH_FRACTION):
            yield _finding(gpu)


def _finding(gpu: GpuDevice) -> Finding:
    listed = sorted(gpu.processes.items(), key=lambda each: -(each[1] or 0))[:_MOST_PROCESSES]
    held = [f"process {pid} holds {'an untold part' if count is None else size(count)}" for pid, count in listed]
    pids = ",".join(str(pid) for pid, _ in listed)
    look = (
        f"`ps -o pid,user,etime,cmd -p {pids}` shows what they are" if pids else "`nvidia-smi` on the host shows them"
    )
    return Finding(
        Cause.GPU_MEMORY_TAKEN,
        f"GPU {gpu.index} ({gpu.name}) has {size(gpu.free_bytes)} of {size(gpu.total_bytes)} free",
        tuple(held) or ("the driver lists no process for it (they may run outside this container)",),
        (f"{look}; end those that are not needed", "`export TF_FORCE_GPU_ALLOW_GROWTH=true` lets several share it"),
        Confidence.LIKELY,
        level=Level.RISK,
    )
