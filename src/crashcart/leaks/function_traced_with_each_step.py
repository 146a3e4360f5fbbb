"""L108 function-traced-with-each-step."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.finding import Finding
from crashcart.growth import Growth, Retraced
from crashcart.leaks._made import is_keras_call, traced_again
from crashcart.leaks._tell import Blame, counted_finding
from crashcart.rule import Rank, rule


@rule("L108", "function-traced-with-each-step", Rank.ROOT)
def function_traced_with_each_step(growth: Growth) -> Iterator[Finding]:
    """A tf.function is traced again and again, and every trace stays.

    ## What it means

    A tf.function keeps a graph for each kind of arguments that it has seen: a new shape, a new Python number or string,
    a new object. Where these are new with each step, memory grows by a graph a step, and each step takes as long as a
    trace.

    ## How we know

    The concrete functions of each tf.function were counted over the steps: they became more to the end. What was
    different between the calls is read from their signatures.

    ## What to do

    Hand over tensors instead of Python numbers (`tf.constant(step)`), fix the signature
    (`input_signature=[tf.TensorSpec([None, 10], tf.float32)]`), or let TensorFlow generalise (`reduce_retracing=True`).
    """
    for each in traced_again(growth)[:3]:
        if not is_keras_call(each):
            yield counted_finding(growth, _blame(each))


def _blame(each: Retraced) -> Blame:
    times = each.last - each.first
    return Blame(
        f"`{each.name}` is traced again and again",
        f"{each.name} was traced {times:,} times in {each.steps:,} steps, and each trace keeps its graph",
        tuple(_remedy(each)),
        each.frame,
        each.changed[:4],
    )


def _remedy(each: Retraced) -> Iterator[str]:
    changed = " ".join(each.changed)
    if "Python" in changed or "number" in changed or "string" in changed:
        yield f"hand over tensors instead of Python values: `{each.name}(tf.constant(value))`"
    if "shape" in changed:
        yield "fix the signature: `@tf.function(input_signature=[tf.TensorSpec([None, …], tf.float32)])`, or pad to one shape"
    yield "let TensorFlow generalise: `@tf.function(reduce_retracing=True)`"
    if "object" in changed or not each.changed:
        yield "do not make the objects that it takes anew with each step"
