"""Which names hold what, look after look: the containers and large objects that the user's own code can reach by name.

Covers: globals of own modules, variables of own functions that run, attributes of own objects and classes, closures, default
arguments, functools caches, callbacks of a running `fit`, layers of own classes inside of models, queues.
Does not cover: how large exactly (`_crashcart_sizes` and `_crashcart_bounded` take samples); variables of other threads; what
no name leads to.

It calls nothing of the program's: types are compared, built-in containers are read with the built-in types' own methods,
attributes through the instance's dictionary. Nothing is kept: a look gives words and numbers.
"""

from __future__ import annotations

import os
import sys
import time
from collections import deque
from itertools import islice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MOST_NODES = 6000
MOST_ENTRIES = 60
LEAST_BYTES = 16 * 1024
LEAST_COUNT = 2
WIDEST = 32
"""A container with more members than that is one thing that is filled; one with fewer is looked into."""
DEEPEST = 4
MOST_ATTRIBUTES = 80
MOST_FRAMES = 300

_OPTIMIZED = 0x1
_FUNCTION = type(lambda: None)
_SNAPSHOTS = frozenset({"locals", "vars", "eval", "exec", "dir", "_getframe", "currentframe", "stack", "format_map"})
_FIT_FUNCTIONS = frozenset({"fit", "evaluate", "predict"})
_BASES: Any = ((list, list.__iter__), (dict, dict.values), (deque, deque.__iter__), (tuple, tuple.__iter__),
               (set, set.__iter__), (frozenset, frozenset.__iter__))  # fmt: skip
_LEAVES = frozenset({int, float, bool, complex, type(None), str, bytes, type(sys), range, type(len)})
_FRAMEWORKS = frozenset({"keras", "tf_keras", "tensorflow", "torch", "queue", "threading", "concurrent", "_thread"})


class SpentError(Exception):
    """The time or the number of objects for one look is used up."""

    def bound(self) -> None:
        """A method, for its type."""


_METHOD = type(SpentError().bound)
_OF_IPYTHON = frozenset({"In", "_ih", "_oh", "_dh", "_i", "_ii", "_iii", "__"})
"""The history that a notebook keeps of the cells' texts; what it keeps of their results is `Out`."""


