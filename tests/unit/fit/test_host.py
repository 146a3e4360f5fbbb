"""What a process grows by on the host: the parts of the figure, its bounds, and what it says about other machines."""

from __future__ import annotations

import pytest

from crashcart.fit import host
from crashcart.graph import Graph, Node, Tensor, Variable

MIB = 1 << 20


def chain(batch: int, width: int = 1 << 16, length: int = 3, variables: tuple[Variable, ...] = ()) -> Graph:
    """A batch that goes through a chain of products."""
    tensor = Tensor((batch, width), 4)
    nodes = [Node("x", "Placeholder", outputs=(tensor,))]
    nodes += [Node(f"y{each}", "MatMul", ((each, 0),), outputs=(tensor,)) for each in range(length)]
    return Graph(tuple(nodes), (0,), ((length, 0),), {}, variables)


def test_bounds_lie_around_the_figure() -> None:
    found = host.host_peak(chain(64), "train", cores=2)
    assert found.low_bytes < found.bytes < found.high_bytes


@pytest.mark.parametrize("phase", ["train", "evaluate", "predict"])
def test_a_larger_batch_takes_more(phase: str) -> None:
    small, large = (host.host_peak(chain(batch), phase, cores=2).bytes for batch in (64, 512))
    assert large - small >= 2 * 448 * (1 << 16) * 4 * 0.8


def test_even_nothing_takes_what_libraries_take_when_they_are_first_used() -> None:
    tensor = Tensor((1,), 4)
    found = host.host_peak(Graph((Node("x", "Placeholder", outputs=(tensor,)),), (0,)), "predict", cores=2)
    assert 10 * MIB < found.bytes < 300 * MIB


def test_a_graph_of_many_operations_takes_more_than_one_of_few_with_the_same_tensors() -> None:
    few, many = (host.host_peak(chain(1, 16, length), "train", cores=2).bytes for length in (10, 5000))
    assert many > few + MIB


def test_operations_of_functions_count_too() -> None:
    inner = chain(1, 16, 100)
    outer = chain(1, 16, 1)
    called = Graph(outer.nodes, outer.arguments, outer.results, {"body": inner})
    assert host.parts(called, "train", 2).operations == len(outer.nodes) + len(inner.nodes)


def test_weights_are_held_and_drawn_ones_take_more_for_a_moment() -> None:
    weights = Variable("w", 100 * MIB, "weights")
    drawn = Variable("w", 100 * MIB, "weights", drawn=True)
    plain = host.parts(chain(1, 16, 1, (weights,)), "train", 2)
    fresh = host.parts(chain(1, 16, 1, (drawn,)), "train", 2)
    assert 100 * MIB <= plain.tensors_bytes < 101 * MIB
    assert fresh.tensors_bytes > 200 * MIB


def test_predict_collects_its_outputs_and_train_does_not() -> None:
    graph = chain(64, length=1)
    output = 64 * (1 << 16) * 4
    assert host.parts(graph, "predict", 2).tensors_bytes >= 2 * host.PREDICTED_STEPS * output
    assert host.parts(graph, "train", 2).tensors_bytes < 3 * output


def test_hundreds_of_gigabytes_are_only_arithmetic() -> None:
    weights = tuple(Variable(f"w{each}", 1 << 30, "weights") for each in range(400))
    found = host.host_peak(chain(1 << 20, 1 << 14, 3, weights), "predict", cores=2)
    assert found.bytes > 500 << 30


def test_on_a_machine_of_another_kind_the_bounds_are_wider_and_it_is_said() -> None:
    known = host.facts()["machine"]
    here = host.host_peak(chain(64), "train", known["cores"], known["kind"])
    there = host.host_peak(chain(64), "train", known["cores"], "oneDNN kernels, musl malloc")
    assert there.bytes == here.bytes
    assert there.high_bytes > here.high_bytes
    assert there.low_bytes < here.low_bytes
    assert host.caveat(known["cores"], known["kind"]) is None
    assert "musl" in (host.caveat(known["cores"], "oneDNN kernels, musl malloc") or "")


def test_with_many_more_cores_it_is_said_too() -> None:
    known = host.facts()["machine"]
    assert host.caveat(known["cores"], None) is None
    assert "64" in (host.caveat(64, None) or "")


def test_the_kind_of_a_machine_is_told_from_its_flags_and_library() -> None:
    assert host.machine_kind({"avx2"}, "glibc 2.36") == "Eigen kernels, glibc malloc"
    assert host.machine_kind({"avx2", "avx512_vnni"}, "glibc 2.36") == "oneDNN kernels, glibc malloc"
    assert host.machine_kind(None, None) == "other kernels, unknown malloc"


def test_the_facts_say_where_they_come_from() -> None:
    facts = host.facts()
    assert "tensorflow" in facts["versions"]
    assert facts["rows"] == sum(map(len, facts["residuals"].values()))
    for phase in ("train", "predict"):
        below, above = facts["bounds"][phase]
        assert 0 < below < 1 and 0 < above < 1
        assert all(value >= 0 for value in facts["coefficients"][phase].values())
