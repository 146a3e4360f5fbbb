"""What frameworks have made and is still alive: counted by weak references, with the user's line that made it.

Covers: Keras models, layers and optimizers, tf.functions and their traces, variables, graphs, sessions, dataset iterators,
summary writers, Python functions that were handed to TensorFlow, threads; and of tf.functions that are traced again and again,
what was different.
Does not cover: tensors and arrays (`_crashcart_kept`, `_crashcart_sites`).

Nothing is kept alive: there is a weak reference to each object, and words. All of these are made rarely; each costs some
microseconds when it is made, and nothing afterwards.
"""

from __future__ import annotations

import sys
import weakref
from _functools import partial  # type: ignore[import-not-found]

TYPE_CHECKING = False
if TYPE_CHECKING:  # `typing` itself costs 5 ms
    from typing import Any

MOST_FRAMES = 80
MOST_GROUPS = 24
MOST_RETRACED = 8
MOST_PLACES = 500
LEAST_TRACES = 3
COMPARED = 6
"""How many of a function's last traces are compared, to tell what changed."""
WORDS_CHARS = 120


class Alive:
    """The objects that were made since the start and are alive, by kind."""

    def __init__(self, is_own: Any) -> None:
        self.is_own = is_own
        self.kinds: dict[str, dict[int, tuple[Any, str, tuple[Any, ...]]]] = {}
        """By kind and id: the weak reference, the name, and the place: file, line, function."""
        self._noted = self._added = 0
        self.numbers: dict[int, int] = {}
        """Of the latest dataset iterators, by their ids, which are given again: the how-manieth thing each is."""
        self.calls: dict[tuple[Any, ...], tuple[Any, ...]] = {}
        """By a tf.function's code: the user's line whose call traced it last."""
        self.operations: dict[tuple[Any, ...], int] = {}
        """By the user's line: operations that it has put into graphs of TensorFlow 1."""
        self._counted: tuple[int, dict[str, int]] = (-1, {})

    def add(self, kind: str, thing: Any, name: str) -> None:
        """Something was made just now, by the program's own line that is nearest on the stack."""
        known = self.kinds.setdefault(kind, {})
        key = id(thing)
        if key in known:
            return

        self._added += 1
        if kind == "dataset iterator":
            if len(self.numbers) >= MOST_PLACES:
                self.numbers.clear()
            self.numbers[key] = self._added
        # No code of Python runs when it goes: a signal handler that raised there would be dropped by the interpreter.
        known[key] = (weakref.ref(thing, partial(known.pop, key)), name, self._place())

    @property
    def changes(self) -> int:
        """How often something was made or has gone; a trace makes a graph."""
        return self._noted + 2 * self._added - sum(len(known) for known in list(self.kinds.values()))

    def called(self, key: Any) -> None:
        """A tf.function with that code was traced by a call."""
        if len(self.calls) < MOST_PLACES:
            self.calls[(key.co_filename, key.co_firstlineno)] = self._place()

    def _operation_made(self, graph: Any) -> None:
        if type(graph).__name__ != "Graph":  # one that is traced
            return
        place = self._place()
        if place and (place in self.operations or len(self.operations) < MOST_PLACES):
            self.operations[place] = self.operations.get(place, 0) + 1
            self._noted += 1

    def place(self) -> tuple[Any, ...]:
        """The program's own line that is nearest on the stack: file, line, function."""
        return self._place()

    def _place(self) -> tuple[Any, ...]:
        frame: Any = sys._getframe(2)
        for _ in range(MOST_FRAMES):
            if frame is None:
                break
            code = frame.f_code
            if self.is_own(code.co_filename):
                return (code.co_filename, frame.f_lineno, code.co_name)
            frame = frame.f_back
        return ()

    def of_kind(self, kind: str) -> list[tuple[Any, str, tuple[Any, ...]]]:
        """Those that are alive: the object itself, its name and its place. Not to be kept."""
        found = []
        for reference, name, place in list(self.kinds.get(kind, {}).values()):
            thing = reference()
            if thing is not None:
                found.append((thing, name, place))
        return found

    def counts(self) -> dict[str, int]:
        """The series of what was ever seen here."""
        if self._counted[0] != self.changes:
            self._counted = (self.changes, self._count())
        found = dict(self._counted[1])
        if self.kinds.get("session"):
            found["sessions"] = sum(not session._closed for session, _, _ in self.of_kind("session"))
        if self.kinds.get("graph"):
            found["operations"] = sum(int(graph.version) for graph, _, _ in self.of_kind("graph"))
        return found

    def _count(self) -> dict[str, int]:
        series = {"model": "models", "layer": "layers", "variable": "variables", "function graph": "graphs",
                  "Python function": "functions"}  # fmt: skip
        found = {name: len(self.kinds[kind]) for kind, name in series.items() if kind in self.kinds}
        if self.kinds.get("tf.function"):
            functions = self.of_kind("tf.function")
            found["traces"] = sum(len(function._function_cache) for function, _, _ in functions)
        return found

    def groups(self) -> list[list[Any]]:
        """What is alive more than once: kind, name, place, how many; the largest groups."""
        sizes: dict[tuple[Any, ...], int] = {}
        for kind, known in self.kinds.items():
            for _, name, place in list(known.values()):
                sizes[(kind, name, place)] = sizes.get((kind, name, place), 0) + 1
        for place, count in list(self.operations.items()):
            sizes[("operation", "Operation", place)] = count
        placed = [(count, key) for key, count in sizes.items() if key[2]]
        largest = sorted(placed, key=lambda each: (each[1][0] == "function graph", -each[0]))  # they come in dozens
        return [[key[0], key[1], list(key[2]), count] for count, key in largest[:MOST_GROUPS]]

    def retraced(self) -> list[list[Any]]:
        """The tf.functions with several traces: name, place, how many, what changed."""
        found: list[list[Any]] = []
        for function, name, place in self.of_kind("tf.function"):
            traces = len(function._function_cache)
            if traces >= LEAST_TRACES:
                code = getattr(function, "_key_for_call_stats", None)
                called = self.calls.get((getattr(code, "co_filename", ""), getattr(code, "co_firstlineno", 0)))
                found.append(
                    [name, list(called or _defined_at(function, self.is_own) or place), traces, _changed(function)]
                )
        return sorted(found, key=lambda each: -each[2])[:MOST_RETRACED]

    def places(self) -> dict[str, Any]:
        """Where the frameworks make things, by module."""
        return {
            "keras.src.layers.layer": self._keras_layers,
            "keras.src.optimizers.base_optimizer": self._of("optimizer", "BaseOptimizer"),
            "tensorflow.python.eager.polymorphic_function.polymorphic_function": self._tf_functions,
            "tensorflow.python.ops.resource_variable_ops": self._variables,
            "tensorflow.python.framework.ops": self._graphs,
            "tensorflow.python.client.session": self._of("session", "BaseSession"),
            "tensorflow.python.data.ops.iterator_ops": self._of("dataset iterator", "OwnedIterator"),
            "tensorflow.python.ops.script_ops": self._python_functions,
            "tensorflow.python.ops.summary_ops_v2": self._of("summary writer", "_ResourceSummaryWriter"),
            "threading": self._threads,
        }

    def _threads(self, hooks: Any, module: Any) -> None:
        """Of a pool of `concurrent.futures`, the first thread stands for all of them."""

        def made(thread: Any) -> None:
            maker: Any = sys._getframe(2)  # who makes it, past this function and the look-up
            if maker.f_code.co_filename.endswith("concurrent/futures/thread.py"):
                pool = maker.f_locals.get("self")
                if len(getattr(pool, "_threads", ())):
                    return
            self.add("thread", thread, type(thread).__name__)

        hooks.count_look_up(module.Thread, "__init__", made)

    def _of(self, kind: str, name: str) -> Any:
        def place(hooks: Any, module: Any) -> None:
            hooks.count_look_up(
                getattr(module, name), "__init__", lambda thing: self.add(kind, thing, type(thing).__name__)
            )

        return place

    def _keras_layers(self, hooks: Any, module: Any) -> None:
        """Every layer and model asks for this method once while it is made, however its constructor was called."""

        def made(thing: Any) -> None:
            model = any(base.__name__ == "Model" for base in type(thing).__mro__)
            self.add("model" if model else "layer", thing, type(thing).__name__)

        hooks.count_look_up(module.Layer, "_initialize_tracker", made)

    def _tf_functions(self, hooks: Any, module: Any) -> None:
        def made(function: Any) -> None:
            self.add("tf.function", function, str(getattr(function, "_name", "")) or "a function")

        hooks.count_look_up(module.Function, "_get_key_for_call_stats", made)
        kind = module._FrequentTracingDetectorManager
        plain = kind.called_with_tracing

        def called_with_tracing(manager: Any, key: Any, *others: Any) -> None:
            plain(manager, key, *others)
            try:
                self.called(key)
            except Exception as failure:  # a callable without code of its own
                if hooks.counts.is_theirs(failure):
                    raise

        hooks.replace(kind, "called_with_tracing", plain, called_with_tracing)

    def _variables(self, hooks: Any, module: Any) -> None:
        def made(variable: Any) -> None:
            name = type(variable).__name__
            if name != "_UnreadVariable":  # one for every assignment, and no storage of its own
                self.add("variable", variable, name)

        hooks.count_look_up(module.BaseResourceVariable, "__init__", made)

    def _python_functions(self, hooks: Any, module: Any) -> None:
        """`from_generator`, `py_function` and `numpy_function` write down what they were given."""
        kind = module.FuncRegistry
        plain = kind.insert

        def insert(registry: Any, function: Any) -> Any:
            try:
                self.add("Python function", function, type(function).__name__)
            except Exception as failure:  # one that no weak reference can be made of
                if hooks.counts.is_theirs(failure):
                    raise
            return plain(registry, function)

        hooks.replace(kind, "insert", plain, insert)

    def _graphs(self, hooks: Any, module: Any) -> None:
        def made(graph: Any) -> None:
            of_function = type(graph).__name__ != "Graph"
            self.add("function graph" if of_function else "graph", graph, type(graph).__name__)

        hooks.count_look_up(module.Graph, "__init__", made)
        hooks.count_look_up(module.Graph, "_create_op_internal", self._operation_made)


