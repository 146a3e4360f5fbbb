"""What functions of a pipeline hold besides calls and buffers: datasets' tensors that they open, arrays inside of their graphs.

Covers: how many datasets an interleave has open, the tensors of those, the copies of constants. Pure, as `estimate.py`.
Does not cover: how large they are (`probe/tensorflow_dataset_inner.py`), buffers of opened datasets (`estimate.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from crashcart.stages import AUTOTUNE, INFINITE, NAMES, Held, Pipeline, Stage

# A parallel interleave opens a cycle and two more of inputs ahead: 12 datasets for a cycle of 4.
_CYCLES_AHEAD = 2
# One more tensor is alive than datasets are open, or a cycle more where they are opened in parallel: elements of the last one
# point into it. Measured with tensors of 60 to 300 MB: flat_map and a cycle of 1 held 2.0 to 2.4 of them (once 3.6), a cycle of
# 3 held 4.6, a parallel cycle of 2 (6 open) 8.0 to 8.8; and the temporaries of one call (a file's bytes beside what was decoded
# of them: one more).
_BEING_REPLACED = 1
_LEAST_OPENED_BYTES = 64 << 10
"""Names of files, and other small tensors, are not worth a row."""
# Resident over the moment before the iterator is made, by an array of 5, 10, 20, 40, 50 and 100 MB that a function of map,
# filter or flat_map reads as a constant: 8 copies up to 20 MB (others lay in the heap already), 11 above, while the graph is
# written, rewritten and read again; 2 stay. Without rewriting: 5, and 1 stays.
CONSTANT_COPIES, CONSTANT_COPIES_KEPT = 11, 2
_PLAIN_COPIES, _PLAIN_COPIES_KEPT = 5, 1


def open_count(stage: Stage) -> int:
    """How many datasets an interleave has open."""
    cycle = max(1, stage.numbers.get("cycle_length", 1))
    ahead = stage.numbers.get("prefetch_input_elements", AUTOTUNE)
    further = ahead if ahead >= 0 else _CYCLES_AHEAD * cycle
    count = cycle if stage.name in ("interleave", "flat_map") else cycle + further
    return _no_more_than_inputs(stage, count)


def opened(stage: Stage, label: str, copies: int, depth: int) -> Held | None:
    """The tensors of the datasets that a stage's function opens; None where nobody could tell how large they are."""
    function = stage.function
    nothing = Held(label, stage.name, "tensors", 0, 0)
    if function is None or function.dataset is None or not _holds_tensors(function.dataset, depth):
        return nothing
    each = function.opened_bytes
    if each is None or each < _LEAST_OPENED_BYTES:
        return None if each is None else nothing
    cycle = max(1, stage.numbers.get("cycle_length", 1))
    count = _no_more_than_inputs(stage, open_count(stage) + replaced(stage.name == "parallel_interleave", cycle))
    most = _no_more_than_inputs(stage, open_count(stage) + 2 * cycle)
    scratch = function.scratch_bytes or 0
    worst = each if function.scratch_bytes is None else 2 * scratch
    return Held(
        f"tensors that {label} opens", stage.name, "tensors", copies * (count * each + scratch),
        copies * (most * each + worst), each, copies * count, depth + 1,
    )  # fmt: skip


def replaced(parallel: bool, cycle: int) -> int:
    """Of how many datasets that are not open any more tensors are still alive."""
    return cycle if parallel else _BEING_REPLACED


def _holds_tensors(inner: Stage, depth: int) -> bool:
    """Tensors of datasets inside of datasets are not measured, and those that hold names of files need not be."""
    return any(depth == 0 or each.spec != NAMES for each in inner.tensor_sources())


def _no_more_than_inputs(stage: Stage, count: int) -> int:
    whole = stage.input.cardinality if stage.input is not None else None
    return count if whole is None or whole == INFINITE else max(1, min(count, whole))


def constant_bytes(root: Stage) -> int:
    """Arrays inside of the graphs of a dataset's functions."""
    return sum(function.constant_bytes for stage in root.walk() for function in stage.functions)


def constants(pipeline: Pipeline, others: Sequence[Held]) -> Held | None:
    """The copies of arrays in graphs. Most live while the iterator is made, when buffers are still empty: they add to the others
    only by what they take more than these."""
    made = kept = 0
    for root, settings in pipeline.parts:
        whole = constant_bytes(root)
        made = max(made, whole * (CONSTANT_COPIES if settings.rewritten else _PLAIN_COPIES))
        kept += whole * (CONSTANT_COPIES_KEPT if settings.rewritten else _PLAIN_COPIES_KEPT)
    if made < _LEAST_OPENED_BYTES:
        return None
    held = max(kept, made - sum(each.bytes for each in others))
    return Held("arrays inside of functions", "constants", "tensors", held, max(held, made))
