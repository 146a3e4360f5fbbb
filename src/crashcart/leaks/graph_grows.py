"""L112 graph-grows."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.finding import Finding
from crashcart.growth import Growth
from crashcart.leaks._holders import main_site
from crashcart.leaks._made import LEAST_OPERATIONS, comes_along, rising
from crashcart.leaks._tell import Blame, counted_finding
from crashcart.rule import Rank, rule


@rule("L112", "graph-grows", Rank.ROOT)
def graph_grows(growth: Growth) -> Iterator[Finding]:
    """The default graph gets operations with each step.

    ## What it means

    In TensorFlow 1's way of working a graph is built once and run often. An operation that is built inside of the loop
    (`tf.add(a, b)`, `tf.assign(…)`, even `a + b`) is added with each pass, never leaves, and makes each `session.run`
    slower.

    ## How we know

    The operations of the default graph were counted over the steps, and became more to the end.

    ## What to do

    Build all operations before the loop, feed what changes (`feed_dict`), and call `graph.finalize()` after building:
    then the line that adds one raises an error.
    """
    found = rising(growth, "operations", LEAST_OPERATIONS)
    if found is None or comes_along(growth, "operation"):
        return
    made = max((each for each in growth.made if each.kind == "operation"), key=lambda each: each.last, default=None)
    site = main_site(growth)
    each = found.climb.per_step
    blame = Blame(
        "the default graph gets operations with each step",
        f"the graph went from {found.climb.first:,} to {found.climb.last:,} operations, {each:.1f} a step",
        (
            "build all operations before the loop, and feed what changes: `session.run(op, feed_dict={x: value})`",
            "`tf.compat.v1.get_default_graph().finalize()` before the loop: the line that adds one then raises an error",
        ),
        made.frame if made is not None else site.frame if site is not None else None,
    )
    yield counted_finding(growth, blame)
