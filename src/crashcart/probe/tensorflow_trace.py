"""The step that Keras would run, traced and optimized as TensorFlow would, as plain data.

Covers: train, evaluate and predict steps, custom ones too; TensorFlow's own graph optimizer (grappler) is run on the trace,
so that what it fuses and folds is fused and folded here; shapes at any batch from one trace (`tensorflow_graph`).
Does not cover: what a step costs (`fit/`). No data, no activation and no variable is allocated: a model that was traced is
not to be run afterwards, except by way of `tensorflow_live`. TensorFlow is imported when used.
"""

from __future__ import annotations

import gc
import io
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

from crashcart.errors import CannotCheckError, CrashcartError, UsageError
from crashcart.graph import LOOPS, Graph, Variable
from crashcart.probe.cache import last_cache_bytes
from crashcart.probe.machine import read_machine
from crashcart.probe.onednn import VARIABLE, takes_onednn
from crashcart.probe.tensorflow_graph import Reader, dismantled, give_back
from crashcart.probe.tensorflow_lines import Lines
from crashcart.probe.tensorflow_load import NeedsWeightsError
from crashcart.probe.tensorflow_said import said
from crashcart.probe.tensorflow_shapes import put_down, told_shapes
from crashcart.probe.tensorflow_sizes import slots
from crashcart.probe.tensorflow_specs import outputs
from crashcart.probe.tensorflow_updates import Kind, NotAlikeError, completed, traced_once
from crashcart.probe.tensorflow_weights import WeightsReadError, unallocated

# TensorFlow's optimizer takes about 10 kB for each operation (measured on MobileNetV2 and a decoder). Beyond this many the
# process would grow by more than 300 MB, and a step is read as it was traced.
MOST_OPTIMIZED = 25_000
# A graph of so many operations takes 20 MB; to look for it among all objects takes a quarter of a second.
_MOST_KEPT = 5_000
ANY_BATCH = 8
_DEVICE = "/job:localhost/replica:0/task:0/device:CPU:0"


class TraceError(CannotCheckError):
    """TensorFlow could not trace the step."""

    help = "See that `model.fit` runs on one small batch; if it does, return (model, example_batch) from the function."


class Trace:
    """One traced step. `at(batch)` gives it as plain data."""

    def __init__(self, model: Any, specs: tuple[Any, ...], phase: str, batch: int = ANY_BATCH) -> None:
        """`batch` is one that will be asked for, where that is known."""
        self._batch = batch
        check_traceable(model, phase)
        self.notes = _notes(model)
        with _told(phase), unallocated(), _uncollected():
            try:
                self._lines = self._traced(model, specs, phase, alike=True)
            except NotAlikeError:
                self.notes = _notes(model)
                self._lines = self._traced(model, specs, phase, alike=False)

    def _traced(self, model: Any, specs: tuple[Any, ...], phase: str, alike: bool) -> Lines:
        graph, kinds = _traced(model, specs, phase, alike)
        self._variables, names = _variables(model, graph)
        inputs = tuple(_node_name(each) for each in _data_inputs(graph))
        results = tuple((_node_name(each), each.value_index) for each in graph.outputs)
        written, handles, told = _written(graph), _handles(graph), told_shapes(graph, _MOST_KEPT)
        kept = [each.name for each in (*graph.outputs, *graph.control_outputs)]
        large = len(graph.get_operations()) > _MOST_KEPT
        dismantled(graph)
        del graph  # before the next large thing is made
        if large:
            gc.collect()
            give_back()
        whole = _whole(written, handles)
        del written
        if len(whole.node) > MOST_OPTIMIZED:
            self.notes += (f"a step of {len(whole.node)} operations is read without TensorFlow's optimizer",)
        self._operations = len(whole.node) + sum(len(each.node_def) for each in whole.library.function)
        optimized = _optimized(whole, kept)
        del whole
        put_down(optimized, told)
        reader = Reader(optimized, inputs, results)
        del optimized, told
        lines = Lines(lambda batch: completed(reader.read(batch), kinds, names, reader.places))
        if kinds:
            lines.at(self._batch)  # whether the updates can be completed shows here
        if large:
            give_back()
        return lines

    def at(self, batch: int) -> Graph:
        """The step at that batch."""
        with _uncollected():
            found = self._lines.at(batch)
        return replace(found, variables=self._variables, traced=self._operations, cache_bytes=last_cache_bytes())


