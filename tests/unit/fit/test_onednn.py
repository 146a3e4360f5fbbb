"""What oneDNN's kernels take past TensorFlow's allocator, beside what processes were seen to grow by."""

from __future__ import annotations

import pytest

from crashcart.fit.onednn import packed_bytes
from crashcart.graph import Node, Tensor


def tensor(*shape: int) -> Tensor:
    return Tensor(shape, 4)


@pytest.mark.parametrize(
    ("rows", "depth", "columns", "megabytes"),
    [
        (512, 784, 1024, 2.8),
        (2048, 784, 1024, 4.3),
        (784, 2048, 1024, 2.8),
        (8192, 192, 625, 1.6),
        (768, 192, 5000, 4.4),
    ],
)
def test_factors_of_large_products_are_packed(rows: int, depth: int, columns: int, megabytes: float) -> None:
    node = Node("product", "MatMul", outputs=(tensor(rows, columns),))
    for factor in (tensor(rows, depth), tensor(depth, rows)):
        assert packed_bytes(node, [factor, tensor(depth, columns)], 2) / 1e6 == pytest.approx(megabytes, rel=0.06)


@pytest.mark.parametrize(
    ("rows", "depth", "columns"), [(1024, 512, 512), (2048, 2048, 512), (16, 4608, 4096), (4096, 128, 512), (8, 8, 8)]
)
def test_factors_of_others_are_not(rows: int, depth: int, columns: int) -> None:
    node = Node("product", "MatMul", outputs=(tensor(rows, columns),))
    assert packed_bytes(node, [tensor(rows, depth), tensor(depth, columns)], 2) == 0


def test_filters_are_copied_with_their_channels_filled_up() -> None:
    image, filters, out = tensor(8, 12, 12, 500), tensor(3, 3, 500, 512), tensor(8, 12, 12, 512)
    copied = 3 * 3 * 512 * 512 * 4
    assert packed_bytes(Node("a", "Conv2D", outputs=(out,)), [image, filters], 2) == copied
    assert packed_bytes(Node("b", "Conv2DBackpropInput", outputs=(image,)), [tensor(4), filters, out], 2) == copied
    assert packed_bytes(Node("c", "Conv2DBackpropFilter", outputs=(filters,)), [image, tensor(4), out], 2) == copied


def test_where_nothing_is_known_or_little_is_copied_nothing_is_said() -> None:
    image, out = tensor(8, 12, 12, 3), tensor(8, 12, 12, 32)
    assert packed_bytes(Node("a", "Conv2D", outputs=(out,)), [image, tensor(3, 3, 3, 32)], 2) == 0
    unknown = Tensor(None, 4)
    assert packed_bytes(Node("b", "Conv2D", outputs=(out,)), [image, unknown], 2) == 0
    assert packed_bytes(Node("c", "MatMul", outputs=(unknown,)), [unknown, unknown], 2) == 0
    assert packed_bytes(Node("d", "Relu", outputs=(out,)), [out], 2) == 0
