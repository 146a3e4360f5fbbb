"""W105 device-memory-held-by-others."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.evidence import Ending, ErrorRecord, Event, GpuDevice, Log
from crashcart.finding import Cause, Finding
from crashcart.rule import Rank, rule
from crashcart.units import size
from crashcart.why._figures import Holding, held_by_others, small_pool
from crashcart.why._said import Kind
from crashcart.why._statement import Statement, conclude
from crashcart.why._text import stated

_REMEDY = (
    "`nvidia-smi` names the other processes on the device: end the stale one, or choose another device with"
    " CUDA_VISIBLE_DEVICES",
    "let TensorFlow take memory as it needs it, before anything else: "
    "tf.config.experimental.set_memory_growth(gpu, True) or TF_FORCE_GPU_ALLOW_GROWTH=true (allow_growth in TF 1)",
    "two frameworks in one process: hide the device from one of them (tf.config.set_visible_devices([], 'GPU')), or for"
    " JAX XLA_PYTHON_CLIENT_PREALLOCATE=false or XLA_PYTHON_CLIENT_MEM_FRACTION=0.5",
    "PyTorch: load checkpoints with map_location='cpu'; a saved GPU tensor goes back to the device it came from",
)
_REMEDY_NOT_STARTED = (
    _REMEDY[1],
    _REMEDY[0],
    *_REMEDY[2:],
    "if the device is empty, check that cuDNN has the version this build wants",
)


@rule("W105", "device-memory-held-by-others", Rank.KIND)
def device_memory_held_by_others(
    errors: tuple[ErrorRecord, ...],
    log: Log | None = None,
    ending: Ending | None = None,
    gpus: tuple[GpuDevice, ...] | None = None,
    events: tuple[Event, ...] | None = None,
) -> Iterator[Finding]:
    """Another process or framework held the device's memory, or preallocation left nothing for cuDNN and cuBLAS.

    ## What it means

    The program's own tensors would fit; the memory was gone before it asked. Usually an earlier run or a notebook
    kernel still lives, or TensorFlow and JAX or PyTorch share a process and the first one took everything.

    ## How we know

    Little of the device was free at the start (TensorFlow's start-up lines, NVML), or PyTorch's figures or the guard's
    own look at the device show that the program held a small part of a full one, or a library handle could not be
    created at all. The last alone does not prove it: an old cuDNN fails in the same words.

    ## What to do

    See who holds the device with nvidia-smi and end it; let frameworks take memory as they need it.
    """
    for statement in stated(Kind.DEVICE_MEMORY, errors, log, ending):
        holding = held_by_others(statement.words, log, gpus, events)
        pool = small_pool(statement.words, log)
        if holding:
            figures = (holding.fact(), *_users(gpus))
            yield conclude(statement, _headline(holding), _REMEDY, *figures, cause=Cause.GPU_MEMORY_TAKEN)
        elif pool:
            headline = f"only {size(pool)} of the device were left for TensorFlow at its start"
            fact = f"the allocator's limit is {size(pool)}: TensorFlow takes nearly all that is free when it starts"
            yield conclude(statement, headline, _REMEDY, fact, *_users(gpus), cause=Cause.GPU_MEMORY_TAKEN)
    for statement in stated(Kind.DEVICE_TAKEN, errors, log, ending):
        yield _not_started(statement, held_by_others(statement.words, log, gpus, events), gpus)


def _not_started(statement: Statement, holding: Holding | None, gpus: tuple[GpuDevice, ...] | None) -> Finding:
    """A CUDA library that found no room for its handle; who took it is known only where there are figures."""
    if holding is not None:
        headline, fact = _headline(holding), holding.fact()
    else:
        headline = "a CUDA library could not start: no device memory was left for its handle"
        fact = "cuDNN and cuBLAS need some device memory of their own to start"
    return conclude(statement, headline, _REMEDY_NOT_STARTED, fact, *_users(gpus))


def _headline(holding: Holding) -> str:
    return (
        f"the device was full before the program asked: {size(holding.free_bytes)} of {size(holding.total_bytes)} free"
    )


def _users(gpus: tuple[GpuDevice, ...] | None) -> Iterator[str]:
    for gpu in gpus or ():
        for pid, held_bytes in sorted(gpu.processes.items()):
            held = size(held_bytes) if held_bytes is not None else "an unknown amount"
            yield f"process {pid} held {held} on device {gpu.index} at the start"