def _defined_at(function: Any, is_own: Any) -> list[Any] | None:
    """The place of the Python function, where it is the user's own."""
    code: Any = getattr(function, "_key_for_call_stats", None)
    file = getattr(code, "co_filename", None)
    if file is None or not is_own(file):
        return None
    return [file, code.co_firstlineno, code.co_name]


def _changed(function: Any) -> list[str]:
    """What differs between a function's last traces, argument by argument."""
    kinds = [key[1] for key in list(function._function_cache._primary)[-COMPARED:]]
    by_name: dict[str, list[str]] = {}
    for kind in kinds:
        for name, parameter in kind.parameters.items():
            by_name.setdefault(name, []).append(_type_words(parameter.type_constraint))
    found = []
    for name, words in by_name.items():
        different = list(dict.fromkeys(words))
        if len(different) > 1:
            found.append(f"argument `{name}`: {_joined(different)}")
    return found[:6]


def _type_words(kind: Any) -> str:
    if hasattr(kind, "shape") and hasattr(kind, "dtype"):
        return f"shape {kind.shape}|{getattr(kind.dtype, 'name', kind.dtype)}"
    if type(kind).__name__ == "Literal":
        value = kind.value
        word = {int: "Python number", float: "Python number", bool: "Python value", str: "Python text"}
        return f"{word.get(type(value), 'Python value')} {value!r:.40}"
    if type(kind).__name__ == "Weakref":
        return "another Python object each time"
    return str(kind)[:WORDS_CHARS]


def _joined(different: list[str]) -> str:
    """`shape (32, 10), (31, 10)`: what they have in common is said once."""
    split = [each.partition("|") for each in different]
    if all(words.startswith("shape ") for words, _, _ in split):
        if len({words for words, _, _ in split}) > 1:
            return "shape " + ", ".join(dict.fromkeys(words[6:] for words, _, _ in split))
        return "type " + ", ".join(dict.fromkeys(kind for _, _, kind in split))
    for word in ("Python number ", "Python value ", "Python text "):
        if all(each.startswith(word) for each in different):
            return word + ", ".join(each[len(word) :] for each in different)
    return ", ".join(each.replace("|", " ") for each in different)
