"""The step that Keras would run, traced and optimized as TensorFlow would, as plain data.

Covers: train and predict steps, custom ones too; TensorFlow's own graph optimizer (grappler) is run on the trace, so
that what it fuses and folds is fused and folded here; shapes at any batch from one trace, by TensorFlow's own inference.
Does not cover: what a step costs (`fit/`). No data and no activation is allocated. TensorFlow is imported when used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from crashcart.graph import Graph, Node, Tensor, Variable

_DEVICE = "/job:localhost/replica:0/task:0/device:CPU:0"
_ATTRIBUTES = ("data_format", "body", "cond", "then_branch", "else_branch", "f", "equation", "padding")


class Trace:
    """One traced step. `at(batch)` gives it as plain data."""

    def __init__(self, model: Any, specs: tuple[Any, ...], phase: str) -> None:
        import tensorflow as tf

        step = _built_step(model, specs, phase)
        self._concrete = tf.function(step).get_concrete_function(specs)
        self._variables = _variables(model, self._concrete)
        self._inputs = [each.name.partition(":")[0] for each in _data_inputs(self._concrete)]
        self._optimized = _optimized(self._concrete, self._variables)

    def at(self, batch: int) -> Graph:
        """The step at that batch."""
        import tensorflow as tf

        definition = type(self._optimized)()
        definition.CopyFrom(self._optimized)
        for node in definition.node:
            if node.op == "Placeholder":
                dims = node.attr["shape"].shape.dim
                if dims and dims[0].size < 0:
                    dims[0].size = batch
        with tf.Graph().as_default() as graph:
            tf.graph_util.import_graph_def(definition, name="")
        reader = _Reader(definition.library, batch)
        operations = graph.get_operations()
        names = {each.name: number for number, each in enumerate(operations)}
        nodes = reader.nodes(operations)
        arguments = tuple(names[each] for each in self._inputs if each in names)
        results = [each.name.rpartition(":") for each in self._concrete.graph.outputs]
        kept = tuple((names[name], int(number)) for name, _, number in results if name in names)
        return Graph(_untransposed(nodes), arguments, kept, reader.functions, tuple(self._variables.values()))


def _built_step(model: Any, specs: tuple[Any, ...], phase: str) -> Any:
    if phase == "train":
        model._symbolic_build(data_batch=specs)
        return lambda data: model.train_step(data)
    return lambda data: model.predict_step(data)


def _data_inputs(concrete: Any) -> list[Any]:
    captured = {id(inner) for _, inner in concrete.graph.captures}
    return [each for each in concrete.graph.inputs if id(each) not in captured]


def _variables(model: Any, concrete: Any) -> dict[str, Variable]:
    """All variables in the order in which they are made, by the name of their handle in the graph where the step uses them."""
    handles = {id(outer): inner.name.partition(":")[0] for outer, inner in concrete.graph.captures}
    slots = getattr(getattr(model, "optimizer", None), "variables", ())
    made = [(each.value, "weights") for each in model.weights]
    made += [(each.value, "optimizer") for each in slots]
    made += [(each.value, "other") for each in model.variables]
    made += [(each, "other") for each in concrete.graph.variables]
    found: dict[str, Variable] = {}
    known: set[int] = set()
    for variable, kind in made:
        if id(variable) in known:
            continue
        known.add(id(variable))
        name = handles.get(id(variable.handle), f"unused {len(known)}")
        drawn = kind == "weights" and (variable.shape.rank or 0) > 1
        found[name] = Variable(name, variable.shape.num_elements() * variable.dtype.size, kind, drawn)
    return found


def _optimized(concrete: Any, variables: Mapping[str, Variable]) -> Any:
    """The graph after TensorFlow's own optimizer. Handles become VarHandleOps, which carry shapes; loops stay loops."""
    import tensorflow as tf
    from tensorflow.core.protobuf import config_pb2
    from tensorflow.python.grappler import tf_optimizer

    definition = concrete.graph.as_graph_def()
    by_handle = {id(each.handle): each for each in concrete.graph.variables}
    handles = {inner.name.partition(":")[0]: by_handle.get(id(outer)) for outer, inner in concrete.graph.captures}
    for node in definition.node:
        _prepare(node, handles.get(node.name))
    for function in definition.library.function:
        for node in function.node_def:
            node.attr.pop("_lower_using_switch_merge", None)
    with tf.Graph().as_default() as graph:
        tf.graph_util.import_graph_def(definition, name="")
        meta = tf.compat.v1.train.export_meta_graph(graph_def=graph.as_graph_def(), graph=graph)
    kept = meta.collection_def["train_op"].node_list.value
    kept.extend(each.name for each in concrete.graph.outputs)
    kept.extend(each.name for each in concrete.graph.control_outputs)
    config = config_pb2.ConfigProto()
    config.graph_options.rewrite_options.min_graph_nodes = -1
    return tf_optimizer.OptimizeGraph(config, meta)


