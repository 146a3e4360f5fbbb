"""The state of Keras objects that live in the caller's process, kept while a step is traced and put back afterwards.

Covers: attributes and containers of a model, its layers, losses, and of every optimizer and metric of the process, which a
step may reach by a global name or a list as well as by an attribute. What a first step makes in them (slots, counters,
variables of the user's own) takes no memory while it is traced; it must not stay.
Does not cover: values of variables (a trace computes none), and variables bound to a global name for the first time.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

# Their own attributes hold no variables that a step makes, and there are many of them.
_LEAVES = (str, bytes, int, float, complex, type(None), type, ModuleType, FunctionType, MethodType, BuiltinFunctionType)
_FOREIGN = {"keras", "tensorflow", "numpy", "pandas", "IPython", "crashcart", *sys.stdlib_module_names}


@contextmanager
def kept(model: Any) -> Iterator[None]:
    """Afterwards the model, and what it trains with, has the attributes that it has now."""
    undo = [each for thing in _reached([model, *_stateful()]) for each in _undo(thing)]
    try:
        yield
    finally:
        for each in undo:
            each()


def _stateful() -> list[Any]:
    """Every optimizer and metric there is."""
    import keras

    kinds = (keras.optimizers.Optimizer, keras.Metric)
    return [each for each in gc.get_objects() if issubclass(type(each), kinds)]


def _reached(roots: list[Any]) -> Iterator[Any]:
    seen: set[int] = set()
    left = list(roots)
    while left:
        thing = left.pop()
        kind = type(thing)
        if id(thing) in seen or issubclass(kind, _LEAVES):
            continue
        seen.add(id(thing))
        if not issubclass(kind, (list, dict, set, tuple)) and not _has_state(kind):
            continue
        yield thing
        if issubclass(kind, dict):
            left.extend(dict.values(thing))
        elif issubclass(kind, (list, set, tuple)):
            left.extend(thing)
        left.extend(getattr(thing, "__dict__", {}).values())


def _has_state(kind: type) -> bool:
    """Whether a step may make something in such an object: the user's own, and those of Keras that hold variables."""
    import keras
    from keras.src.utils.tracking import Tracker

    if issubclass(kind, (keras.layers.Layer, keras.optimizers.Optimizer, keras.Metric, keras.Loss, Tracker)):
        return True
    if issubclass(kind, (keras.Variable, keras.KerasTensor)):
        return False
    return kind.__module__.partition(".")[0] not in _FOREIGN


def _undo(thing: Any) -> Iterator[Callable[[], None]]:
    kind = type(thing)
    for base in (list, dict, set):
        if issubclass(kind, base):
            yield _refilled(base, thing)
    if isinstance(attributes := getattr(thing, "__dict__", None), dict):
        yield _refilled(dict, attributes)


def _refilled(base: Any, container: Any) -> Callable[[], None]:
    """By the methods of the plain type: Keras' own containers would track what is put in."""
    was = base.copy(container)
    fill = {list: "extend", dict: "update", set: "update"}[base]

    def undo() -> None:
        if not _same(base, container, was):
            base.clear(container)
            getattr(base, fill)(container, was)

    return undo


def _same(base: Any, now: Any, was: Any) -> bool:
    if len(now) != len(was):
        return False
    if base is set:
        return bool(set.__eq__(now, was))
    if base is dict:
        return all(one is other for one, other in zip(dict.keys(now), was, strict=True)) and all(
            one is other for one, other in zip(dict.values(now), was.values(), strict=True)
        )
    return all(one is other for one, other in zip(list.__iter__(now), was, strict=True))
