"""The operations that are more than a kernel: constants, variables, tensor lists, branches, calls.

Covers: what each of them keeps alive. Does not cover: ordinary kernels (`kernels.py`), loops (`loop.py`).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from crashcart.fit.values import LIST, NOTHING, Value
from crashcart.graph import Node, Tensor

if TYPE_CHECKING:
    from crashcart.fit.walk import Walk

Special = Callable[["Walk", Node, list[Value]], list[Value]]
MOST_TURNS = 100_000


def _shape(walk: Walk, node: Node, inputs: list[Value]) -> list[Value]:
    given = zip(inputs, node.outputs, strict=False)
    return [Value(walk.allocate(node.name, "other", each), each, tells=value.tensor.shape) for value, each in given]


def _variable_shape(walk: Walk, node: Node, inputs: list[Value]) -> list[Value]:
    """Of a variable only the size is known, which is what matters here."""
    buffer = walk.variables.get(inputs[0].variable or "")
    tells = None if buffer is None else (buffer.bytes // 4,)
    return [Value(walk.allocate(node.name, "other", node.outputs[0]), node.outputs[0], tells=tells)]


def _element_shape(walk: Walk, node: Node, inputs: list[Value]) -> list[Value]:
    tells = next((each.tensor.shape for each in inputs[0].items or () if each.tensor.item_bytes), None)
    return [Value(walk.allocate(node.name, "other", Tensor((len(tells or ()),), 4)), Tensor((0,), 4), tells=tells)]


def _constant(walk: Walk, node: Node, inputs: list[Value]) -> list[Value]:
    return [Value(walk.constant(node), node.outputs[0], node.value)]


def _handle(walk: Walk, node: Node, inputs: list[Value]) -> list[Value]:
    return [Value(None, node.outputs[0], variable=node.variable)]


def _read(walk: Walk, node: Node, inputs: list[Value]) -> list[Value]:
    """The variable's own buffer; a copy of it where the variable is gathered from elsewhere, which takes its reads apart."""
    name = inputs[0].variable
    buffer = walk.variables.get(name) if name is not None else None
    if buffer is not None and name in walk.gathered:
        return [Value(walk.allocate(node.name, "activations", node.outputs[0]), node.outputs[0])]
    return [Value(walk.keep(buffer), node.outputs[0])]


def _gather(walk: Walk, node: Node, inputs: list[Value]) -> list[Value]:
    if inputs[0].variable is not None:
        walk.gathered.add(inputs[0].variable)
    return [Value(walk.allocate(node.name, "activations", node.outputs[0]), node.outputs[0])]


def _assign(walk: Walk, node: Node, inputs: list[Value]) -> list[Value]:
    """The variable takes over the value's buffer, whoever else reads it; what changes it later copies it first."""
    name, value = inputs[0].variable, inputs[1]
    old = walk.variables.get(name) if name is not None else None
    if old is None or name is None or value.buffer is None or value.buffer is old:
        return []
    if value.buffer.references == 1:
        walk.adopted(value.buffer, old)
    walk.keep(value.buffer)
    walk.variables[name] = value.buffer
    walk.drop(old)
    return []


def _update(walk: Walk, node: Node, inputs: list[Value]) -> list[Value]:
    """In place, or on a copy where somebody still reads the old value, or may do so by chance."""
    name = inputs[0].variable
    buffer = walk.variables.get(name) if name is not None else None
    if buffer is None or name is None or name in walk.gathered:
        return []
    if buffer.references > 1 or walk.moves():
        walk.variables[name] = walk.copied(buffer, buffer.name)
    return []


def _nothing(walk: Walk, node: Node, inputs: list[Value]) -> list[Value]:
    return []


def _empty_list(walk: Walk, node: Node, inputs: list[Value]) -> list[Value]:
    return [Value(walk.new_list(node.name), LIST)]


def _reserved(walk: Walk, node: Node, inputs: list[Value]) -> list[Value]:
    buffer = walk.new_list(node.name)
    count = inputs[1].number if len(inputs) > 1 else None
    buffer.items = [NOTHING] * min(count or 0, MOST_TURNS)
    return [Value(buffer, LIST)]


