"""The walk over small graphs whose peaks are known by counting. Peaks are counted in tensors of one size."""

from __future__ import annotations

from typing import Any

from crashcart.fit.ahead import computed_ahead
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
    walk.target_bytes = 1
    found = walk.step([BIG])
    assert {name for name, _, _ in found.held} >= {"input", "a"}
    assert found.node == "a"


def test_what_a_loop_can_compute_without_the_turn_before_is_computed_ahead() -> None:
    """A turn multiplies its element with weights (which needs no turn before it) and adds the state (which does)."""
    nothing = (Tensor((), 0),)
    body = Graph(
        (
            Node("list", "Placeholder", outputs=nothing),
            Node("state", "Placeholder", outputs=(BIG,)),
            Node("i", "Const", outputs=(Tensor((), 4),), value=0),
            node("element", "TensorListGetItem", (0, 0), (2, 0)),
            node("product", "MatMul", (3, 0)),
            node("next", "MatMul", (4, 0), (1, 0)),
        ),
        (0, 1),
        ((0, 0), (5, 0)),
    )
    assert computed_ahead(body) == [("product", UNIT)]
