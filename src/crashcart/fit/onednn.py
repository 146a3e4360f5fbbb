"""What oneDNN's kernels take past TensorFlow's allocator while they run.

Covers: filters of convolutions, which are copied to an order of their own; factors of large products, which are packed.
Tensors stay in TensorFlow's own order (read from oneDNN's log), so that nothing else is copied. Does not cover: the code that
oneDNN makes for each kernel, which counts with the operations (`host.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from crashcart.graph import Node, Tensor

# Channels of a filter are filled up to a multiple of this.
CHANNELS = 16
# Of products so large, and with so many columns, the factors are packed, as the growth of a process over 40 products of many
# shapes shows (oneDNN 3 in TensorFlow 2.21). Of the inner dimension and of each thread's rows so much is packed at a time.
PACKED_PRODUCTS = 4e8
PACKED_COLUMNS = 600
DEPTH = 384
ROWS = 384
# What is smaller is lost among the library's other blocks.
LEAST_BYTES = 64 << 10

_FILTER_AT = {
    "Conv2D": 1,
    "_FusedConv2D": 1,
    "Conv3D": 1,
    "_FusedConv3D": 1,
    "Conv2DBackpropInput": 1,
    "Conv3DBackpropInputV2": 1,
}
_FILTER_GRADIENTS = ("Conv2DBackpropFilter", "Conv3DBackpropFilterV2")
_PRODUCTS = ("MatMul", "_FusedMatMul")


def packed_bytes(node: Node, inputs: Sequence[Tensor], cores: int) -> int:
    """How much that is; 0 where it does not matter."""
    found = 0
    if node.op in _FILTER_GRADIENTS:
        found = _blocked_bytes(node.outputs[0])
    elif node.op in _FILTER_AT and len(inputs) > 1:
        found = _blocked_bytes(inputs[1])
    elif node.op in _PRODUCTS and inputs:
        found = _factors_bytes(inputs[0], node.outputs[0], cores)
    return found if found >= LEAST_BYTES else 0


def _blocked_bytes(filters: Tensor) -> int:
    if filters.shape is None:
        return 0
    return prod((*filters.shape[:-2], *map(_filled, filters.shape[-2:]))) * filters.item_bytes


def _filled(channels: int) -> int:
    return -(-channels // CHANNELS) * CHANNELS


def _factors_bytes(factor: Tensor, product: Tensor, cores: int) -> int:
    """Threads share the rows where there are twice as many as columns, and then each of them packs all columns."""
    rows, columns = (0, 0, *(product.shape or ()))[-2:]
    depth = prod(factor.shape or (0,)) // max(1, rows)
    if columns <= PACKED_COLUMNS or rows * columns * depth < PACKED_PRODUCTS:
        return 0
    packed_columns = columns * (cores if rows >= 2 * columns else 1)
    return min(depth, DEPTH) * (packed_columns + cores * ROWS) * factor.item_bytes
