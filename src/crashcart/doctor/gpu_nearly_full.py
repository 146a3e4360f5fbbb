"""D308: other processes hold most of a GPU's memory."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.evidence import Environment, GpuDevice
from crashcart.finding import Cause, Confidence, Finding, Level
from crashcart.rule import Rank, rule
from crashcart.units import size

# A desktop takes up to a tenth of a small card. Below half, a training that fits the card does not fit what is left.
_MUCH_FRACTION = 0.5
_MOST_PROCESSES = 5


@rule("D308", "gpu-nearly-full", Rank.KIND)
def gpu_nearly_full(gpus: tuple[GpuDevice, ...], environment: Environment | None = None) -> Iterator[Finding]:
    """Less than half of a GPU's memory is free, before your program has started.

    ## What it means

    A program that starts now gets what is left. TensorFlow takes nearly all of a GPU when it first uses it, and keeps
    it until the process ends: a notebook's kernel that is still open is the usual holder.

    ## How we know

    The driver's own figures (NVML) of the devices that CUDA_VISIBLE_DEVICES lets through, at the moment of asking,
    with the processes that it lists. In a container their numbers are mostly the host's, or none are listed.

    ## What to do

    End the processes that are no longer needed (a notebook: shut its kernel down), or let them take less:
    `TF_FORCE_GPU_ALLOW_GROWTH=true`.
    """
    listed = environment.variables.get("CUDA_VISIBLE_DEVICES") if environment is not None else None
    wanted = {each.strip() for each in (listed or "").split(",")} if listed is not None else None
    full = [each for each in gpus if each.free_bytes < each.total_bytes * (1 - _MUCH_FRACTION)]
    free = [each for each in gpus if each not in full]
    for gpu in full:
        if wanted is None or str(gpu.index) in wanted:
            yield _finding(gpu, free)


def _finding(gpu: GpuDevice, free: list[GpuDevice]) -> Finding:
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
        (
            *_others(free),
            f"{look}; end those that are not needed",
            "`export TF_FORCE_GPU_ALLOW_GROWTH=true` lets several share it",
        ),
        Confidence.LIKELY,
        level=Level.RISK,
    )


def _others(free: list[GpuDevice]) -> tuple[str, ...]:
    indices = ",".join(str(each.index) for each in free)
    return (
        (f"use what is free: `export CUDA_VISIBLE_DEVICES={indices}` (TensorFlow takes every GPU that it sees)",)
        if free
        else ()
    )
