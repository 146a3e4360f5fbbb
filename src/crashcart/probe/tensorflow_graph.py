"""TensorFlow's graphs as plain data, with all shapes at a batch.

Covers: operations, what reads what, the functions that loops and branches call, shapes by TensorFlow's own inference.
Does not cover: tracing and optimizing (`tensorflow_trace`), batches beyond those that were inferred (`tensorflow_lines`).
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from crashcart.graph import Graph, Node, Tensor
from crashcart.probe.tensorflow_parts import MOST_AT_ONCE, imported_in_parts
from crashcart.probe.tensorflow_shapes import dims_of, following, taken_out, told_by_readers

_ATTRIBUTES = (
    "data_format",
    "body",
    "cond",
    "then_branch",
    "else_branch",
    "branches",
    "f",
    "equation",
    "padding",
    "strides",
    "ksize",
)
_STRING_BYTES = (
    24  # of each string in TensorFlow's allocator (sizeof(tstring)); longer ones have their letters elsewhere
)
_BRANCHES = frozenset({"If", "StatelessIf", "Case", "StatelessCase"})
# Whose output is as large as the data makes it. (`boolean_mask` and ragged tensors come down to these.)
_BY_DATA = re.compile(
    r"Where|Unique|ListDiff|DynamicPartition|NonMaxSuppression|Ragged|SparseFillEmptyRows|StringSplit"
)
# What `tf.get_static_value` can tell of operations other than constants, as far as whole numbers go.
_FOLDED = frozenset({"StridedSlice", "Size", "Rank", "Cast", "Fill", "Equal", "NotEqual", "StopGradient"})


class Reader:
    """An optimized step, read at one batch after another."""

    def __init__(self, definition: Any, inputs: tuple[str, ...], results: tuple[tuple[str, int], ...]) -> None:
        self._inputs, self._results = inputs, results
        self.places = {each.name: place for place, each in enumerate(definition.node)}
        self._open = [
            place for place, each in enumerate(definition.node) if each.op == "Placeholder" and _is_open(each)
        ]
        # A large one takes four times as much when it is parsed as it does written down.
        large = len(definition.node) > MOST_AT_ONCE
        self._kept: Any = None if large else definition
        self._written: bytes = definition.SerializeToString() if large else b""

    def read(self, batch: int) -> Graph:
        """The step at that batch, without its variables."""
        try:
            return self._read(self._definition(), batch)
        finally:
            if self._kept is None:
                give_back()

    def _definition(self) -> Any:
        from tensorflow.core.framework import graph_pb2

        return self._kept if self._kept is not None else graph_pb2.GraphDef.FromString(self._written)

    def _read(self, definition: Any, batch: int) -> Graph:
        for place in self._open:
            definition.node[place].attr["shape"].shape.dim[0].size = batch
        functions = _Functions(definition.library, batch)
        nodes, names = functions.nodes(definition)
        return Graph(
            _untransposed(nodes),
            tuple(names[each] for each in self._inputs if each in names),
            tuple((names[name], number) for name, number in self._results if name in names),
            functions.read,
        )


def _is_open(node: Any) -> bool:
    dims = node.attr["shape"].shape.dim
    return bool(dims) and dims[0].size < 0


class _Functions:
    """The functions that a step calls, each with the shapes that it is called with."""

    def __init__(self, library: Any, batch: int) -> None:
        self._definitions = {each.signature.name: each for each in library.function}
        self._library = library
        self._batch = batch
        self._tensors: dict[Any, Tensor] = {}
        self.read: dict[str, Graph] = {}

    def nodes(self, definition: Any) -> tuple[tuple[Node, ...], dict[str, int]]:
        """The nodes of a graph in the order in which TensorFlow takes them, and their numbers by name."""
        protos = {each.name: each for each in definition.node}
        names: dict[str, int] = {}
        found: list[Node] = []
        behind: set[int] = set()  # what the data says the size of, and all that comes of it
        for operations in imported_in_parts(definition, _imported):
            names.update((each.name, len(found) + number) for number, each in enumerate(operations))
            for operation in operations:
                self._add(found, behind, names, protos, operation)
            if operations:
                dismantled(operations[0].graph)
            if len(operations) < len(protos):  # a part: the next one needs no more than this one left
                give_back()
        return told_by_readers(tuple(found)), names

    def _add(
        self, found: list[Node], behind: set[int], names: Mapping[str, int], protos: Mapping[str, Any], operation: Any
    ) -> None:
        name = operation.name
        proto = protos[name]
        inputs, waits = _sources(proto.input, names)
        if _BY_DATA.match(proto.op) or not behind.isdisjoint([each for each, _ in inputs]):
            behind.add(len(found))
        given = [found[each].outputs[number] for each, number in inputs if number < len(found[each].outputs)]
        node = self._node(name, proto, operation, (inputs, given), waits, len(found) in behind)
        found.append(node)
        for called in _called(node.attributes) if node.attributes else ():
            self._read(called, operation, protos)

    def _node(
        self,
        name: str,
        proto: Any,
        operation: Any,
        given: tuple[tuple[tuple[int, int], ...], list[Tensor]],
        waits: tuple[int, ...],
        by_data: bool,
    ) -> Node:
        kind, outputs, (inputs, read) = proto.op, operation.outputs, given
        tensors = tuple([self._tensor(each, by_data, kind, read) for each in outputs])
        variable = name if kind == "VarHandleOp" else None
        number = _number(kind, proto, outputs) if kind == "Const" or kind in _FOLDED else None
        return Node(name, kind, inputs, waits, tensors, variable, number, _attributes(proto))

    def _tensor(self, tensor: Any, by_data: bool, kind: str, read: list[Tensor]) -> Tensor:
        key = (tensor.dtype, following(kind, dims_of(tensor), read), by_data)
        found = self._tensors.get(key)
        if found is None:
            found = self._tensors[key] = _tensor(*key, self._batch)
        return found

    def _read(self, name: str, operation: Any, protos: Mapping[str, Any]) -> None:
        if name in self.read or name not in self._definitions:
            return
        self.read[name] = Graph(())  # a function may call itself
        inputs = list(operation.inputs)[1:] if operation.type in _BRANCHES else list(operation.inputs)
        flat, arguments, results = self._flat(self._definitions[name], inputs, protos)
        nodes, names = self.nodes(flat)
        self.read[name] = Graph(
            nodes, tuple(names[each] for each in arguments), tuple((names[each], number) for each, number in results)
        )

    def _flat(
        self, definition: Any, inputs: list[Any], protos: Mapping[str, Any]
    ) -> tuple[Any, list[str], list[tuple[str, int]]]:
        """A function's body with the shapes of what it is called with, its arguments, and its results."""
        from tensorflow.python.framework.function_def_to_graph import function_def_to_graph_def

        with _known(self._definitions[each] for each in _functions_in(definition) if each in self._definitions):
            flat, names = function_def_to_graph_def(definition, [each.shape for each in inputs])
        arguments = [each.name for each in definition.signature.input_arg]
        called = dict(zip(arguments, inputs, strict=True))
        for node in flat.node:
            given = protos.get(called[node.name].op.name) if node.name in called else None
            if given is not None and given.op == "VarHandleOp":
                own = node.name
                node.CopyFrom(given)  # a handle that was handed in keeps the shape of its variable
                node.name = own
        flat.library.CopyFrom(self._library)
        ends = [names[definition.ret[each.name]].rpartition(":") for each in definition.signature.output_arg]
        return flat, arguments, [(name, int(number)) for name, _, number in ends]