class Walk:
    """One look around, from the names to the containers, with its bounds.

    A place is the words for where a name lives (`train.py, main`), its file, and the chain of links from the root.
    """

    def __init__(self, is_own: Any, bounded: Any, budget_s: float) -> None:
        self.is_own = is_own
        self.bounded = bounded
        self.sizes = bounded.sizes
        self.deadline_s = time.thread_time() + budget_s
        self.nodes = 0
        self.seen: set[int] = set()
        self.bounds: dict[int, int] = {}
        """By the id of what a queue holds: how many it may hold."""
        self.entries: list[list[Any]] = []
        """Name, scope, kind, count, bytes, item, file, line of its definition, chain."""

    def spend(self) -> None:
        """Count one object; raises when enough were looked at."""
        self.nodes += 1
        if self.nodes > MOST_NODES or (self.nodes % 32 == 0 and time.thread_time() > self.deadline_s):
            raise SpentError

    def visit(self, name: str, value: Any, place: tuple[Any, ...], depth: int) -> None:
        """Look at what a name leads to."""
        kind = type(value)
        if kind in _LEAVES and not (kind in (str, bytes) and len(value) >= LEAST_BYTES):
            return
        if id(value) in self.seen:
            return
        self.seen.add(id(value))
        self.spend()
        base = next((each for each in _BASES if issubclass(kind, each[0])), None)
        if base is not None:
            self._container(name, value, base, place, depth)
        elif kind is _FUNCTION or kind is _METHOD:
            self._function(value if kind is _FUNCTION else value.__func__, place, depth)
        elif kind.__name__ == "_lru_cache_wrapper":
            self._cache(value, place)
        elif issubclass(kind, type):
            self._class(value, place, depth)
        else:
            self._object(name, value, kind, place, depth)

    def _container(self, name: str, value: Any, base: Any, place: tuple[Any, ...], depth: int) -> None:
        kind, members = base
        count = kind.__len__(value)
        if count >= LEAST_COUNT or kind is not tuple:
            used, has_slots = self.bounded.slots(value, count) if kind is list else (count, False)
            size, item = self.sizes.of_container(self, value, kind, members, used)
            words = type(value).__name__
            if has_slots:
                words = f"{words} ({count} slots)"
            elif kind is deque and value.maxlen is not None:
                words = f"{words} (maxlen {value.maxlen})"
            elif id(value) in self.bounds:
                words = f"{words} (maxsize {self.bounds[id(value)]})"
            self._enter(name, place, words, used, size, item, 0)
        if count > WIDEST or depth >= DEEPEST:
            return
        if kind is dict:
            for key, each in list(dict.items(value)):
                if type(key) is str or (type(key) is int and self.sizes.of_array(each, type(each)) is None):
                    self.visit(f"{name}[{key!r}]", each, place, depth + 1)
        else:
            for index, each in enumerate(list(members(value))):
                if self.sizes.of_array(each, type(each)) is None:  # those are counted with the container
                    self.visit(f"{name}[{index}]", each, place, depth + 1)

    def _enter(self, name: str, place: tuple[Any, ...], kind: str, count: Any, size: int, item: Any, line: int) -> None:
        if size >= LEAST_BYTES or (count or 0) >= LEAST_COUNT:
            self.entries.append([name, place[0], kind, count, size, item, place[1], line, [*place[2], name]])

    def _function(self, value: Any, place: tuple[Any, ...], depth: int) -> None:
        code = value.__code__
        if not self.is_own(code.co_filename) or depth >= DEEPEST:
            return
        inside = (_scope(code.co_filename, code.co_name), code.co_filename, place[2])
        for variable, cell in zip(code.co_freevars, value.__closure__ or ()):  # noqa: B905  # Python 3.8 has no `strict`
            try:
                held = cell.cell_contents
            except ValueError:  # not assigned yet
                continue
            self.visit(f"closure of {value.__name__}: {variable}", held, inside, depth + 1)
        arguments = code.co_varnames[: code.co_argcount]
        for variable, held in zip(reversed(arguments), reversed(value.__defaults__ or ())):  # noqa: B905
            self.visit(f"default of {value.__name__}: {variable}", held, inside, depth + 1)
        for attribute, held in list((value.__kwdefaults__ or {}).items()):
            self.visit(f"default of {value.__name__}: {attribute}", held, inside, depth + 1)
        for attribute, held in list(vars(value).items()):
            if type(attribute) is str:
                self.visit(f"{value.__name__}.{attribute}", held, inside, depth + 1)

    def _cache(self, value: Any, place: tuple[Any, ...]) -> None:
        code = getattr(getattr(value, "__wrapped__", None), "__code__", None)
        if code is None or not self.is_own(code.co_filename):
            return
        count, size, item = self.bounded.of_cache(self, value)
        bound = value.cache_info().maxsize
        words = "lru_cache" if bound is None else f"lru_cache (maxsize {bound})"
        scope = (place[0], code.co_filename, place[2])
        self._enter(f"functools cache of {code.co_name}", scope, words, count, size, item, code.co_firstlineno)

    def _class(self, value: Any, place: tuple[Any, ...], depth: int) -> None:
        file = self._file_of(str(value.__module__), place[1])
        if depth >= DEEPEST or not self._own_module(str(value.__module__)):
            return
        inside = (f"class {value.__name__}", file, place[2])
        for attribute, held in list(vars(value).items()):
            if not attribute.startswith("__"):
                self.visit(f"{value.__name__}.{attribute}", held, inside, depth + 1)

    def _object(self, name: str, value: Any, kind: Any, place: tuple[Any, ...], depth: int) -> None:
        measured = self.sizes.of_array(value, kind)
        if measured is not None:
            if measured[0] >= LEAST_BYTES:
                self._enter(name, place, kind.__name__, None, measured[0], measured[1], 0)
            return
        module = str(kind.__module__)
        own = self._own_module(module)
        if depth >= DEEPEST or not (own or module.partition(".")[0] in _FRAMEWORKS):
            return
        inside = (f"class {kind.__name__}", self._file_of(module, place[1]), (*place[2], _link(kind)))
        known = attributes(value, kind)[:MOST_ATTRIBUTES]
        self._note_bound(known)
        for attribute, held in known:
            if own:
                self.visit(f"{name}.{attribute}", held, inside, depth + 1)
            else:
                self._inner(name, attribute, held, place, depth)

    def _note_bound(self, known: list[tuple[str, Any]]) -> None:
        """A `queue.Queue` says how many it may hold; what holds them does not."""
        by_name = dict(known)
        most = by_name.get("maxsize")
        if "queue" in by_name and "not_full" in by_name and type(most) is int and most > 0:
            self.bounds[id(by_name["queue"])] = most

    def _inner(self, name: str, attribute: str, held: Any, place: tuple[Any, ...], depth: int) -> None:
        """Inside of a framework's object only what is the user's own counts: layers of own classes, what a queue holds."""
        if attribute == "queue":
            self.visit(name, held, place, depth + 1)
            return
        members: Any = (held,)
        for base, iterate in _BASES:
            if issubclass(type(held), base) and base.__len__(held) <= WIDEST:
                members = list(iterate(held))
        for each in members:
            if not issubclass(type(each), type) and self._own_module(str(type(each).__module__)):
                self.visit(type(each).__name__, each, (*place[:2], (*place[2], name)), depth + 1)

    def _own_module(self, name: str) -> bool:
        if name == "__main__":
            return True
        file = getattr(sys.modules.get(name), "__file__", None)
        return type(file) is str and bool(self.is_own(file))

    def _file_of(self, name: str, otherwise: str) -> str:
        module = sys.modules.get(name)
        return _file(module) if module is not None else otherwise