def check_traceable(model: Any, phase: str) -> None:
    """Raise where a model has no such step, or one that is not traced."""
    if phase != "predict" and not model.compiled:
        raise UsageError(
            f"the model is not compiled, so that it has no {phase} step", "Compile it, or say --phase predict."
        )
    if getattr(model, "_jit_compile", None) is True:
        raise CannotCheckError(
            "the model is compiled with jit_compile=True: XLA plans its memory itself, and that plan cannot be traced",
            "Compile it with jit_compile=False to see what it takes without XLA.",
        )


def _notes(model: Any) -> tuple[str, ...]:
    if getattr(model, "run_eagerly", False):
        return ("the step runs as a graph; with run_eagerly=True it takes longer, and often more memory",)
    return ()


@contextmanager
def _told(phase: str) -> Iterator[None]:
    """Errors of a trace as words."""
    try:
        yield
    except CrashcartError:
        raise
    except WeightsReadError as error:
        raise NeedsWeightsError(f"the {phase} step looks at {error} while it is traced") from error
    except Exception as error:
        raise TraceError(f"the {phase} step cannot be traced: {said(error)}") from error


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without Python's search for garbage, which walks all of TensorFlow's objects again and again, and without the
    stack of Python that TensorFlow keeps for each operation: a fifth of the time of a trace (10.2 s to 8.2 s, MobileNetV2)."""
    from tensorflow.python.util import tf_stack

    was, extract, one = gc.isenabled(), tf_stack.extract_stack, tf_stack.extract_stack()
    gc.disable()
    tf_stack.extract_stack = lambda stacklevel=1: one
    try:
        yield
    finally:
        tf_stack.extract_stack = extract
        if was:
            gc.enable()


def _traced(model: Any, specs: tuple[Any, ...], phase: str, alike: bool) -> tuple[Any, list[Kind]]:
    """The graph of the step, as Keras would make it, and the updates in it that stand for others."""
    from tensorflow.python.framework.func_graph import func_graph_from_py_func

    _build(model, specs, phase)
    step = {"train": "train_step", "evaluate": "test_step", "predict": "predict_step"}[phase]
    with ExitStack() as stack:
        stack.callback(_gradients_forgotten())
        kinds = stack.enter_context(traced_once(model)) if phase == "train" and alike else []
        return func_graph_from_py_func(step, getattr(model, step), (specs,), {}), kinds


def _gradients_forgotten() -> Callable[[], None]:
    """TensorFlow registers gradients of functions that have their own (silu is one) for ever, and with them the whole graph.
    What is returned takes back those that were registered since."""
    from tensorflow.python.framework import ops

    registered = getattr(getattr(ops, "gradient_registry", None), "_registry", {})
    before = set(registered)

    def forget() -> None:
        for name in set(registered) - before:
            if str(name).startswith("CustomGradient"):
                del registered[name]

    return forget


def _build(model: Any, specs: tuple[Any, ...], phase: str) -> None:
    """Make what the first step would make: layers, metrics, slots. A variable that is made within a trace costs more."""
    try:
        _build_layers(model, specs, phase)
    except Exception:  # a model need not be callable as a whole; its step may build it, and else says why it cannot
        return
    optimizer = getattr(model, "optimizer", None)
    if phase == "train" and optimizer is not None and not optimizer.built and _is_built(model):
        optimizer.build(model.trainable_variables)


def _build_layers(model: Any, specs: tuple[Any, ...], phase: str) -> None:
    import keras
    from keras.src.backend import compute_output_spec
    from keras.src.trainers.data_adapters.data_adapter_utils import unpack_x_y_sample_weight

    inputs, targets, weights = unpack_x_y_sample_weight(specs)
    loss, metrics = model._compile_loss, model._compile_metrics
    building = [each for each in (loss, metrics) if phase != "predict" and each is not None and not each.built]
    if _is_built(model) and not building:
        return
    made = outputs(model, inputs)
    x, y, weight = keras.tree.map_structure(_symbol, (inputs, targets, weights))
    if metrics in building:
        compute_output_spec(model.compute_metrics, x, y, made, sample_weight=weight)
    if loss in building:
        compute_output_spec(model._compute_loss, x, y, made, sample_weight=weight, training=False)


def _is_built(model: Any) -> bool:
    return all(each.built for each in model._flatten_layers())


def _symbol(spec: Any) -> Any:
    import keras

    return None if spec is None else keras.KerasTensor(spec.shape, spec.dtype.name)


def _node_name(tensor: Any) -> str:
    return str(tensor.op.name)


def _data_inputs(graph: Any) -> list[Any]:
    captured = {id(inner) for _, inner in graph.captures}
    return [each for each in graph.inputs if id(each) not in captured]


def _variables(model: Any, graph: Any) -> tuple[tuple[Variable, ...], dict[int, str]]:
    """All variables in the order in which they are made, by the name of their handle in the graph where the step uses them;
    and that name by the id of TensorFlow's own."""
    handles = {id(outer): _node_name(inner) for outer, inner in graph.captures}
    place = {handle: number for number, handle in enumerate(handles)}
    read = sorted(graph.variables, key=lambda each: place.get(id(each.handle), len(place)))
    made = [(each.value, "weights") for each in model.weights]
    made += [(each.value, "optimizer") for each in slots(model)]
    made += [(each.value, "other") for each in model.variables]
    made += [(each, "other") for each in read]
    found: dict[str, Variable] = {}
    names: dict[int, str] = {}
    for variable, kind in made:
        if id(variable) in names:
            continue
        name = names[id(variable)] = handles.get(id(variable.handle), f"unused {len(names) + 1}")
        drawn = kind == "weights" and (variable.shape.rank or 0) > 1
        found[name] = Variable(name, variable.shape.num_elements() * variable.dtype.size, kind, drawn)
    return tuple(found.values()), names