def _prepare(node: Any, variable: Any) -> None:
    node.device = _DEVICE
    node.attr.pop("_output_shapes", None)
    node.attr.pop("_lower_using_switch_merge", None)
    if variable is None:
        return
    node.op = "VarHandleOp"
    node.ClearField("input")
    node.attr.clear()
    node.attr["dtype"].type = variable.dtype.as_datatype_enum
    node.attr["shape"].shape.CopyFrom(variable.shape.as_proto())
    node.attr["shared_name"].s = node.name.encode()


def _untransposed(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    """Without the transpositions that only a shape is asked of: TensorFlow does not run them (seen in its own log)."""
    readers: dict[int, set[int]] = {}
    for index, node in enumerate(nodes):
        for source in (*(each for each, _ in node.inputs), *node.waits):
            readers.setdefault(source, set()).add(index)
    found = list(nodes)
    for index, node in enumerate(nodes):
        askers = readers.get(index, set())
        if node.op != "Transpose" or not askers or any(nodes[each].op != "Shape" for each in askers):
            continue
        found[index] = Node(node.name, "NoOp")
        for each in askers:
            found[each] = replace(nodes[each], inputs=node.inputs[:1])
    return tuple(found)


class _Reader:
    """Graphs of TensorFlow as plain data, with the functions they call."""

    def __init__(self, library: Any, batch: int) -> None:
        self._definitions = {each.signature.name: each for each in library.function}
        self._outer_library = library
        self._batch = batch
        self.functions: dict[str, Graph] = {}

    def nodes(self, operations: list[Any]) -> tuple[Node, ...]:
        names = {each.name: number for number, each in enumerate(operations)}
        return tuple(self._node(each, names) for each in operations)

    def _node(self, operation: Any, names: dict[str, int]) -> Node:
        return Node(
            operation.name,
            operation.type,
            tuple((names[each.op.name], each.value_index) for each in operation.inputs),
            tuple(names[each.name] for each in operation.control_inputs),
            tuple(_tensor(each, self._batch) for each in operation.outputs),
            operation.name if operation.type == "VarHandleOp" else None,
            _number(operation),
            self._attributes(operation),
        )

    def _attributes(self, operation: Any) -> dict[str, Any]:
        found = {}
        given = operation.node_def.attr
        for name in _ATTRIBUTES:
            if name not in given:
                continue
            if given[name].WhichOneof("value") == "func":
                found[name] = given[name].func.name
                self._read_function(operation, given[name].func.name)
            else:
                found[name] = given[name].s.decode()
        return found

    def _read_function(self, operation: Any, name: str) -> None:
        if name in self.functions or name not in self._definitions:
            return
        self.functions[name] = Graph(())  # a function may call itself
        inputs = operation.inputs[1:] if operation.type in ("If", "StatelessIf") else operation.inputs
        graph, arguments, results = _imported(self._definitions[name], list(inputs), self._outer_library)
        operations = graph.get_operations()
        names = {each.name: number for number, each in enumerate(operations)}
        self.functions[name] = Graph(
            self.nodes(operations),
            tuple(names[each] for each in arguments),
            tuple((names[each], number) for each, number in results),
        )


def _imported(definition: Any, inputs: list[Any], library: Any) -> tuple[Any, list[str], list[tuple[str, int]]]:
    """A function's body with the shapes of what it is called with, its arguments, and its results."""
    import tensorflow as tf
    from tensorflow.python.framework.function_def_to_graph import function_def_to_graph_def

    flat, names = function_def_to_graph_def(definition, [each.shape for each in inputs])
    arguments = [each.name for each in definition.signature.input_arg]
    called = dict(zip(arguments, inputs, strict=True))
    for node in flat.node:
        given = called.get(node.name)
        if given is not None and given.op.type == "VarHandleOp":
            own = node.name
            node.CopyFrom(given.op.node_def)  # a handle that was handed in keeps the shape of its variable
            node.name = own
    flat.library.CopyFrom(library)
    with tf.Graph().as_default() as graph:
        tf.graph_util.import_graph_def(flat, name="")
    ends = [names[definition.ret[each.name]].rpartition(":") for each in definition.signature.output_arg]
    return graph, arguments, [(name, int(number)) for name, _, number in ends]


def _tensor(tensor: Any, batch: int) -> Tensor:
    import tensorflow as tf

    if tensor.dtype in (tf.resource, tf.variant):
        return Tensor((), 0)
    shape = tensor.shape
    if shape.rank is None:
        return Tensor(None, tensor.dtype.size)
    # An unknown dimension is taken for the batch: loops' bodies lose it where their lists carry it.
    return Tensor(tuple(batch if each is None else each for each in shape.as_list()), tensor.dtype.size)


def _number(operation: Any) -> int | None:
    import tensorflow as tf

    if not operation.outputs:
        return None
    output = operation.outputs[0]
    if output.dtype not in (tf.int32, tf.int64, tf.bool) or output.shape.rank != 0:
        return None
    value = tf.get_static_value(output)
    return None if value is None else int(value)
