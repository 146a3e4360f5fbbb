"""Datasets inside of functions, read from the functions' graphs: what interleave and flat_map open for each element.

Covers: any graph or function of tf.data operations, as protocol buffers; constants that set them; functions that they call.
Does not cover: datasets that are Python objects (`tensorflow_dataset`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

from crashcart.probe.tensorflow_dataset_spec import ELEMENT_BYTES, TENSOR_BYTES, block_bytes
from crashcart.stages import INFINITE, Element, Function, Stage

_NAMES = {
    "tensor_slice": "tensor_slices",
    "tensor": "tensors",
    "memory_cache": "cache",
    "tf_record": "tfrecord",
    "directed_interleave": "sample_from_datasets",
    "dense_to_sparse_batch": "sparse_batch",
    "legacy_parallel_interleave": "parallel_interleave",
}
_PASSED_ON = ("Identity", "IdentityN")
_DEPTH = 20


@dataclass(frozen=True, slots=True)
class Body:
    """One graph or function: nodes by name, what it gives out, and the functions that it may call."""

    name: str
    nodes: Mapping[str, Any]
    outputs: tuple[str, ...]
    library: Mapping[str, Any]

    @classmethod
    def of_function(cls, traced: Any) -> Body:
        """Of a traced function of Python's side."""
        graph = traced.graph
        known = graph.as_graph_def()
        return cls(
            str(getattr(traced, "name", "")),
            {each.name: each for each in known.node},
            tuple(each.op.name for each in graph.outputs),
            {each.signature.name: each for each in known.library.function},
        )

    def called(self, name: str) -> Body | None:
        """A function of the library."""
        found = self.library.get(name)
        if found is None:
            return None
        outputs = tuple(found.ret[each.name].split(":")[0] for each in found.signature.output_arg)
        return Body(name, {each.name: each for each in found.node_def}, outputs, self.library)

    def operations(self) -> dict[str, int]:
        """How often each kind of operation is in it, functions that it calls included (once each)."""
        counts: dict[str, int] = {}
        for body in self._all(set()):
            for node in body.nodes.values():
                counts[node.op] = counts.get(node.op, 0) + 1
        return counts

    def constant_bytes(self) -> int:
        """Arrays that are part of it, functions that it calls included (once each)."""
        nodes = (node for body in self._all(set()) for node in body.nodes.values())
        return sum(node.attr["value"].tensor.ByteSize() for node in nodes if node.op == "Const")

    def _all(self, seen: set[str]) -> Iterator[Body]:
        yield self
        for node in self.nodes.values():
            for name in functions_of(node):
                if name not in seen:
                    seen.add(name)
                    body = self.called(name)
                    if body is not None:
                        yield from body._all(seen)


def functions_of(node: Any) -> list[str]:
    """The functions that an operation names."""
    found = []
    for value in node.attr.values():
        found += [value.func.name] if value.HasField("func") else []
        found += [each.name for each in value.list.func] if value.HasField("list") else []
    return found


def stage_of_body(body: Body, depth: int = 0) -> Stage | None:
    """The dataset that a function returns; None where it returns none."""
    for name in body.outputs:
        found = _stage(body, name, depth)
        if found is not None:
            return found
    return None


def stage_of_variant(tensor: Any) -> Stage | None:
    """The dataset that a variant tensor is, from its own graph; None where it has none, such as the argument of a function."""
    import tensorflow as tf

    if not hasattr(tensor, "numpy"):
        return None
    try:
        text = tf.raw_ops.DatasetToGraphV2(input_dataset=tensor, external_state_policy=1).numpy()
    except (tf.errors.OpError, ValueError):
        return None
    graph = tf.compat.v1.GraphDef.FromString(text)
    nodes = {each.name: each for each in graph.node}
    outputs = tuple(_source(each.input[0]) for each in graph.node if each.op == "_Retval")
    return stage_of_body(Body("", nodes, outputs, {each.signature.name: each for each in graph.library.function}))


def _stage(body: Body, name: str, depth: int) -> Stage | None:
    node = body.nodes.get(name)
    for _ in range(_DEPTH):
        if node is None or node.op not in _PASSED_ON:
            break
        node = body.nodes.get(_source(node.input[0])) if node.input else None
    if node is None or depth > _DEPTH:
        return None
    if node.op in ("PartitionedCall", "StatefulPartitionedCall"):
        called = body.called(node.attr["f"].func.name)
        return None if called is None else stage_of_body(called, depth + 1)
    if not _makes_dataset(node):
        return None
    given = dict(_arguments(node))
    below = [_stage(body, each, depth + 1) for names in given.values() for each in names]
    functions = [each for name in functions_of(node) if (each := body.called(name)) is not None]
    numbers = _numbers(body, node, given)
    return Stage(
        as_written(node.op),
        numbers,
        _words(body, node, given),
        tuple(each for each in below if each is not None),
        tuple(_function(each, depth) for each in functions),
        _element(node),
        _length(as_written(node.op), numbers),
        spec=_spec(node),
    )


