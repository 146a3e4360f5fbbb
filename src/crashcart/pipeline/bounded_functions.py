"""What a traced function does: whether calling it in another order, or once more, could show.

Covers: functions of `tf.data` stages, with the functions that they call. Does not cover: changing them
(`bounded_inner`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_HARMLESS = frozenset({"Assert", "LookupTableFindV2", "LookupTableSizeV2", "Print", "PrintV2", "ReadFile"})
"""Operations that count as stateful but give the same for the same input."""
_CALLS = frozenset(
    {"PartitionedCall", "StatefulPartitionedCall", "If", "StatelessIf", "While", "StatelessWhile", "Case"}
)


def is_generator(stage: Any) -> bool:
    """Whether a stage is from_generator: a flat_map of its own over one number."""
    function = getattr(getattr(stage, "_map_func", None), "_func", None)
    return str(getattr(function, "__module__", "")).endswith("from_generator_op")


def is_stateless(wrapper: Any) -> bool:
    """Whether the same input always gives the same result, whatever was called before."""
    from tensorflow.python.framework import op_def_registry

    for op in operations(wrapper.function):
        known = op_def_registry.get(op)
        if known is None or (known.is_stateful and op not in _HARMLESS and op not in _CALLS):
            return False
    return True


def operations(function: Any) -> Iterator[str]:
    """The operations of a traced function and of all that it calls."""
    yield from _named(function.function_def, set())


def _named(definition: Any, seen: set[str]) -> Iterator[str]:
    for node in definition.node_def:
        yield node.op
        for name in called(node):
            if name not in seen:
                seen.add(name)
                inner = definition_of(name)
                if inner is not None:
                    yield from _named(inner, seen)
                else:
                    yield f"unknown function {name}"


def called(node: Any) -> Iterator[str]:
    """The functions that an operation names."""
    for value in node.attr.values():
        if value.func.name:
            yield value.func.name
        for each in value.list.func:
            yield each.name


def definition_of(name: str) -> Any:
    """A function by its name; None where this process does not have it."""
    from tensorflow.python.eager import context

    try:
        return context.context().get_function_def(name)
    except Exception as error:  # the registry raises whatever its status maps to
        if type(error).__module__.startswith("tensorflow"):
            return None
        raise
