"""The operations that are more than a kernel: variables, tensor lists, loops, branches, calls.

Covers: what each of them keeps alive. Does not cover: ordinary kernels (`kernels.py`).
"""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from crashcart.fit.ahead import TURNS_AT_A_TIME
from crashcart.fit.values import LIST, NOTHING, Buffer, Value
from crashcart.graph import Graph, Node, Tensor

if TYPE_CHECKING:
    from crashcart.fit.walk import Walk

Special = Callable[["Walk", Node, list[Value]], list[Value]]
MOST_TURNS = 100_000


def guessed(node: Node, inputs: list[Value], tensor: Tensor) -> Tensor:
    """A tensor whose shape the trace does not tell: as large as the largest input, which is right for what works element
    by element and above the truth for what reduces."""
    known = [each.tensor for each in inputs if each.tensor.bytes is not None and each.tensor.item_bytes]
    if not known:
        return Tensor((), tensor.item_bytes)
    largest = max(known, key=lambda each: each.bytes or 0)
    return Tensor(largest.shape, tensor.item_bytes)


def _handle(walk: Walk, node: Node, inputs: list[Value]) -> list[Value]:
    return [Value(None, node.outputs[0], variable=node.variable)]


def _read(walk: Walk, node: Node, inputs: list[Value]) -> list[Value]:
    name = inputs[0].variable
    buffer = walk.variables.get(name) if name is not None else None
    return [Value(walk.keep(buffer), node.outputs[0])]


def _assign(walk: Walk, node: Node, inputs: list[Value]) -> list[Value]:
    """The variable takes over the value's buffer where nobody else needs it, and copies it otherwise."""
    name, value = inputs[0].variable, inputs[1]
    old = walk.variables.get(name) if name is not None else None
    if old is None or name is None or value.buffer is None:
        return []
    if value.buffer.references == 1 and value.buffer.bytes == old.bytes:
        walk.keep(value.buffer)
        value.buffer.kind, value.buffer.name = old.kind, old.name
        walk.variables[name] = value.buffer
        walk.drop(old)
    elif old.references > 1:
        walk.variables[name] = walk.copied(old, old.name)
    return []


def _update(walk: Walk, node: Node, inputs: list[Value]) -> list[Value]:
    name = inputs[0].variable
    buffer = walk.variables.get(name) if name is not None else None
    if buffer is not None and name is not None and buffer.references > 1:
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


def _length(walk: Walk, node: Node, inputs: list[Value]) -> list[Value]:
    items = inputs[0].items
    return [Value(None, Tensor((), 4), None if items is None else len(items))]


def _while(walk: Walk, node: Node, inputs: list[Value]) -> list[Value]:
    """Turn after turn; what later turns compute ahead is held until theirs comes."""
    functions = walk.graph.functions
    condition, body = functions[node.attributes["cond"]], functions[node.attributes["body"]]
    state, turns = list(inputs), 0
    ahead: deque[Buffer] = deque()
    whole = _longest(inputs) or 1
    while turns < MOST_TURNS and _holds(walk, condition, state, turns):
        coming = walk.computed_ahead(node.attributes["body"])
        _look_ahead(walk, ahead, coming, min(TURNS_AT_A_TIME, whole - turns) - 1)
        state = walk.run(body, state)
        turns += 1
    _look_ahead(walk, ahead, [], 0)
    return state


def _look_ahead(walk: Walk, ahead: deque[Buffer], coming: list[tuple[str, int]], turns: int) -> None:
    """Hold what that many turns compute ahead, and no more."""
    wanted = max(0, turns) * len(coming)
    while len(ahead) > wanted:
        walk.drop(ahead.popleft())
    while len(ahead) < wanted:
        ahead.append(walk.new(*coming[len(ahead) % len(coming)]))


def _longest(inputs: list[Value]) -> int | None:
    """How many turns a loop will take: its lists are as long."""
    return max((len(each.items) for each in inputs if each.items), default=None)


def _holds(walk: Walk, condition: Graph, state: list[Value], turns: int) -> bool:
    for each in state:
        walk.keep(each.buffer)
    answer = walk.run(condition, state)[0]
    walk.release(answer)
    if answer.number is not None:
        return bool(answer.number)
    return turns < (_longest(state) or 1)


def _if(walk: Walk, node: Node, inputs: list[Value]) -> list[Value]:
    """The branch that the condition chooses; where it is not known, the one with more operations."""
    then, other = (walk.graph.functions[node.attributes[name]] for name in ("then_branch", "else_branch"))
    number = inputs[0].number
    chosen = (then if len(then.nodes) >= len(other.nodes) else other) if number is None else (then if number else other)
    walk.release(inputs[0])
    return walk.run(chosen, inputs[1:])


def _call(walk: Walk, node: Node, inputs: list[Value]) -> list[Value]:
    return walk.run(walk.graph.functions[node.attributes["f"]], inputs)


def counted(node: Node, inputs: list[Value]) -> int | None:
    """The whole numbers that loops count with and compare."""
    numbers = [each.number for each in inputs]
    count = _COUNTING.get(node.op)
    if count is None or len(numbers) != 2 or numbers[0] is None or numbers[1] is None:
        return None
    return int(count(numbers[0], numbers[1]))


_COUNTING: dict[str, Callable[[int, int], int]] = {
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
}

TAKERS = frozenset({"While", "StatelessWhile", "If", "StatelessIf", "PartitionedCall", "StatefulPartitionedCall"})
"""These hand their inputs on: what goes into a loop may be freed in it."""

SPECIAL: dict[str, Special] = {
    "VarHandleOp": _handle,
    "ReadVariableOp": _read,
    "AssignVariableOp": _assign,
    "AssignAddVariableOp": _update,
    "AssignSubVariableOp": _update,
    "ResourceScatterAdd": _update,
    "ResourceScatterSub": _update,
    "ResourceScatterUpdate": _update,
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
    "While": _while,
    "StatelessWhile": _while,
    "If": _if,
    "StatelessIf": _if,
    "PartitionedCall": _call,
    "StatefulPartitionedCall": _call,
}