def _functions_in(definition: Any) -> set[str]:
    """The functions that a function's body names."""
    values = [value for node in definition.node_def for value in node.attr.values()]
    return {each.name for value in values for each in (value.func, *value.list.func) if each.name}


@contextmanager
def _known(definitions: Iterable[Any]) -> Iterator[None]:
    """TensorFlow asks its context for the functions that a body names; with the traced graph, they are gone from there."""
    from tensorflow.python.eager.context import context

    added = [each for each in definitions if not context().has_function(each.signature.name)]
    for each in added:
        context().add_function_def(each)
    try:
        yield
    finally:
        for each in added:
            context().remove_function(each.signature.name)


def _imported(definition: Any) -> list[Any]:
    """TensorFlow's operations, with the shapes that the trace told and that TensorFlow infers from there; where these contradict
    each other, as it infers them alone."""
    import tensorflow as tf

    try:
        return _inferred(definition)
    except (ValueError, tf.errors.InvalidArgumentError):
        return _inferred(taken_out(definition))


def _inferred(definition: Any) -> list[Any]:
    """TensorFlow's own function for this spends nine tenths of its time on devices, which do not matter here; where what is below
    it cannot be had, it serves."""
    import tensorflow as tf

    with tf.Graph().as_default() as graph:
        try:
            return _imported_plainly(definition, graph)
        except (ImportError, AttributeError, TypeError):
            tf.graph_util.import_graph_def(definition, name="")
            return list(graph.get_operations())


