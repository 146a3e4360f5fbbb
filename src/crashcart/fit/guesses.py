"""Sizes that the trace does not tell, found when the inputs are there.

Covers: what follows from the inputs (a shape that one of them tells, element-wise operations, the same elements in another
order), and what is a guess.
Does not cover: elements of lists, which carry their own sizes (`control.py`).
"""

from __future__ import annotations

from math import prod

from crashcart.fit import kernels
from crashcart.fit.values import Value
from crashcart.graph import Node, Shape, Tensor

_SHAPED_BY = {"StridedSliceGrad": 0, "Fill": 0, "Reshape": 1, "BroadcastTo": 1, "RandomUniform": 0}
"""The input that tells the shape of the output."""
_ELEMENTWISE = (kernels.REUSERS - {"AddN"}) | frozenset(
    {
        "Cast",
        "Less",
        "LessEqual",
        "Greater",
        "GreaterEqual",
        "Equal",
        "NotEqual",
        "IsNan",
        "IsFinite",
        "LookupTableFindV2",
    }
)
_REORDERED = kernels.ALIASES | frozenset({"Transpose", "ConjugateTranspose", "Reverse", "ReverseV2", "AddN"})
"""As many elements as the first input has."""


def sized(node: Node, inputs: list[Value], tensor: Tensor) -> tuple[Tensor, bool]:
    """A tensor whose shape the trace does not tell, and whether its size is sure. A guess is as large as the largest input, where
    nothing more is known, which is above the truth for what reduces."""
    shape, sure = _shape(node, inputs, tensor.partly)
    return Tensor(shape, tensor.item_bytes), sure


def _shape(node: Node, inputs: list[Value], partly: Shape | None) -> tuple[Shape, bool]:
    at = _SHAPED_BY.get(node.op)
    told = inputs[at].tells if at is not None and at < len(inputs) else None
    if told is not None:
        return told, True
    known = [each.tensor.shape for each in inputs if each.tensor.shape is not None and each.tensor.item_bytes]
    if not known:
        return tuple(abs(each) for each in partly or ()), partly is None
    if node.op in _ELEMENTWISE and len(known) == len(inputs):
        return _broadcast(known), True
    if node.op == "ConcatV2" and partly is None:
        return (sum(prod(each) for each in known[:-1]),), False
    largest = known[0] if node.op in _REORDERED else max(known, key=prod)
    if partly is None:
        return largest, node.op in _REORDERED
    return _filled(partly, largest, same=node.op in _REORDERED), node.op in _REORDERED


def _broadcast(shapes: list[Shape]) -> Shape:
    rank = max(len(each) for each in shapes)
    padded = [(1,) * (rank - len(each)) + each for each in shapes]
    return tuple(0 if 0 in sizes else max(sizes) for sizes in zip(*padded, strict=True))


def _filled(partly: Shape, largest: Shape, same: bool) -> Shape:
    """What is open as the largest input has it, where that has as many dimensions; else as many elements as that has."""
    if len(partly) == len(largest) and not same:
        return tuple(there if size < 0 else size for size, there in zip(partly, largest, strict=True))
    left = max(1, prod(largest) // max(1, prod(each for each in partly if each >= 0)))
    found = []
    for size in partly:
        found.append(left if size < 0 else size)
        left = 1 if size < 0 else left
    return tuple(found)