def _own_list(walk: Walk, node: Node, value: Value) -> Value:
    """The list itself where only this reader has it, else a copy that shares the elements."""
    buffer = value.buffer
    if buffer is not None and buffer.items is not None and buffer.references == 1:
        walk.keep(buffer)
        return value
    fresh = walk.new_list(node.name)
    fresh.items = list(buffer.items) if buffer is not None and buffer.items is not None else []
    for each in fresh.items:
        walk.keep(each.buffer)
    return Value(fresh, LIST)


def _push(walk: Walk, node: Node, inputs: list[Value]) -> list[Value]:
    own = _own_list(walk, node, inputs[0])
    walk.keep(inputs[1].buffer)
    if own.buffer is not None and own.buffer.items is not None:
        own.buffer.items.append(inputs[1])
    return [own]


def _pop(walk: Walk, node: Node, inputs: list[Value]) -> list[Value]:
    own = _own_list(walk, node, inputs[0])
    items = own.items
    return [own, items.pop() if items else NOTHING]


def _set_item(walk: Walk, node: Node, inputs: list[Value]) -> list[Value]:
    own = _own_list(walk, node, inputs[0])
    items = own.items
    index = inputs[1].number
    if items is not None:
        walk.keep(inputs[2].buffer)
        if index is not None and 0 <= index < len(items):
            walk.release(items[index])
            items[index] = inputs[2]
        else:
            items.append(inputs[2])
    return [own]


def _get_item(walk: Walk, node: Node, inputs: list[Value]) -> list[Value]:
    items = inputs[0].items
    if not items:
        return [NOTHING]
    index = inputs[1].number
    found = items[index if index is not None and 0 <= index < len(items) else 0]
    walk.keep(found.buffer)
    return [found]


def _stack(walk: Walk, node: Node, inputs: list[Value]) -> list[Value]:
    """One tensor of all elements; a list of one element gives that element."""
    items = inputs[0].items or []
    known = [each.tensor for each in items if each.tensor.bytes]
    tensor = node.outputs[0]
    if known:
        tensor = Tensor((len(items), *(known[0].shape or ())), known[0].item_bytes)
    return [Value(walk.allocate(node.name, "activations", tensor), tensor)]


def _unstack(walk: Walk, node: Node, inputs: list[Value]) -> list[Value]:
    """A tensor as a list of its slices, which share its buffer where they are aligned."""
    source = inputs[0]
    shape = source.tensor.shape or (0,)
    buffer = walk.new_list(node.name)
    element = Tensor(shape[1:], source.tensor.item_bytes)
    buffer.items = [
        Value(walk.allocate(node.name, "activations", element), element) for _ in range(min(shape[0], MOST_TURNS))
    ]
    return [Value(buffer, LIST)]


def _zero_list(walk: Walk, node: Node, inputs: list[Value]) -> list[Value]:
    """Zeros for each element: the gradient of a list that nothing else was computed for."""
    buffer = walk.new_list(node.name)
    buffer.items = [
        Value(walk.allocate(node.name, "gradients", each.tensor), each.tensor) for each in inputs[0].items or ()
    ]
    return [Value(buffer, LIST)]


def _list_sum(walk: Walk, node: Node, inputs: list[Value]) -> list[Value]:
    """Element by element; what only one list has is shared with it."""
    buffer = walk.new_list(node.name)
    longest = max((each.items or [] for each in inputs), key=len)
    buffer.items = []
    for at in range(len(longest)):
        found = [each.items[at] for each in inputs if each.items and at < len(each.items)]
        own = [each for each in found if each.buffer is not None]
        if len(own) < 2:
            buffer.items.append(Value(walk.keep((own or found)[0].buffer), (own or found)[0].tensor))
        else:
            buffer.items.append(Value(walk.allocate(node.name, "gradients", own[0].tensor), own[0].tensor))
    return [Value(buffer, LIST)]


def special_of(node: Node) -> Special | None:
    """How the operation is run if it is none of the ordinary kernels."""
    is_list = bool(node.outputs) and not node.outputs[0].item_bytes
    return SPECIAL.get(node.op) or (_OF_LISTS.get(node.op) if is_list else None)