def _handles(graph: Any) -> dict[str, Any]:
    """The variables by the name of what stands for their handle in the graph; None for what is no variable."""
    by_handle = {id(each.handle): each for each in graph.variables}
    return {_node_name(inner): by_handle.get(id(outer)) for outer, inner in graph.captures}


def _whole(written: bytes, handles: Mapping[str, Any]) -> Any:
    """The graph as TensorFlow wrote it down. Handles become VarHandleOps, which carry shapes; loops stay loops."""
    from tensorflow.core.framework import graph_pb2

    definition = graph_pb2.GraphDef.FromString(written)
    for node in definition.node:
        _prepare(node, handles)
        waits = [each for each in node.input if each[0] == "^"]
        if len(waits) > 1:  # in the order in which TensorFlow writes a whole graph
            node.input[len(node.input) - len(waits) :] = sorted(waits)
    for function in definition.library.function:
        for node in function.node_def:
            node.attr.pop("_lower_using_switch_merge", None)
    return definition


def _written(graph: Any) -> bytes:
    """The graph as TensorFlow writes it down. It is read when the graph itself, of hundreds of megabytes where it is large, is
    gone; a large one is written operation by operation, as TensorFlow would make a copy of the whole first."""
    from tensorflow.core.framework import graph_pb2
    from tensorflow.python.client import pywrap_tf_session as session
    from tensorflow.python.framework.c_api_util import tf_buffer

    operations = graph.get_operations()
    if graph._functions or len(operations) <= _MOST_KEPT:
        with tf_buffer() as buffer, graph._c_graph.get() as inner:
            session.TF_GraphToGraphDef(inner, buffer)
            return bytes(session.TF_GetBuffer(buffer))
    getattr(graph, "_names_in_use", {}).clear()  # all names once more, for operations that would still be added
    written = io.BytesIO(graph_pb2.GraphDef(versions=graph.graph_def_versions).SerializeToString())
    written.seek(0, io.SEEK_END)
    for each in operations:
        with tf_buffer() as buffer:
            session.TF_OperationToNodeDef(each._c_op, buffer)
            node = bytes(session.TF_GetBuffer(buffer))
        written.write(b"\x0a" + _varint(len(node)) + node)  # the first field of a GraphDef, once for each node
    return written.getvalue()


