"""A step at any batch from its shapes at a few."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from crashcart.graph import Graph, Node, Shape, Tensor
from crashcart.probe.tensorflow_lines import Lines


class Inferred:
    """A step of one tensor, and how often it was asked for."""

    def __init__(
        self, shape: Callable[[int], Shape | None], value: Callable[[int], int | None] = lambda batch: None
    ) -> None:
        self.shape, self.value = shape, value
        self.asked: list[int] = []

    def __call__(self, batch: int) -> Graph:
        self.asked.append(batch)
        fixed = Node("w", "Const", outputs=(Tensor((3,), 4),))
        node = Node("x", "Mul", ((0, 0),), outputs=(Tensor(self.shape(batch), 4),), value=self.value(batch))
        return Graph((fixed, node), functions={"body": Graph((node,))})


def test_three_batches_are_inferred_and_the_rest_is_arithmetic() -> None:
    inferred = Inferred(lambda batch: (2 * batch + 1, 7, batch), lambda batch: batch)
    lines = Lines(inferred)
    for batch in (8, 16, 20, 100, 1, 8):
        assert lines.at(batch) == Inferred(inferred.shape, inferred.value)(batch)
    assert inferred.asked == [8, 16, 20]


@pytest.mark.parametrize(
    "shape",
    [
        lambda batch: (batch * batch,),
        lambda batch: (batch // 2, 3),
        lambda batch: (min(batch, 20),),
        lambda batch: (batch,) if batch < 20 else None,
    ],
)
def test_what_is_no_line_is_inferred_each_time(shape: Callable[[int], Shape | None]) -> None:
    inferred = Inferred(shape)
    lines = Lines(inferred)
    batches = (9, 16, 25, 101)
    for batch in batches:
        assert lines.at(batch) == Inferred(shape)(batch)
    assert inferred.asked == list(batches)


def test_a_shape_that_is_never_known_stays_unknown() -> None:
    lines = Lines(Inferred(lambda batch: None, lambda batch: batch))
    for batch in (1, 2, 3, 4):
        assert lines.at(batch).nodes[1].outputs[0].shape is None
