"""How far a loop runs ahead of itself.

Covers: what the turns of a loop compute before the turn before them is done. TensorFlow lets 32 turns of a loop run at a time:
whatever needs only the loop's counter, and not what the turn before computed, is done for all of them at once. In a recurrent
layer that is the product of the input with the weights, and it is held until its turn comes.
Does not cover: running the loop (`control.py`).
"""

from __future__ import annotations

from collections.abc import Iterable

from crashcart.fit.kernels import ALIASES
from crashcart.graph import Graph

TURNS_AT_A_TIME = 32
_POINTS_ELSEWHERE = ALIASES | {
    "TensorListGetItem",
    "TensorListPopBack",
    "Const",
    "ReadVariableOp",
    "Placeholder",
    "VarHandleOp",
}


_KEEPS = frozenset({"TensorListSetItem", "TensorListPushBack"})


def computed_ahead(body: Graph) -> list[tuple[str, int | None]]:
    """Name and bytes of each tensor of a turn that is computed ahead and waits for the turn before, or is kept in a list.
    Bytes are None where only the turn itself can tell."""
    carried = _carried(body)
    late = _late_nodes(body, carried)
    waiting: dict[tuple[int, int], tuple[str, int | None]] = {}
    for index, node in enumerate(body.nodes):
        if index not in late and node.op not in _KEEPS:
            continue
        for source, number in node.inputs:
            maker = body.nodes[source]
            if source in late or maker.op in _POINTS_ELSEWHERE:
                continue
            made = maker.outputs[number]
            if made.shape is None or (made.shape and made.bytes):
                waiting[source, number] = (maker.name, made.bytes)
    return list(waiting.values())


def _carried(body: Graph) -> set[int]:
    """The arguments that a turn takes from the turn before and that are tensors with a shape, not counters or constants."""
    found = set()
    for argument, (result, _) in zip(body.arguments, body.results, strict=False):
        tensor = body.nodes[argument].outputs[0] if body.nodes[argument].outputs else None
        if _origin(body, result) != argument and tensor is not None and tensor.item_bytes and tensor.shape:
            found.add(argument)
    return found


def _origin(body: Graph, index: int) -> int:
    """Where a chain of aliases begins."""
    while body.nodes[index].op in ALIASES and body.nodes[index].inputs:
        index = body.nodes[index].inputs[0][0]
    return index


def _late_nodes(body: Graph, carried: Iterable[int]) -> set[int]:
    """What depends on the turn before, directly or by lists that are filled from it."""
    late = set(carried)
    while True:
        before = len(late)
        for index, node in enumerate(body.nodes):
            if index not in late and any(source in late for source, _ in node.inputs):
                late.add(index)
        for argument, (result, _) in zip(body.arguments, body.results, strict=False):
            if result in late:
                late.add(argument)
        if len(late) == before:
            return late
