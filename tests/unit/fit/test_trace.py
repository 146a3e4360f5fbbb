"""Steps of many kinds of models as plain data, with weights that take no memory."""

from __future__ import annotations

import importlib.util
import random
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from crashcart.errors import CannotCheckError, UsageError
from crashcart.graph import Graph

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("tensorflow") is None, reason="TensorFlow is not installed"),
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),  # of TensorFlow, with NumPy 2
]

KINDS = (
    "dicts",
    "lists",
    "weighted",
    "own_step",
    "open_length",
    "half",
    "accumulating",
    "averaged",
    "nested",
    "called",
)


@pytest.fixture(scope="module")
def kinds() -> Iterator[Any]:
    from tests.unit.fit.programs import kinds

    yield kinds


def traced(build: Any, phase: str = "train", shapes: Any = None, lean: bool = True) -> Any:
    """The trace of what a function builds, with fresh names, so that two of them can be compared."""
    import keras

    from crashcart.probe.tensorflow_load import parted
    from crashcart.probe.tensorflow_specs import batch_specs
    from crashcart.probe.tensorflow_trace import Trace
    from crashcart.probe.tensorflow_weights import note_without_weights, unallocated

    keras.utils.clear_session()
    if not lean:
        model, given = parted(build())
    else:
        with unallocated():
            model, given = parted(build())
        note_without_weights(model)
    return Trace(model, batch_specs(model, given, phase, shapes), phase)


def operations(graph: Graph) -> set[str]:
    return {node.op for each in (graph, *graph.functions.values()) for node in each.nodes}


def unnumbered(graph: Graph) -> list[str]:
    """A step in words, without the numbers that TensorFlow gives to functions."""
    parts = [repr((graph.nodes, graph.variables, graph.results))]
    parts += [repr((each.nodes, each.results)) for each in graph.functions.values()]
    plain = [re.sub(r"(?<=[_/])\d{3,}", "N", each) for each in parts]
    return [plain[0], *sorted(plain[1:])]


def kind_bytes(graph: Graph, kind: str) -> int:
    return sum(each.bytes for each in graph.variables if each.kind == kind)


@pytest.mark.parametrize("name", KINDS)
def test_weights_without_memory_change_nothing_in_the_step(kinds: Any, name: str) -> None:
    lean, full = traced(getattr(kinds, name)).at(6), traced(getattr(kinds, name), lean=False).at(6)
    assert unnumbered(lean) == unnumbered(full)
    assert kind_bytes(lean, "weights") > 0
    assert any(node.outputs and node.outputs[0].shape and node.outputs[0].shape[0] == 6 for node in lean.nodes)


def test_a_batch_by_arithmetic_is_the_batch_by_inference(kinds: Any) -> None:
    for name in ("nested", "open_length", "dicts"):
        trace = traced(getattr(kinds, name))
        for batch in (4, 8, 12):
            trace.at(batch)
        inferred = trace._lines._inferred(37)
        drawn = trace.at(37)
        assert (drawn.nodes, drawn.functions) == (inferred.nodes, inferred.functions)
    square = traced(kinds.pairs, "predict")
    assert max(node.outputs[0].shape or (0,) for node in square.at(50).nodes if node.outputs) >= (2500,)


def test_evaluate_updates_metrics_and_no_weights(kinds: Any) -> None:
    evaluated, trained, predicted = (traced(kinds.dicts, phase).at(8) for phase in ("evaluate", "train", "predict"))
    assert "AssignVariableOp" in operations(evaluated)
    assert "AssignVariableOp" not in operations(predicted)
    assert len(predicted.nodes) < len(evaluated.nodes) < len(trained.nodes)


def test_slots_of_every_optimizer_are_counted(kinds: Any) -> None:
    weights = kind_bytes(traced(kinds.accumulating).at(4), "weights")
    trainable = weights - 2 * 64 * 4  # the moving averages of the normalization are not trained
    assert kind_bytes(traced(kinds.accumulating).at(4), "optimizer") == pytest.approx(3 * trainable, abs=64)
    assert kind_bytes(traced(kinds.averaged).at(4), "optimizer") == pytest.approx(3 * trainable, abs=64)


def test_what_has_no_such_step_is_refused(kinds: Any) -> None:
    with pytest.raises(UsageError, match="not compiled, so that it has no evaluate step"):
        traced(kinds.untrained, "evaluate")
    assert traced(kinds.untrained, "predict").at(3).results
    assert "run_eagerly" in traced(kinds.eager).notes[0]
    with pytest.raises(CannotCheckError, match="the model does not take such a batch"):
        traced(lambda: (kinds.dicts(), kinds.tf.TensorSpec((None, 3))))
    with pytest.raises(CannotCheckError, match="the train step cannot be traced"):
        traced(lambda: (kinds.half(), (kinds.tf.TensorSpec((None, 40)), kinds.tf.TensorSpec((None, 9)))))


