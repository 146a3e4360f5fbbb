"""`cc.bounded(dataset, budget)`: the same elements, with buffers that fit a budget.

    dataset = cc.bounded(dataset, "2GiB")       # or without a size: what the container leaves
    print(dataset.report)

Covers: shuffle, prefetch, parallel calls, batches, interleave and memory caches of a dataset in eager mode, and what
of them is inside functions. Does not cover: what is applied to the dataset afterwards, and the memory of whoever
consumes it.

A shuffle that is too large is first moved in front of the maps before it, where elements are smaller: which element
comes next does not depend on what is in it, so the order stays the very same. Only what is too large even there gets
smaller.
"""

from __future__ import annotations

import os
import warnings
from typing import Any

from crashcart.errors import CannotCheckError, UsageError
from crashcart.pipeline.bounded_apply import applied
from crashcart.pipeline.bounded_plan import RUNTIME_BYTES, Buffer, CannotBoundError, Part, Plan, needed_budget, planned
from crashcart.pipeline.bounded_report import BoundedReport, BoundedWarning
from crashcart.pipeline.bounded_shuffle import shuffles_moved
from crashcart.pipeline.bounded_sizes import Sizes
from crashcart.pipeline.bounded_stages import Node, buffers_of, cores, element, read
from crashcart.pipeline.estimate import estimate
from crashcart.pipeline.estimate_functions import CONSTANT_COPIES, CONSTANT_COPIES_KEPT
from crashcart.pipeline.estimate_functions import constant_bytes as constant_bytes_of
from crashcart.probe import memory
from crashcart.probe.tensorflow_dataset_rebuild import constant_bytes, unwrapped
from crashcart.stages import Ground, Pipeline
from crashcart.units import parse_size, size

ROOM_SHARE = 0.8
"""Of what a container has left when nobody names a budget: the model and the program need some, too."""


def bounded(dataset: Any, budget: str | int | None = None) -> Any:
    """The same elements as `dataset` gives, in the same order, from buffers that together stay within the budget.

    `.report` says what was changed; what can be noticed is also a BoundedWarning. CannotBoundError where even the smallest
    buffers do not fit.
    """
    _check(dataset)
    budget_bytes, budget_from = budget_of(budget)
    constants = constant_bytes(dataset) if budget is not None else 0
    if constants >= budget_bytes:
        raise CannotBoundError(
            f"the sources of this dataset hold {size(constants)} in tensors, and the budget is {size(budget_bytes)}",
            "from_tensor_slices copies its arrays: read them from files (np.memmap in from_generator, TFRecord) instead.",
        )
    sizes, as_written = Sizes.measured(dataset)
    inside = constant_bytes_of(as_written.root)
    _check_copies(inside, budget_bytes - constants)
    exist, constants = constants, constants + CONSTANT_COPIES_KEPT * inside
    moved, moves = shuffles_moved(dataset, sizes, lambda nodes: _plan(nodes, sizes, budget_bytes, constants)[1])
    nodes = read(moved)
    buffers, plan = _plan(nodes, sizes, budget_bytes, constants)
    made, changes = applied(nodes, buffers, plan)
    notes = tuple(dict.fromkeys(note for node in nodes for note in node.notes))
    unbounded = tuple(dict.fromkeys(each for node in nodes for each in node.unbounded))
    wanted = _worst(as_written)
    most = max(needed_budget(plan.held_bytes) + CONSTANT_COPIES_KEPT * inside, CONSTANT_COPIES * inside + RUNTIME_BYTES)
    made.report = BoundedReport(
        budget_bytes,
        budget_from,
        wanted,
        most if wanted is None else min(most, wanted),  # no buffer is larger than it was
        exist,
        (*moves, *changes),
        notes,
        any(each.measured for each in buffers),
        unbounded,
    )
    _warn(made.report)
    return made


def _check(dataset: Any) -> None:
    import tensorflow as tf

    if not isinstance(dataset, tf.data.Dataset):
        raise UsageError(
            f"received {type(dataset).__name__}; expected a tf.data.Dataset", "cc.bounded(dataset, '2GiB')"
        )
    if not tf.executing_eagerly() or not hasattr(unwrapped(dataset)._variant_tensor, "numpy"):
        raise CannotCheckError(
            "this dataset is part of a graph, and can only be bounded in eager mode",
            "Call cc.bounded outside of tf.function, and hand the dataset in.",
        )


def _check_copies(inside: int, left_bytes: int) -> None:
    """CannotBoundError where arrays in the graphs of functions are too large: they are copied while the iterator is made."""
    copies = CONSTANT_COPIES * inside
    if inside and copies + RUNTIME_BYTES > left_bytes:
        raise CannotBoundError(
            f"functions of this dataset have {size(inside)} of arrays inside of their graphs, of which {size(copies)} of copies "
            f"are made with the iterator, and {size(left_bytes)} of the budget are left for them",
            "Read them as tensors: t = tf.Variable(array, trainable=False) outside of the function, and t inside.",
        )


def budget_of(budget: str | int | None) -> tuple[int, str]:
    """The budget in bytes and where it comes from. UsageError for one that cannot be meant."""
    if budget is None:
        rooms = memory.rooms(os.getpid())
        if not rooms:
            raise CannotCheckError("nobody knows how much memory is left here", "Say it: cc.bounded(dataset, '2GiB').")
        left, where = min(rooms)
        return int(left * ROOM_SHARE), f"{round(ROOM_SHARE * 100)} % of what the {where} has left"
    try:
        count = parse_size(budget) if isinstance(budget, str) else budget
    except ValueError as error:
        raise UsageError(str(error), "Such as '2GiB', or bytes.") from None
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise UsageError(f"received the budget {budget!r}; expected a size such as '2GiB', or bytes")
    return count, "given"


def _plan(nodes: list[Node], sizes: Sizes, budget_bytes: int, constants: int) -> tuple[list[Buffer], Plan]:
    buffers = [*buffers_of(nodes, sizes), *_last_prefetch(nodes, sizes)]
    return buffers, planned(buffers, budget_bytes, constants)


def _last_prefetch(nodes: list[Node], sizes: Sizes) -> list[Buffer]:
    """TensorFlow prefetches behind the last stage by itself, as far as memory allows; here it is a number."""
    last = nodes[-1]
    while last.kind == "_OptionsDataset":
        last = last.before[0]
    if last.kind == "_PrefetchDataset":
        return []
    found = element(nodes[-1], sizes)
    key = (nodes[-1].number, "last prefetch")
    return [Buffer(key, "the prefetch behind the last stage", Part.AHEAD, 2, 0, found.bytes, measured=found.measured)]


def _worst(pipeline: Pipeline) -> int | None:
    """What a dataset may hold, as `crashcart pipeline` reckons it; None where that has no known end."""
    host = memory.read_host()
    found = estimate(pipeline, Ground(cores(), None if host is None else host.available_bytes))
    return None if found.unknown else found.high_bytes


def _warn(report: BoundedReport) -> None:
    notable = [f"not bounded: {each}" for each in report.unbounded]
    notable += [str(each) for each in report.changes if each.notable]
    if notable:
        warnings.warn(BoundedWarning("; ".join(notable)), stacklevel=4)


__all__ = ["BoundedReport", "BoundedWarning", "CannotBoundError", "bounded"]