def _length(walk: Walk, node: Node, inputs: list[Value]) -> list[Value]:
    items = inputs[0].items
    return [Value(None, Tensor((), 4), None if items is None else len(items))]


def _if(walk: Walk, node: Node, inputs: list[Value]) -> list[Value]:
    number = inputs[0].number
    names = (node.attributes["else_branch"], node.attributes["then_branch"])
    return _branch(walk, names, None if number is None else int(bool(number)), inputs)


def _case(walk: Walk, node: Node, inputs: list[Value]) -> list[Value]:
    """A number beyond them chooses the last one."""
    names = node.attributes["branches"]
    number = inputs[0].number
    return _branch(walk, names, number if number is None or 0 <= number < len(names) else len(names) - 1, inputs)


def _branch(walk: Walk, names: Sequence[str], chosen: int | None, inputs: list[Value]) -> list[Value]:
    """The branch that is chosen; where that is not known, the one whose operations give out the most bytes."""
    plans = [walk.plan_of(each) for each in names]
    plan = max(plans, key=lambda each: each.bytes) if chosen is None else plans[chosen]
    walk.release(inputs[0])
    return walk.run(plan, inputs[1:])


def _call(walk: Walk, node: Node, inputs: list[Value]) -> list[Value]:
    return walk.run(walk.plan_of(node.attributes["f"]), inputs)


def counted(node: Node, inputs: list[Value]) -> int | None:
    """The whole numbers that loops count with and compare."""
    numbers = [each.number for each in inputs]
    if node.op == "LogicalNot" and numbers[0] is not None:
        return int(not numbers[0])
    if node.op in ENDING and ENDING[node.op] in numbers:
        return ENDING[node.op]
    count = COUNTING.get(node.op)
    if count is None or len(numbers) != 2 or numbers[0] is None or numbers[1] is None:
        return None
    return int(count(numbers[0], numbers[1]))


ENDING = {"LogicalAnd": 0, "LogicalOr": 1}
"""What decides alone, whatever the other is."""

COUNTING: dict[str, Callable[[int, int], int]] = {
    "Add": operator.add,
    "AddV2": operator.add,
    "Sub": operator.sub,
    "Mul": operator.mul,
    "Less": operator.lt,
    "LessEqual": operator.le,
    "Greater": operator.gt,
    "GreaterEqual": operator.ge,
    "Maximum": max,
    "Minimum": min,
    "LogicalAnd": operator.and_,
    "LogicalOr": operator.or_,
    "LogicalNot": operator.or_,  # of one input alone; `counted` has it
}

TAKERS = frozenset({"If", "StatelessIf", "Case", "StatelessCase", "PartitionedCall", "StatefulPartitionedCall"})
"""These hand their inputs on: what goes into a branch may be freed in it."""

SPECIAL: dict[str, Special] = {
    "Const": _constant,
    "VarHandleOp": _handle,
    "ReadVariableOp": _read,
    "ResourceGather": _gather,
    "AssignVariableOp": _assign,
    "AssignAddVariableOp": _update,
    "AssignSubVariableOp": _update,
    "ResourceScatterAdd": _update,
    "ResourceScatterSub": _update,
    "ResourceScatterUpdate": _update,
    "Shape": _shape,
    "ShapeN": _shape,
    "VariableShape": _variable_shape,
    "TensorListElementShape": _element_shape,
    "NoOp": _nothing,
    "Assert": _nothing,
    "EmptyTensorList": _empty_list,
    "TensorListReserve": _reserved,
    "TensorListPushBack": _push,
    "TensorListPopBack": _pop,
    "TensorListSetItem": _set_item,
    "TensorListGetItem": _get_item,
    "TensorListStack": _stack,
    "TensorListFromTensor": _unstack,
    "TensorListLength": _length,
    "While": _nothing,
    "StatelessWhile": _nothing,
    "Enter": _nothing,
    "If": _if,
    "StatelessIf": _if,
    "Case": _case,
    "StatelessCase": _case,
    "PartitionedCall": _call,
    "StatefulPartitionedCall": _call,
}

_OF_LISTS: dict[str, Special] = {"ZerosLike": _zero_list, "AddN": _list_sum, "AddV2": _list_sum}
"""Kernels that are ordinary ones for tensors."""