def _varint(number: int) -> bytes:
    """A number as protocol buffers have it: seven bits at a time, the lowest first."""
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


def _optimized(definition: Any, kept: list[str]) -> Any:
    """The graph after TensorFlow's own optimizer, less two of its passes. That for memory changes graphs only near the end of
    a device's memory, and that for functions needs some; together they took half of its time on MobileNetV2 (4.5 s). Loops have
    functions, too, which it does not change in a way that memory would show (a third of this time for a recurrent net)."""
    from tensorflow.core.protobuf import config_pb2, meta_graph_pb2, rewriter_config_pb2
    from tensorflow.python.grappler import tf_optimizer

    if len(definition.node) > MOST_OPTIMIZED:
        return definition
    meta = meta_graph_pb2.MetaGraphDef()
    meta.graph_def.CopyFrom(definition)
    meta.collection_def["train_op"].node_list.value.extend(kept)
    config = config_pb2.ConfigProto()
    options = config.graph_options.rewrite_options
    options.min_graph_nodes = -1
    options.memory_optimization = rewriter_config_pb2.RewriterConfig.NO_MEM_OPT
    options.disable_tfg_optimizer = _calls_in_loops_alone(definition)
    if _fuses_for_onednn(definition):  # such a graph cannot be read again: only its own kernels have the types
        options.remapping = rewriter_config_pb2.RewriterConfig.OFF
    return tf_optimizer.OptimizeGraph(config, meta, verbose=False)


def _calls_in_loops_alone(definition: Any) -> bool:
    """Whether whatever functions there are, are conditions and bodies of loops."""
    if not definition.library.function:
        return True
    inner = (node for function in definition.library.function for node in function.node_def)
    nodes = (node for node in (*definition.node, *inner) if node.op not in LOOPS)
    return not any(each.HasField("func") or each.list.func for node in nodes for each in node.attr.values())


def _fuses_for_onednn(definition: Any) -> bool:
    """Whether this process has oneDNN's kernels, and the step a type that they alone multiply in."""
    import tensorflow as tf

    short = {tf.bfloat16.as_datatype_enum, tf.float16.as_datatype_enum}
    own = {VARIABLE: os.environ.get(VARIABLE, "")}
    return takes_onednn(read_machine(os.getpid()).cpu_flags, own) and any(
        each.attr["T"].type in short for each in definition.node if "T" in each.attr
    )


def _prepare(node: Any, handles: Mapping[str, Any]) -> None:
    node.device = _DEVICE
    node.attr.pop("_output_shapes", None)
    node.attr.pop("_lower_using_switch_merge", None)
    variable = handles.get(node.name) if node.op == "Placeholder" else None
    if variable is None:
        return
    node.op = "VarHandleOp"
    node.ClearField("input")
    node.attr.clear()
    node.attr["dtype"].type = variable.dtype.as_datatype_enum
    node.attr["shape"].shape.CopyFrom(variable.shape.as_proto())
    node.attr["shared_name"].s = node.name.encode()
