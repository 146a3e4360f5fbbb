"""The search for the largest batch, and the bounds."""

from __future__ import annotations

from crashcart.fit.estimate import MOST_BATCH, estimate, largest_batch, lives, runs_under, stretched
from crashcart.fit.walk import Plans
from crashcart.graph import Graph, Node, Tensor, Variable


def line(batch: int) -> int:
    return 1000 + 10 * batch


def test_a_figure_that_does_not_rise_ends_the_search_at_the_largest_batch_there_is() -> None:
    assert largest_batch(lambda batch: 5, {32: 5, 33: 5}, 10, looks=30) == MOST_BATCH


def test_the_largest_batch_is_where_the_line_meets_the_limit() -> None:
    assert largest_batch(line, {32: line(32)}, 2005) == 100


def test_it_is_found_below_the_batch_that_was_asked_for_too() -> None:
    assert largest_batch(line, {512: line(512)}, 2005) == 100


def test_not_even_one_may_fit() -> None:
    assert largest_batch(line, {32: line(32)}, 900) == 0


def test_steps_in_the_line_do_not_lead_beyond_the_limit() -> None:
    def stairs(batch: int) -> int:
        return line(batch) + (300 if batch > 64 else 0)

    found = largest_batch(stairs, {32: stairs(32)}, 2005)
    assert stairs(found) <= 2005
    assert found >= 64


def test_an_estimate_has_bounds_around_it_and_says_what_is_held() -> None:
    big = Tensor((1 << 20,), 4)
    nodes = (Node("x", "Placeholder", outputs=(big,)), Node("y", "MatMul", ((0, 0),), outputs=(big,)))
    found = estimate(Graph(nodes, (0,)), "train", 8, cores=2)
    assert found.low_bytes < found.peak_bytes < found.high_bytes
    assert found.kinds["input"] == big.bytes
    assert found.largest[0].bytes == big.bytes


def test_few_looks_are_enough_on_a_line() -> None:
    looked: list[int] = []

    def peak(batch: int) -> int:
        looked.append(batch)
        return 70_000 + 1000 * batch

    assert largest_batch(peak, {64: 70_000 + 64_000}, 2_000_500) in range(1910, 1931)
    assert len(looked) <= 3


def test_the_batch_that_is_found_was_itself_looked_at_and_fits() -> None:
    looked: dict[int, int] = {}

    def peak(batch: int) -> int:
        looked[batch] = 5000 + 10 * batch + (batch % 7) * 40
        return looked[batch]

    found = largest_batch(peak, {32: 5320}, 9000)
    assert looked[found] <= 9000
    assert found >= 340


def test_the_middle_of_a_step_is_told_by_moments() -> None:
    big = Tensor((1 << 20,), 4)
    nodes = (Node("x", "Placeholder", outputs=(big,)), Node("y", "MatMul", ((0, 0),), outputs=(big,)))
    found = estimate(Graph(nodes, (0,)), "predict", 8, cores=2)
    assert max(sum(each.held.values()) for each in found.moments) == found.peak_bytes


def drawn(weights_bytes: int) -> Graph:
    """A model of one large weight that is drawn at random, and a step that takes little besides."""
    row = Tensor((256,), 4)
    nodes = (Node("x", "Placeholder", outputs=(row,)), Node("y", "MatMul", ((0, 0),), outputs=(row,)))
    return Graph(nodes, (0,), variables=(Variable("w", weights_bytes, "weights", drawn=True),))


def test_the_upper_bound_leaves_room_for_the_first_values_of_the_weights() -> None:
    found = estimate(drawn(64 << 20), "predict", 8, cores=2)
    assert found.peak_bytes < 80 << 20
    assert found.high_bytes >= 3 * (64 << 20)


def test_a_run_lives_under_its_upper_bound_and_dies_far_below_it() -> None:
    plans = Plans(drawn(64 << 20), 2)
    high = estimate(plans.graph, "predict", 8, cores=2).high_bytes
    assert lives(plans, "predict", high)
    assert not lives(plans, "predict", high // 2)


def test_a_model_of_hundreds_of_gigabytes_is_estimated() -> None:
    found = estimate(drawn(280 << 30), "predict", 1, cores=2)
    assert 280 << 30 <= found.peak_bytes < 600 << 30


def test_evaluation_hands_its_batch_over_and_prediction_keeps_it() -> None:
    big = Tensor((1 << 20,), 4)
    nodes = (Node("x", "Placeholder", outputs=(big,)), Node("y", "Relu", ((0, 0),), outputs=(big,)))
    peaks = {phase: estimate(Graph(nodes, (0,)), phase, 8, cores=2).peak_bytes for phase in ("evaluate", "predict")}
    assert peaks["predict"] - peaks["evaluate"] == big.bytes


def test_a_batch_is_stretched_as_far_as_its_steps_run() -> None:
    assert stretched(100, lambda batch: batch <= 120) in range(117, 121)
    assert stretched(100, lambda batch: False) == 100
    assert stretched(100, lambda batch: batch <= 240) in range(230, 241)
    assert 300 < stretched(100, lambda batch: True) <= 400
    assert stretched(0, lambda batch: True) == 0
    assert stretched(1, lambda batch: False) == 1


def test_steps_run_below_their_peak_where_operations_can_wait() -> None:
    """Two products at a time make the peak; one after the other needs a third less."""
    big = Tensor((4 << 20,), 4)
    nodes = (
        Node("x", "Placeholder", outputs=(big,)),
        *(Node(f"m{number}", "MatMul", ((0, 0),), outputs=(big,)) for number in range(2)),
    )
    graph = Graph(nodes, (0,))
    peak = estimate(graph, "evaluate", 8, cores=2).peak_bytes
    assert runs_under(graph, "evaluate", 2, int(peak * 0.97))
    assert not runs_under(graph, "evaluate", 2, peak // 2)


def test_a_step_in_the_peak_does_not_hold_up_the_search() -> None:
    def peak(batch: int) -> int:
        return 12 if batch < 190 else 42 if batch < 300 else 90

    assert largest_batch(peak, {64: 12}, 41) >= 0.85 * 189
