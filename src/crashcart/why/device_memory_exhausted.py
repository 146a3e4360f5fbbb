"""W104 device-memory-exhausted."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.evidence import Ending, ErrorRecord, Event, GpuDevice, Log
from crashcart.finding import Finding
from crashcart.rule import Rank, rule
from crashcart.units import size
from crashcart.why._figures import (
    SMALL_REQUEST_BYTES,
    allocated_shape,
    allocator_stats,
    held_by_others,
    requested_bytes,
    small_pool,
    type_named,
)
from crashcart.why._guarded import gpu_words
from crashcart.why._said import Kind
from crashcart.why._statement import Statement, conclude
from crashcart.why._text import stated

WHOLE_DATA_SET = 10_000
"""No batch is this large on purpose."""
_SMALL = ("the request itself is small: the device was full before it",)


@rule("W104", "device-memory-exhausted", Rank.KIND)
def device_memory_exhausted(
    errors: tuple[ErrorRecord, ...],
    log: Log | None = None,
    ending: Ending | None = None,
    gpus: tuple[GpuDevice, ...] | None = None,
    events: tuple[Event, ...] | None = None,
) -> Iterator[Finding]:
    """The program's own model, batch or tensors do not fit the device's memory.

    ## What it means

    The device (GPU, TPU) could not hold one more tensor. Weights, optimizer state and activations count together;
    activations grow in proportion to the batch. The machine's RAM has no part in it.

    ## How we know

    The message states an OOM on a GPU allocator (`GPU_0_bfc`, CUDA, XLA), and nothing shows that others held most of the
    device, at the start or when the guard saw it fill up (then another rule speaks).

    ## What to do

    Halve the batch first; it is the only size that changes nothing else. Then mixed precision, smaller inputs, or
    prediction and evaluation in chunks.
    """
    for statement in stated(Kind.DEVICE_MEMORY, errors, log, ending):
        if held_by_others(statement.words, log, gpus, events) or small_pool(statement.words, log):
            return
        asked, shape = requested_bytes(statement.words), allocated_shape(statement.words)
        what = f"{size(asked)} more" if asked else "one more tensor"
        of_shape = f" (shape {list(shape)})" if shape else ""
        stats = allocator_stats(log)
        free = [
            f"device {gpu.index} had {size(gpu.free_bytes)} of {size(gpu.total_bytes)} free at the start"
            for gpu in gpus or ()
        ]
        yield conclude(
            statement,
            f"the device's memory is too small for {what}{of_shape}" + (f" in {statement.op}" if statement.op else ""),
            (*_pinned(statement), *_remedy(statement.words, shape, asked)),
            *([stats] if stats else []),
            *(_SMALL if asked is not None and asked < SMALL_REQUEST_BYTES else ()),
            *free,
            *gpu_words(events),
        )


def _pinned(statement: Statement) -> tuple[str, ...]:
    """Pinned memory is the host's, though CUDA refuses it in the same words as the device's."""
    pinned = any("pin_memory" in frame.file or "pin_memory" in frame.function for frame in statement.said.frames)
    return (
        ("it was pinning host memory: pin_memory=False in the loader (WSL and containers give little of it)",)
        if pinned
        else ()
    )


def _remedy(words: str, shape: tuple[int, ...] | None, asked: int | None) -> tuple[str, ...]:
    steps = []
    small = asked is not None and asked < SMALL_REQUEST_BYTES
    if small:
        steps.append(
            "see what filled it before: `nvidia-smi` (another process, an old notebook kernel), or tensors kept in a loop"
        )
    if shape and len(shape) > 1 and shape[0] > 1:
        if shape[0] > WHOLE_DATA_SET:
            steps.append(f"{shape[0]} looks like the whole data set: evaluate or predict in chunks (batch_size=256)")
        steps.append(f"use a smaller batch: {shape[0]} → {shape[0] // 2} in the first dimension halves this tensor")
    else:
        steps.append("use a smaller batch: half of it needs about half the activations")
    if type_named(words) in ("double", "float64"):
        steps.append("use float32 instead of float64 (double): half the memory")
    if "xla" in words.lower() or "while trying to allocate" in words or "device ordinal" in words:
        steps.append(
            "JAX: set XLA_PYTHON_CLIENT_PREALLOCATE=false or XLA_PYTHON_CLIENT_MEM_FRACTION=0.9; the pool may be"
            " fragmented"
        )
    steps.append("train in mixed precision: tf.keras.mixed_precision.set_global_policy('mixed_float16')")
    steps.append("smaller inputs or fewer units")
    if not small:
        steps.append("see that nothing else holds the device: `nvidia-smi` names the other processes on it")
    return tuple(steps)
