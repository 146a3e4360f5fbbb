"""A graph that is imported part by part is read as the whole is."""

from __future__ import annotations

from typing import Any

import pytest

from crashcart.probe import tensorflow_graph
from crashcart.probe.tensorflow_graph import Reader
from crashcart.probe.tensorflow_parts import imported_in_parts

tf = pytest.importorskip("tensorflow")


def _definition(function: Any, *specs: Any) -> tuple[Any, Any]:
    graph = tf.function(function).get_concrete_function(*specs).graph
    return graph.as_graph_def(), graph


def _reshaping(picture: Any, ids: Any) -> Any:
    """Shapes that are computed from shapes, far from where they are used; an operation with two results; whole numbers as data."""
    rows = tf.shape(picture)[0] * 2
    left, right = tf.split(tf.nn.relu(picture), 2, axis=1)
    for _ in range(10):
        left = tf.nn.relu(left + right)
    found = tf.reshape(left, tf.stack([rows, -1]))
    table = tf.reshape(tf.range(12.0), (4, 3))
    return found, tf.gather(table, ids), tf.where(ids > 1)


def _read(definition: Any, most: int, monkeypatch: pytest.MonkeyPatch) -> Any:
    parts = []

    def cut(given: Any, imported: Any) -> Any:
        for each in imported_in_parts(given, imported, most):
            parts.append(len(each))
            yield each

    monkeypatch.setattr(tensorflow_graph, "imported_in_parts", cut)
    return Reader(definition, (), ()).read(6), parts


@pytest.mark.parametrize("most", [1, 5, 17])
def test_parts_are_read_as_the_whole(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    specs = tf.TensorSpec((None, 8)), tf.TensorSpec((None,), tf.int32)
    definition, _ = _definition(_reshaping, *specs)
    whole, one = _read(definition, 10_000, monkeypatch)
    read, parts = _read(definition, most, monkeypatch)
    assert len(one) == 1
    assert len(parts) == -(-len(definition.node) // most)
    assert read.nodes == whole.nodes
    assert {each.outputs[0].shape for each in read.nodes if each.op == "Reshape"} >= {(12, 2)}


def test_what_a_part_left_is_given_back_before_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[int] = []
    monkeypatch.setattr(tensorflow_graph, "give_back", lambda: given.append(1))
    definition, _ = _definition(_reshaping, tf.TensorSpec((None, 8)), tf.TensorSpec((None,), tf.int32))
    _read(definition, 10_000, monkeypatch)
    assert not given
    _, parts = _read(definition, 10, monkeypatch)
    assert len(given) == len(parts) > 1


def test_a_graph_with_a_loop_is_not_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    def counting(start: Any) -> Any:
        return tf.while_loop(lambda number, _: number < 3, lambda number, x: (number + 1, x * 2), (0, start))[1]

    definition, _ = _definition(counting, tf.TensorSpec((4,)))
    read, parts = _read(definition, 2, monkeypatch)
    assert parts[0] == len(definition.node)
    assert len(read.nodes) == len(definition.node)


def test_a_large_definition_is_kept_written(monkeypatch: pytest.MonkeyPatch) -> None:
    definition, _ = _definition(lambda x: tf.nn.relu(x), tf.TensorSpec((None, 3)))
    plain = Reader(definition, (), ())
    monkeypatch.setattr(tensorflow_graph, "MOST_AT_ONCE", 1)
    large = Reader(definition, (), ())
    assert large._kept is None
    assert [large.read(batch).nodes for batch in (2, 5)] == [plain.read(batch).nodes for batch in (2, 5)]