def test_updates_that_are_traced_once_are_all_there(monkeypatch: pytest.MonkeyPatch) -> None:
    from crashcart.probe import tensorflow_trace, tensorflow_updates
    from tests.unit.fit.programs.decoder import small

    monkeypatch.setattr(tensorflow_trace, "MOST_OPTIMIZED", 0)  # as it is with many variables
    whole = traced(small).at(4)
    monkeypatch.setattr(tensorflow_updates, "MANY_VARIABLES", 0)
    trace = traced(small)
    assert "without TensorFlow's optimizer" in trace.notes[0]
    completed = trace.at(4)
    assert computed(completed) == computed(whole)
    assert sorted(written(completed)) == sorted(written(whole))
    assert len(set(written(completed))) > 50
    assert [each.bytes for each in completed.variables] == [each.bytes for each in whole.variables]


def computed(graph: Graph) -> Counter[Any]:
    """What is computed, in which shapes; constants are shared by updates that are traced once."""
    return Counter((node.op, tuple(each.shape for each in node.outputs)) for node in graph.nodes if node.op != "Const")


def written(graph: Graph) -> list[int]:
    """The variables that are written, by their place in the order in which they were made."""
    places = {each.name: number for number, each in enumerate(graph.variables)}
    writes = [node for node in graph.nodes if node.op.startswith("Assign")]
    return [places[str(graph.nodes[node.inputs[0][0]].variable)] for node in writes]


def test_the_optimizers_pass_for_functions_runs_where_others_than_loops_have_some() -> None:
    import tensorflow as tf

    from crashcart.probe.tensorflow_trace import _calls_in_loops_alone

    def definition(step: Any) -> Any:
        concrete = tf.function(step, autograph=False).get_concrete_function(tf.TensorSpec((4,)))
        return concrete.graph.as_graph_def()

    def looped(x: Any) -> Any:
        return tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, y + 1), (0, x))

    def branched(x: Any) -> Any:
        return tf.cond(x[0] > 0, lambda: x + 1, lambda: x - 1)

    assert _calls_in_loops_alone(definition(lambda x: x + 1)), "it has no functions"
    assert _calls_in_loops_alone(definition(looped)) and definition(looped).library.function
    assert not _calls_in_loops_alone(definition(branched))


def test_a_model_of_70_billion_parameters_is_built_without_its_weights() -> None:
    """Built alone: tracing all of it takes a while, and is measured by the bench."""
    from crashcart.probe.tensorflow_weights import unallocated
    from tests.unit.fit.programs.decoder import decoder

    before = resident_bytes()
    with unallocated():
        model = decoder(depth=3, width=8192, heads=64, hidden=28672, words=128256, length=64)
        model.optimizer.build(model.trainable_variables)
    assert model.count_params() > 4e9
    assert resident_bytes() - before < 300e6


def resident_bytes() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def test_a_live_model_is_traced_and_left_as_it_was(kinds: Any) -> None:
    import keras
    import numpy as np

    from crashcart.probe.tensorflow_live import load_live
    from crashcart.probe.tensorflow_specs import batch_specs
    from crashcart.probe.tensorflow_trace import Trace

    model = kinds.dicts()
    optimizer, losses, values = model.optimizer, model._compile_loss, model.get_weights()
    keras.utils.set_random_seed(5)
    name = keras.layers.Dense(1).name
    with load_live(model) as (live, given):
        graph = Trace(live, batch_specs(live, given, "train"), "train").at(4)
    assert kind_bytes(graph, "optimizer") > kind_bytes(graph, "weights")
    assert (model.optimizer, model._compile_loss) == (optimizer, losses)
    assert not optimizer.built
    assert not losses.built
    assert len(optimizer.variables) == 2
    assert all((one == other).all() for one, other in zip(values, model.get_weights(), strict=True))
    drawn = random.random(), float(np.random.rand()), float(keras.random.normal(()))
    assert int(keras.layers.Dense(1).name.rpartition("_")[2]) == int(name.rpartition("_")[2] or 0) + 1
    keras.utils.set_random_seed(5)
    keras.layers.Dense(1)
    assert drawn == (random.random(), float(np.random.rand()), float(keras.random.normal(())))
    batch = {"image": np.zeros((4, 8, 8, 3)), "table": np.zeros((4, 5))}
    targets = {"price": np.zeros((4, 1)), "kind": np.zeros((4,), "int32")}
    assert np.isfinite(model.fit(batch, targets, verbose=0).history["loss"][0])  # it trains as if nothing had been


def test_a_live_function_is_called_and_an_unbuilt_model_is_copied(kinds: Any) -> None:
    from crashcart.probe.tensorflow_live import load_live
    from crashcart.probe.tensorflow_specs import batch_specs
    from crashcart.probe.tensorflow_trace import Trace

    with load_live(kinds.looked_at) as (model, given):  # it looks at its weights, and gets real ones
        assert Trace(model, batch_specs(model, given, "train"), "train").at(2).nodes
    unbuilt = kinds.words()
    with load_live(unbuilt) as (model, given):
        assert Trace(model, batch_specs(model, given, "train", [(30,)]), "train").at(2).nodes
    assert not unbuilt.built
    with pytest.raises(UsageError, match="needs shape"), load_live(lambda shape: None):
        pass