def _imported_plainly(definition: Any, graph: Any) -> list[Any]:
    from tensorflow.python.client import pywrap_tf_session as session
    from tensorflow.python.framework.c_api_util import ScopedTFImportGraphDefOptions

    buffer = session.TF_NewBufferFromString(definition.SerializeToString())
    options = ScopedTFImportGraphDefOptions()
    try:
        with graph._c_graph.get() as inner:
            results = session.TF_GraphImportGraphDefWithResults(inner, buffer, options.options)
            session.TF_DeleteImportGraphDefResults(results)
    finally:
        session.TF_DeleteBuffer(buffer)
    return [graph._create_op_from_tf_operation(each, compute_device=False) for each in graph.new_operations()]


def _sources(inputs: Iterable[str], names: Mapping[str, int]) -> tuple[tuple[tuple[int, int], ...], tuple[int, ...]]:
    data, waits = [], []
    for each in inputs:
        if each[0] == "^":
            waits.append(names[each[1:]])
            continue
        name, _, number = each.partition(":")
        data.append((names[name], int(number) if number else 0))
    return tuple(data), tuple(waits)


_NONE: Mapping[str, Any] = {}


def _attributes(proto: Any) -> Mapping[str, Any]:
    given = proto.attr
    return {name: _attribute(given[name]) for name in _ATTRIBUTES if name in given} or _NONE


def _attribute(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "func":
        return value.func.name
    if kind == "s":
        return value.s.decode()
    if kind == "list":
        return tuple(each.name for each in value.list.func) or tuple(value.list.i)
    return None


def _called(attributes: Mapping[str, Any]) -> list[str]:
    found = [attributes[each] for each in ("body", "cond", "then_branch", "else_branch", "f") if each in attributes]
    return found + list(attributes.get("branches", ()))


def _tensor(kind: Any, dims: tuple[int, ...] | None, by_data: bool, batch: int) -> Tensor:
    import tensorflow as tf

    if kind in (tf.resource, tf.variant):
        return Tensor((), 0)
    size = _STRING_BYTES if kind == tf.string else kind.size
    if dims is None:
        return Tensor(None, size)
    if -1 in dims[1:]:
        return Tensor(None, size, by_data, dims)
    # A first dimension that is unknown is taken for the batch: loops' bodies lose it where their lists carry it.
    return Tensor((batch, *dims[1:]), size, by_data) if -1 in dims else Tensor(dims, size)


def _number(kind: str, proto: Any, outputs: Any) -> int | None:
    """The whole number that an operation gives out."""
    import tensorflow as tf

    if kind == "Const":
        held = proto.attr["value"].tensor
        known = not held.tensor_shape.dim and held.dtype in _WHOLE
        return int(tf.make_ndarray(held)) if known else None
    if outputs[0].dtype not in (tf.int32, tf.int64, tf.bool) or outputs[0].shape.rank != 0:
        return None
    value = _one_size(outputs[0].op) if kind == "StridedSlice" else tf.get_static_value(outputs[0])
    return None if value is None else int(value)


def _one_size(operation: Any) -> int | None:
    """One dimension of a tensor, as loops over a batch count by it."""
    import tensorflow as tf

    shape, at = operation.inputs[0].op, tf.get_static_value(operation.inputs[1])
    if shape.type != "Shape" or at is None or shape.inputs[0].shape.rank is None:
        return None
    size: int | None = shape.inputs[0].shape[int(at[0])]
    return size


_WHOLE = frozenset({3, 9, 10})  # DT_INT32, DT_INT64, DT_BOOL


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


def dismantled(graph: Any) -> None:
    """A graph in Python is large, and refers to itself; without this only a search for garbage would free it."""
    from tensorflow.python.framework import ops

    if hasattr(graph, "_function_captures"):
        graph._function_captures.clear()
    ops.dismantle_graph(graph)


def give_back() -> None:
    """What the C library holds free goes back to the system: of a large graph two thirds stay with the process otherwise."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
