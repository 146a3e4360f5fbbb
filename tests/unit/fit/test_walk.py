"""The walk over small graphs whose peaks are known by counting. Peaks are counted in tensors of one size."""

from __future__ import annotations

from typing import Any

import pytest

from crashcart.fit.chunks import Chunks, FullError
from crashcart.fit.loop import TURNS_AT_A_TIME
from crashcart.fit.walk import Walk
from crashcart.graph import Graph, Node, Tensor, Variable

MIB = 1 << 20
UNIT = 64 << 10  # small beside the first region, so that chunks are split off it exactly
BIG = Tensor((UNIT // 4,), 4)


def node(name: str, op: str, *inputs: tuple[int, int], out: tuple[Tensor, ...] = (BIG,), **more: Any) -> Node:
    return Node(name, op, inputs, outputs=out, **more)


def peak(nodes: list[Node], results: tuple[tuple[int, int], ...] = (), held: bool = False, **more: Any) -> int:
    graph = Graph(tuple(nodes), (0,), results, **more)
    return round(Walk(graph, cores=1).step([BIG], held).bytes / UNIT)


INPUT = node("x", "Placeholder")


def test_an_elementwise_operation_writes_into_an_input_that_nobody_else_needs() -> None:
    assert peak([INPUT, node("a", "Relu", (0, 0))]) == 1


def test_it_does_not_where_the_caller_keeps_the_input() -> None:
    assert peak([INPUT, node("a", "Relu", (0, 0))], held=True) == 2


def test_it_does_not_where_somebody_else_still_needs_the_input() -> None:
    assert peak([INPUT, node("a", "Relu", (0, 0)), node("b", "MatMul", (0, 0), (1, 0))], results=((2, 0),)) == 3


def test_a_kernel_that_reuses_nothing_needs_both() -> None:
    assert peak([INPUT, node("a", "MatMul", (0, 0))]) == 2


def test_a_tensor_is_freed_after_its_last_reader() -> None:
    chain = [INPUT, *(node(f"m{number}", "MatMul", (number, 0)) for number in range(5))]
    assert peak(chain) == 2


def test_an_alias_takes_no_memory_and_keeps_what_it_points_to() -> None:
    assert peak([INPUT, node("r", "Reshape", (0, 0)), node("m", "MatMul", (1, 0))]) == 2


def test_scratch_is_held_only_while_its_kernel_runs() -> None:
    image, gradient = Tensor((8, 16, 16, 8), 4), Tensor((8, 16, 16, 8), 4)
    kernel = Tensor((3, 3, 8, 8), 4)
    nodes = [
        node("x", "Placeholder", out=(image,)),
        node("g", "MatMul", (0, 0), out=(gradient,)),
        node("s", "Const", out=(Tensor((4,), 4),)),
        node("w", "Conv2DBackpropFilter", (0, 0), (2, 0), (1, 0), out=(kernel,)),
    ]
    walk = Walk(Graph(tuple(nodes), (0,)), cores=1)
    with_scratch = walk.step([image]).bytes
    assert with_scratch > 20 * MIB  # columns of as many images as fill the last cache
    assert walk.chunks.used_bytes < MIB


def variable_graph(read_late: bool) -> Graph:
    """A variable that is read and updated; the reader of its old value runs after the update, or before it."""
    nodes = (
        INPUT,
        Node("v", "VarHandleOp", outputs=(Tensor((), 0),), variable="v"),
        node("read", "ReadVariableOp", (1, 0)),
        node("grad", "MatMul", (0, 0)),
        Node("update", "AssignSubVariableOp", ((1, 0), (3, 0)), waits=(2,) if read_late else (2, 5)),
        node("reader", "MatMul", (2, 0), waits=(4,) if read_late else ()),
    )
    return Graph(nodes, (0,), variables=(Variable("v", UNIT, "weights"),))


def test_a_variable_is_updated_in_place() -> None:
    walk = Walk(variable_graph(read_late=False), cores=1)
    before = walk.variables["v"]
    walk.step([BIG])
    assert walk.variables["v"] is before


def test_a_variable_that_somebody_still_reads_is_copied_and_the_old_value_freed() -> None:
    walk = Walk(variable_graph(read_late=True), cores=1)
    before = walk.variables["v"]
    walk.step([BIG])
    assert walk.variables["v"] is not before
    assert round(walk.chunks.used_bytes / UNIT) == 1


def test_a_variable_may_be_moved_by_a_reader_that_is_not_seen() -> None:
    walk = Walk(variable_graph(read_late=False), cores=1, moved=1.0)
    before = walk.variables["v"]
    walk.step([BIG])
    assert walk.variables["v"] is not before
    assert round(walk.chunks.used_bytes / UNIT) == 1


def loop(turns: int) -> Graph:
    """Pushes one tensor per turn on a list, as the forward pass of a recurrent layer does."""
    number, scalar = Tensor((), 4), (Tensor((), 4),)
    nothing = (Tensor((), 0),)
    body = Graph(
        (
            Node("i", "Placeholder", outputs=(number,)),
            Node("list", "Placeholder", outputs=nothing),
            Node("x", "Placeholder", outputs=(BIG,)),
            Node("one", "Const", outputs=scalar, value=1),
            Node("next", "AddV2", ((0, 0), (3, 0)), outputs=scalar),
            node("made", "MatMul", (2, 0)),
            Node("push", "TensorListPushBack", ((1, 0), (5, 0)), outputs=nothing),
        ),
        (0, 1, 2),
        ((4, 0), (6, 0), (2, 0)),
    )
    condition = Graph(
        (
            Node("i", "Placeholder", outputs=(number,)),
            Node("list", "Placeholder", outputs=nothing),
            Node("x", "Placeholder", outputs=(BIG,)),
            Node("n", "Const", outputs=scalar, value=turns),
            Node("less", "Less", ((0, 0), (3, 0)), outputs=(Tensor((), 1),)),
        ),
        (0, 1, 2),
        ((4, 0),),
    )
    nodes = (
        INPUT,
        Node("zero", "Const", outputs=scalar, value=0),
        Node("empty", "EmptyTensorList", outputs=nothing),
        Node(
            "while",
            "While",
            ((1, 0), (2, 0), (0, 0)),
            outputs=(number, nothing[0], BIG),
            attributes={"body": "body", "cond": "cond"},
        ),
    )
    return Graph(nodes, (0,), ((3, 1),), {"body": body, "cond": condition})


def test_a_loop_turns_as_often_as_its_counter_says_and_its_list_holds_what_was_pushed() -> None:
    for turns in (3, 7):
        walk = Walk(loop(turns), cores=1)
        assert round(walk.step([BIG]).bytes / UNIT) == turns + 1


def test_after_a_step_only_what_stays_is_held() -> None:
    walk = Walk(loop(5), cores=2)
    used = []
    for _ in range(3):
        walk.step([BIG])
        used.append(walk.chunks.used_bytes)
    assert len(set(used[1:])) == 1
    assert used[-1] < UNIT


def test_the_peak_names_what_is_held() -> None:
    walk = Walk(Graph((INPUT, node("a", "MatMul", (0, 0))), (0,)), cores=1)
    found = walk.step([BIG])
    assert {each.name for each in found.held()} >= {"input", "a"}
    assert found.node == "a"
    assert sum(each.bytes for each in found.held()) == found.bytes


def recurrent(turns: int) -> Graph:
    """A turn multiplies what does not change with weights (which needs no turn before it) and adds the state (which does)."""
    number, scalar = Tensor((), 4), (Tensor((), 4),)
    given = (
        Node("i", "Placeholder", outputs=(number,)),
        Node("state", "Placeholder", outputs=(BIG,)),
        Node("x", "Placeholder", outputs=(BIG,)),
    )
    body = Graph(
        (
            *given,
            Node("one", "Const", outputs=scalar, value=1),
            Node("next", "AddV2", ((0, 0), (3, 0)), outputs=scalar),
            node("product", "MatMul", (2, 0)),
            node("sum", "MatMul", (5, 0), (1, 0)),
        ),
        (0, 1, 2),
        ((4, 0), (6, 0), (2, 0)),
    )
    limit = Node("n", "Const", outputs=scalar, value=turns)
    condition = Graph(
        (*given, limit, Node("less", "Less", ((0, 0), (3, 0)), outputs=(Tensor((), 1),))), (0, 1, 2), ((4, 0),)
    )
    nodes = (
        INPUT,
        Node("zero", "Const", outputs=scalar, value=0),
        node("first", "MatMul", (0, 0)),
        Node(
            "while",
            "While",
            ((1, 0), (2, 0), (0, 0)),
            outputs=(number, BIG, BIG),
            attributes={"body": "body", "cond": "cond"},
        ),
    )
    return Graph(nodes, (0,), ((3, 1),), {"body": body, "cond": condition})


def ran(graph: Graph, cores: int = 2) -> list[str]:
    walk = Walk(graph, cores=cores)
    return walk.step([BIG]).operations


def test_each_turn_of_a_loop_runs_once() -> None:
    for turns in (0, 1, 50):
        assert ran(recurrent(turns)).count("sum") == turns
        assert ran(recurrent(turns)).count("product") == turns


def test_what_a_turn_can_compute_without_the_turn_before_is_computed_ahead() -> None:
    names = [each for each in ran(recurrent(10)) if each in ("product", "sum")]
    assert names != ["product", "sum"] * 10


def test_no_more_than_so_many_turns_run_at_a_time() -> None:
    ahead = most = 0
    for name in ran(recurrent(200)):
        ahead += {"next": 1, "sum": -1}.get(name, 0)
        most = max(most, ahead)
    assert 1 < most <= TURNS_AT_A_TIME + 1


def test_after_a_loop_nothing_of_its_turns_is_held() -> None:
    walk = Walk(recurrent(40), cores=2)
    walk.step([BIG])
    assert walk.chunks.used_bytes < UNIT


def test_everything_that_tensorflow_has_not_timed_yet_is_expensive_and_offered_to_others() -> None:
    """Of two readers the worker goes on with the last; with one worker the other comes next."""
    nodes = (INPUT, node("a", "MatMul", (0, 0)), node("b", "Relu", (1, 0)), node("c", "MatMul", (1, 0)))
    assert ran(Graph(nodes, (0,)), cores=1) == ["a", "c", "b"]


def test_what_says_that_it_is_cheap_runs_first() -> None:
    nodes = (INPUT, node("a", "MatMul", (0, 0)), node("b", "Identity", (1, 0)), node("c", "MatMul", (1, 0)))
    assert ran(Graph(nodes, (0,)), cores=1) == ["a", "b", "c"]


def assigned(read_on: bool) -> Walk:
    """A variable is given a new value, which somebody else goes on to read, or nobody."""
    reader = (node("reader", "MatMul", (2, 0), waits=(3,)),) if read_on else ()
    nodes = (
        INPUT,
        Node("v", "VarHandleOp", outputs=(Tensor((), 0),), variable="v"),
        node("value", "MatMul", (0, 0)),
        Node("assign", "AssignVariableOp", ((1, 0), (2, 0))),
        *reader,
    )
    return Walk(Graph(nodes, (0,), variables=(Variable("v", UNIT, "weights"),)), cores=1)


def test_a_variable_takes_over_the_value_it_is_given() -> None:
    for read_on in (False, True):
        walk = assigned(read_on)
        peak = walk.step([BIG]).bytes
        assert round(peak / UNIT) == 3  # the batch, the old value and the new one, and no copy
        assert round(walk.chunks.used_bytes / UNIT) == 1


def test_a_variable_that_rows_are_read_of_is_copied_when_it_is_read_whole() -> None:
    def graph(op: str) -> Graph:
        nodes = (
            INPUT,
            Node("v", "VarHandleOp", outputs=(Tensor((), 0),), variable="v"),
            node("rows", op, (1, 0), (0, 0), out=(Tensor((4,), 4),)),
            node("whole", "ReadVariableOp", (1, 0), waits=(2,)),
        )
        return Graph(nodes, (0,), ((3, 0),), variables=(Variable("v", UNIT, "weights"),))

    peaks = [round(Walk(graph(op), cores=1).step([BIG], held=True).bytes / UNIT) for op in ("NoOp", "ResourceGather")]
    assert peaks == [2, 3]


def test_under_a_limit_a_worker_waits_for_what_another_frees() -> None:
    """Two products at a time do not fit; one after the other they do."""
    nodes = (INPUT, *(node(f"m{number}", "MatMul", (0, 0)) for number in range(2)))
    graph = Graph(nodes, (0,))
    big = Tensor((MIB // 4,), 4)
    large = Graph(tuple(Node(each.name, each.op, each.inputs, outputs=(big,)) for each in nodes), (0,))
    assert Walk(graph, cores=2).step([BIG]).bytes >= 3 * UNIT
    Walk(large, cores=2, chunks=Chunks(3 * MIB)).step([big])
    with pytest.raises(FullError):
        Walk(large, cores=2, chunks=Chunks(2 * MIB + MIB // 2)).step([big])


def test_the_moments_of_a_step_have_its_peak_and_are_few() -> None:
    nodes = [INPUT, *(node(f"m{number}", "MatMul", (number, 0)) for number in range(2000))]
    found = Walk(Graph(tuple(nodes), (0,)), cores=1).step([BIG])
    moments = found.moments()
    assert len(moments) <= 300
    assert max(sum(each.held.values()) for each in moments) == found.bytes
    assert sum(moments[0].held.values()) > 0


def test_the_kinds_of_a_moment_add_up_to_what_is_held() -> None:
    walk = Walk(variable_graph(read_late=True), cores=1)
    found = walk.step([BIG])
    top = max(found.moments(), key=lambda each: sum(each.held.values()))
    assert top.held["weights"] >= UNIT
    assert sum(top.held.values()) == found.bytes


def test_the_gradient_of_a_loss_is_written_into_the_logits() -> None:
    row = Tensor((16,), 4)
    for op, tensors in (("SparseSoftmaxCrossEntropyWithLogits", 2), ("MatMul", 3)):
        nodes = [INPUT, node("logits", "MatMul", (0, 0)), node("loss", op, (1, 0), out=(row, BIG))]
        assert peak(nodes, results=((2, 1),), held=True) == tensors


def test_zeros_like_a_list_are_a_tensor_for_each_element() -> None:
    nothing = (Tensor((), 0),)
    many = Tensor((4, UNIT // 4), 4)
    nodes = (
        node("x", "Placeholder", out=(many,)),
        Node("list", "TensorListFromTensor", ((0, 0),), outputs=nothing),
        Node("zeros", "ZerosLike", ((1, 0),), outputs=nothing),
    )
    found = Walk(Graph(nodes, (0,), ((2, 0),)), cores=1).step([many], held=True)
    assert round(found.bytes / UNIT) == 4 + 4 + 4


def test_a_shape_that_a_tensor_tells_sizes_what_is_made_of_it() -> None:
    nodes = [
        INPUT,
        node("shape", "Shape", (0, 0), out=(Tensor((1,), 4),)),
        node("zero", "Const", out=(Tensor((), 4),)),
        node("made", "Fill", (1, 0), (2, 0), out=(Tensor(None, 4),)),
    ]
    assert peak(nodes, results=((3, 0),), held=True) == 2