def _length(name: str, numbers: Mapping[str, int]) -> int | None:
    """How many elements there are, where the stage itself says so; None where that is not known here."""
    if name == "range" and all(each in numbers for each in ("start", "stop", "step")) and numbers["step"]:
        return len(range(numbers["start"], numbers["stop"], numbers["step"]))
    return INFINITE if name == "repeat" and numbers.get("count", 0) < 0 else None


def _function(body: Body, depth: int) -> Function:
    constants = body.constant_bytes()
    return Function(body.name, body.operations(), constant_bytes=constants, dataset=stage_of_body(body, depth + 1))


def _source(name: str) -> str:
    return name.lstrip("^").split(":")[0]


def _makes_dataset(node: Any) -> bool:
    return re.search(r"Dataset(V\d)?$", node.op) is not None


def as_written(kind: str) -> str:
    """A class or an operation of tf.data as people write it: `_ParallelMapDataset`, `ParallelMapDatasetV2` are parallel_map."""
    plain = re.sub(r"(Dataset)?(V\d)?(Adapter)?$", "", kind.lstrip("_")).replace("TFRecord", "TfRecord")
    snake = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", plain).lower()
    return _NAMES.get(snake, snake)


def _arguments(node: Any) -> Iterator[tuple[str, list[str]]]:
    """Names of the operation's inputs, each with the nodes that it is fed by."""
    from tensorflow.python.framework import op_def_registry

    definition = op_def_registry.get(node.op)
    given = [_source(each) for each in node.input if not each.startswith("^")]
    for argument in definition.input_arg if definition is not None else ():
        if argument.type_list_attr:
            count = len(node.attr[argument.type_list_attr].list.type)
        else:
            count = node.attr[argument.number_attr].i if argument.number_attr else 1
        yield argument.name, given[:count]
        given = given[count:]


def _numbers(body: Body, node: Any, given: Mapping[str, list[str]]) -> dict[str, int]:
    found = {}
    for name, sources in given.items():
        value = _constant(body, sources[0]) if len(sources) == 1 else None
        if isinstance(value, int):
            found[name] = value
    return found


def _words(body: Body, node: Any, given: Mapping[str, list[str]]) -> dict[str, str]:
    found = {}
    for name, sources in given.items():
        value = _constant(body, sources[0]) if len(sources) == 1 else None
        if isinstance(value, str):
            found[name] = value
    if "deterministic" in node.attr:
        found["deterministic"] = node.attr["deterministic"].s.decode("utf-8", "replace")
    return found


def _constant(body: Body, name: str) -> int | str | None:
    """The scalar that a node gives out, where it is a constant."""
    node = body.nodes.get(name)
    if node is None or node.op != "Const" or node.attr["value"].tensor.tensor_shape.dim:
        return None
    from tensorflow.python.framework import dtypes, tensor_util

    if node.attr["dtype"].type in (dtypes.resource.as_datatype_enum, dtypes.variant.as_datatype_enum):
        return None
    value = tensor_util.MakeNdarray(node.attr["value"].tensor)
    if value.dtype.kind in "bui":
        return int(value)
    return bytes(value.item()).decode("utf-8", "replace")[:4096] if value.dtype.kind == "O" else None


def _shapes(node: Any) -> list[tuple[Any, list[int] | None]]:
    types = (node.attr["output_types"] if "output_types" in node.attr else node.attr["Toutput_types"]).list.type
    shapes = node.attr["output_shapes"].list.shape if "output_shapes" in node.attr else ()
    if not shapes and node.op.startswith(("TFRecord", "TextLine", "FixedLengthRecord")):
        return [(7, [])]
    return [
        (kind, None if shape.unknown_rank else [each.size for each in shape.dim])
        for kind, shape in zip(types, shapes, strict=False)
    ]


def _element(node: Any) -> Element | None:
    import tensorflow as tf

    total, known = ELEMENT_BYTES, _shapes(node)
    for kind, shape in known:
        dtype = tf.dtypes.as_dtype(kind)
        if shape is None or min(shape, default=0) < 0 or dtype.name in ("string", "variant", "resource"):
            return None
        total += TENSOR_BYTES + block_bytes(prod(shape) * dtype.size)
    return Element(total, total, len(known)) if known else None


def _spec(node: Any) -> str:
    import tensorflow as tf

    return ", ".join(
        f"{tf.dtypes.as_dtype(kind).name}[{'…' if shape is None else ','.join('?' if n < 0 else str(n) for n in shape)}]"
        for kind, shape in _shapes(node)
    )
