"""Loops that the data ends, branches that it chooses, and what a loop carries for nobody. Peaks are counted in tensors of one size."""

from __future__ import annotations

import pytest

from crashcart.fit.estimate import estimate
from crashcart.fit.loop import TURNS_BY_DATA
from crashcart.fit.walk import Walk
from crashcart.graph import Graph, Node, Tensor
from tests.unit.fit.test_walk import BIG, INPUT, UNIT, loop, node

SCALAR, TRUTH = (Tensor((), 4),), (Tensor((), 1),)


def by_data(turns: int | None, op: str = "LogicalAnd") -> Graph:
    """A loop that also asks the data whether to go on; without `turns`, the data alone."""
    graph = loop(turns or 0)
    condition = graph.functions["cond"]
    asked = (
        Node("asks", "Greater", ((2, 0), (2, 0)), outputs=TRUTH),
        Node("both", op, ((4, 0), (5, 0)), outputs=TRUTH),
    )
    result = 5 if turns is None else 6
    changed = Graph((*condition.nodes, *asked), condition.arguments, ((result, 0),))
    return Graph(graph.nodes, graph.arguments, graph.results, {**graph.functions, "cond": changed})


def pushed(graph: Graph) -> int:
    return round(Walk(graph, cores=1).step([BIG]).bytes / UNIT) - 1


def test_a_count_beside_what_the_data_says_is_the_limit() -> None:
    assert pushed(by_data(7)) == 7
    assert estimate(by_data(7), "evaluate", 1, 2).assumed == (
        "a loop whose turns depend on the data was taken as 7 turns, its limit",
    )


@pytest.mark.parametrize("graph", [by_data(None), by_data(7, "LogicalOr")])
def test_a_loop_without_a_limit_is_told_and_widens_the_bound(graph: Graph) -> None:
    found = estimate(graph, "evaluate", 1, 2)
    turns = max(TURNS_BY_DATA, pushed(graph))
    assert found.assumed == (f"a loop whose turns depend on the data was taken as {turns} turns",)
    assert found.high_bytes >= 2 * found.peak_bytes


def test_a_loop_that_only_counts_says_nothing() -> None:
    assert estimate(loop(7), "evaluate", 1, 2).assumed == ()


def test_a_list_that_nobody_asks_for_is_not_filled() -> None:
    graph = loop(7)
    nodes = (*graph.nodes[:3], Node(**{**fields(graph.nodes[3]), "op": "StatelessWhile"}))
    idle = Graph(nodes, graph.arguments, ((3, 2),), graph.functions)
    asked = Graph(nodes, graph.arguments, ((3, 1),), graph.functions)
    assert pushed(asked) == 7
    assert pushed(idle) <= 1


def fields(each: Node) -> dict[str, object]:
    return {name: getattr(each, name) for name in Node.__slots__}


def branches(which: int | None) -> Graph:
    """One branch has many small operations, the other few large ones."""
    small = tuple(Node(f"s{number}", "MatMul", ((number, 0),), outputs=SCALAR) for number in range(9))
    cheap = Graph((node("x", "Placeholder"), *small), (0,), ((9, 0),))
    dear = Graph(
        (node("x", "Placeholder"), node("a", "MatMul", (0, 0)), node("b", "MatMul", (0, 0), (1, 0))), (0,), ((2, 0),)
    )
    nodes = (
        INPUT,
        Node("index", "Const" if which is not None else "Greater", outputs=SCALAR, value=which),
        node("case", "Case", (1, 0), (0, 0), attributes={"branches": ("cheap", "dear", "cheap")}),
    )
    return Graph(nodes, (0,), ((2, 0),), {"cheap": cheap, "dear": dear})


def test_of_many_branches_the_one_that_is_chosen_is_walked_or_else_the_largest() -> None:
    peaks = {which: pushed(branches(which)) + 1 for which in (None, 0, 1, 2, 9)}
    assert peaks == {None: 3, 0: 1, 1: 3, 2: 1, 9: 1}


def test_of_two_branches_the_larger_is_walked_not_that_with_more_operations() -> None:
    graph = branches(None)
    attributes = {"then_branch": "cheap", "else_branch": "dear"}
    changed = (*graph.nodes[:2], node("if", "If", (1, 0), (0, 0), attributes=attributes))
    assert pushed(Graph(changed, (0,), ((2, 0),), graph.functions)) + 1 == 3
