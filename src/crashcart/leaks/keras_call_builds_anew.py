"""L109 keras-call-builds-anew."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.finding import Finding
from crashcart.growth import Growth, Made, Retraced
from crashcart.leaks._made import GRAPH, is_keras_call, made_anew, traced_again
from crashcart.leaks._tell import Blame, counted_finding
from crashcart.rule import Rank, rule


@rule("L109", "keras-call-builds-anew", Rank.ROOT)
def keras_call_builds_anew(growth: Growth) -> Iterator[Finding]:
    """`predict`, `fit` or `evaluate` in a loop builds functions, iterators or datasets anew with each call.

    ## What it means

    These calls are made for whole data sets. Each one wraps its data into a dataset with an iterator and a function of
    its own; called for single samples in a loop, with arrays of ever new shapes, they pile up, and most of the time
    goes into building. For each new model they trace new functions, whose graphs can stay when the model is gone, after
    `clear_session` and a collection, too.

    ## How we know

    Functions were traced, or iterators, functions and their graphs were made and stayed alive, at a line that calls one
    of them, to the end.

    ## What to do

    Call the model itself for single batches (`model(x, training=False)`), use `predict_on_batch` or `train_on_batch`,
    or hand the whole data over at once. A search over many models runs each of them in a process of its own: what
    TensorFlow traced goes with the process.
    """
    found: list[Made | Retraced] = [
        *traced_again(growth),
        *made_anew(growth, ("tf.function", "dataset iterator", "graph", GRAPH)),
    ]
    calls = [each for each in found if is_keras_call(each)]
    if calls:
        yield counted_finding(growth, _blame(calls[0]))


def _blame(each: Made | Retraced) -> Blame:
    kind = "traces" if isinstance(each, Retraced) else f"{each.kind}s"
    source = (each.frame.source or "") if each.frame is not None else ""
    call = next(
        (name for name in ("predict", "fit", "evaluate", "train_on_batch", "test_on_batch") if f".{name}(" in source),
        "it",
    )
    return Blame(
        f"`{call}` in a loop builds anew with each call",
        f"{each.last - each.first:,} {kind} of {each.name} came in {each.steps:,} steps and are still alive",
        _remedy(call, isinstance(each, Made) and each.kind == GRAPH),
        each.frame,
        each.changed[:3] if isinstance(each, Retraced) else (),
    )


def _remedy(call: str, graphs: bool) -> tuple[str, ...]:
    if graphs:
        return (
            "build and compile one model before the loop, and set its weights anew for each round (`model.set_weights(…)`)",
            "where each round needs another model, run it in a process of its own (`multiprocessing`, start method `spawn`): "
            "what TensorFlow traced goes with it",
        )
    one = (
        "call the model itself in a loop: `model(x, training=False)`"
        if call == "predict"
        else f"hand all data to one call of `{call}`, or use `train_on_batch` in the loop"
    )
    return one, "keep the shapes the same from call to call: pad the last batch"