_KERAS_BASES = ("Model", "Metric", "Callback", "Layer", "Loss", "Optimizer")


def _link(kind: Any) -> str:
    """An object in a chain, by its class; of a class made from one of Keras, that one too."""
    bases = [
        base.__name__ for base in kind.__mro__[1:] if str(base.__module__).partition(".")[0] in ("keras", "tf_keras")
    ]
    base = next((each for each in _KERAS_BASES if each in bases), None)
    return kind.__name__ if base is None else f"{kind.__name__} ({base})"


def _scope(file: str, function: str) -> str:
    name = file.rpartition("/")[2]
    return name if function == "<module>" else f"{name}, {function}"


def look(
    is_own: Any, bounded: Any, frames: list[Any], budget_s: float, is_theirs: Any = None
) -> tuple[list[list[Any]], bool]:
    """The entries of one look, and whether it was whole. `frames` are those of this thread, the innermost first; a failure
    that `is_theirs` goes on."""
    walk = Walk(is_own, bounded, budget_s)
    whole = True
    try:
        for name, value, place in _roots(is_own, frames):
            try:
                walk.visit(name, value, place, 0)
            except SpentError:
                raise
            except (
                Exception
            ) as failure:  # an object that cannot be looked at: the rest of what this name holds is left out
                if is_theirs is not None and is_theirs(failure):
                    raise
    except SpentError:
        whole = False
    walk.entries.sort(key=lambda entry: -int(entry[4]))
    largest = walk.entries[:MOST_ENTRIES]
    longest = sorted(walk.entries[MOST_ENTRIES:], key=lambda entry: -int(entry[3] or 0))[: MOST_ENTRIES // 3]
    return largest + longest, whole


def _roots(is_own: Any, frames: list[Any]) -> Any:
    """Names with their values: globals first (those of modules that run before all), then variables from the outside in."""
    nearest = [str(frame.f_globals.get("__name__")) for frame in frames if is_own(frame.f_code.co_filename)]
    for module in sorted(_own_modules(is_own), key=lambda each: each.__name__ not in ("__main__", *nearest)):
        file = _file(module)
        scope = _scope(file, "<module>")
        for name, value in list(vars(module).items()):
            if type(name) is str and not name.startswith("__") and name not in _OF_IPYTHON:
                yield name, value, (scope, file, ())
    for frame in reversed(frames):
        code = frame.f_code
        if is_own(code.co_filename) and code.co_flags & _OPTIMIZED:
            for name, value in variables(frame):
                yield name, value, (_scope(code.co_filename, code.co_name), code.co_filename, ())
        elif code.co_name in _FIT_FUNCTIONS and "keras" in code.co_filename:
            for given in _given(frame):
                module = sys.modules.get(str(type(given).__module__))
                if module is not None and (module.__name__ == "__main__" or is_own(_file(module))):
                    name = type(given).__name__
                    yield name, given, (f"given to model.{code.co_name}", _file(module), ())


_files: dict[str, str] = {}
"""Of the main module: the interpreter takes its `__file__` away before the program's last words."""


def _file(module: Any) -> str:
    name, file = str(module.__name__), vars(module).get("__file__")
    if type(file) is str:
        _files[name] = file
    return _files.get(name, "<stdin>")


_foreign: set[str] = set()
"""Names of modules that are known not to be the user's own: a program with TensorFlow has thousands."""


def _own_modules(is_own: Any) -> list[Any]:
    found: list[Any] = []
    main = sys.modules.get("__main__")
    if type(main) is type(sys):
        found.append(main)
    for name in [name for name in list(sys.modules) if name not in _foreign]:
        module: Any = sys.modules.get(name)
        file = vars(module).get("__file__") if type(module) is type(sys) else None
        if module is main:
            continue
        if type(file) is str and is_own(file):
            found.append(module)
        else:
            _foreign.add(name)
    return found


def _given(frame: Any) -> list[Any]:
    """What a Keras `fit` that runs was given: its callbacks and its data."""
    found: list[Any] = []
    for name, value in variables(frame):
        if name == "callbacks":
            inner = attributes(value, type(value))
            found.extend(each for name, held in inner if name == "callbacks" and type(held) is list for each in held)
        elif name in ("x", "validation_data"):
            found.append(value)
    return found


def variables(frame: Any) -> list[tuple[str, Any]]:
    """The variables of a function that runs.

    Before Python 3.13 reading them makes the frame keep a snapshot, the same that `locals()` gives: so not of a frame
    that may have one in use or is traced, and the snapshot is emptied again, or it would keep alive what is deleted.
    """
    if frame.f_trace is not None:
        return []
    old = sys.version_info < (3, 13)
    if old and not _SNAPSHOTS.isdisjoint(frame.f_code.co_names):
        return []
    snapshot = frame.f_locals
    found = list(snapshot.items())
    if old and sys.getrefcount(snapshot) <= 3:  # the frame, this function, and the call itself
        snapshot.clear()
    return found


def attributes(value: Any, kind: Any) -> list[tuple[str, Any]]:
    """What the instance's own dictionary and slots hold, without any code of its class."""
    found: list[tuple[str, Any]] = []
    for base in kind.__mro__:
        held = vars(base)
        if "__dict__" in held and type(held["__dict__"]).__name__ != "getset_descriptor":
            return []
        slots = held.get("__slots__", ())
        for name in (slots,) if type(slots) is str else islice(slots, MOST_ATTRIBUTES):
            member = held.get(name)
            if type(member).__name__ == "member_descriptor":
                try:
                    found.append((name, member.__get__(value, kind)))
                except AttributeError:  # not assigned
                    continue
    if kind.__dictoffset__:
        inner = object.__getattribute__(value, "__dict__")
        if isinstance(inner, dict):
            found.extend((name, each) for name, each in list(dict.items(inner)) if type(name) is str)
    return found


def frames_here(skip: str) -> list[Any]:
    """The frames of this thread, innermost first, without our own (those of files in the folder `skip`). What other threads
    hold in their variables may be gone at any moment, and must not be held for them."""
    found: list[Any] = []
    frame: Any = sys._getframe(1)
    while frame is not None and len(found) < MOST_FRAMES:
        if not frame.f_code.co_filename.startswith(skip + os.sep):
            found.append(frame)
        frame = frame.f_back
    return found
