"""Which names hold what, look after look: the containers and large objects that the user's own code can reach by name.

Covers: what leads on from a name: attributes of own objects and classes, closures, default
arguments, functools caches, callbacks of a running `fit`, layers of own classes inside of models, queues.
Does not cover: how large exactly (`_crashcart_sizes` and `_crashcart_bounded` take samples); variables of other threads; what
no name leads to.

It calls nothing of the program's: types are compared, built-in containers are read with the built-in types' own methods,
attributes through the instance's dictionary. Nothing is kept: a look gives words and numbers.
"""

from __future__ import annotations

import sys
import time
from collections import deque

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
FAIR, LEAST_BRANCH = 3, 200
"""Down to there, what one name leads to takes a part of a look, and no more; so many objects it may always lead to."""
MOST_ATTRIBUTES = 80

_FUNCTION = type(lambda: None)
_BASES: Any = ((list, list.__iter__), (dict, dict.values), (deque, deque.__iter__), (tuple, tuple.__iter__),
               (set, set.__iter__), (frozenset, frozenset.__iter__))  # fmt: skip
_MAXLEN: Any = vars(deque)["maxlen"].__get__
_NAME, _MODULE, _BASES_OF, _NAMESPACE = (
    vars(type)[each].__get__ for each in ("__name__", "__module__", "__mro__", "__dict__")
)
"""Of a class, as the interpreter reads them, whatever its own class says."""
_BAGS = frozenset({("types", "SimpleNamespace"), ("argparse", "Namespace")})
"""Classes of the library that programs fill with attributes of their own."""
_LEAVES = frozenset({int, float, bool, complex, type(None), str, bytes, type(sys), range, type(len)})
_FRAMEWORKS = frozenset({"keras", "tf_keras", "tensorflow", "torch", "queue", "threading", "concurrent", "_thread"})


class SpentError(Exception):
    """The time or the number of objects for one look is used up."""

    def bound(self) -> None:
        """A method, for its type."""


_METHOD = type(SpentError().bound)


class Walk:
    """One look around, from the names to the containers, with its bounds.

    A place is the words for where a name lives (`train.py, main`), its file, and the chain of links from the root.
    """

    def __init__(self, roots: Any, bounded: Any, budget_s: float) -> None:
        self.roots = roots
        self.is_own = roots.is_own
        self.bounded = bounded
        self.sizes = bounded.sizes
        self.budget_s = budget_s
        self.nodes = 0
        self.whole = True
        """Whether nothing was left out."""
        self.seen: set[int] = set()
        self.own_kinds: dict[Any, bool] = {}
        self.bounds: dict[int, int] = {}
        """By the id of what a queue holds: how many it may hold."""
        self.entries: list[list[Any]] = []
        """Name, scope, kind, count, bytes, item, file, line of its definition, chain, share that others have."""
        self.allow(1.0)

    def allow(self, share: float) -> None:
        """So much of a look may be spent from here on."""
        self.most_nodes = self.nodes + share * MOST_NODES
        self.deadline_s = time.thread_time() + share * self.budget_s

    def spend(self) -> None:
        """Count one object; raises when enough were looked at."""
        self.nodes += 1
        if self.nodes > self.most_nodes or (self.nodes % 32 == 0 and time.thread_time() > self.deadline_s):
            raise SpentError

    def along(self, roots: Any, is_theirs: Any) -> None:
        """Look at what each of these names leads to."""
        for name, value, place in roots:
            try:
                self.branch(name, value, place, 0)
            except SpentError:
                raise
            except (
                Exception
            ) as failure:  # an object that cannot be looked at: the rest of what this name holds is left out
                if is_theirs is not None and is_theirs(failure):
                    raise

    def branch(self, name: str, value: Any, place: tuple[Any, ...], depth: int) -> None:
        """Visit one of several, with a third of what may be spent: one that leads to very much does not hide those after it."""
        if depth >= FAIR:
            self.visit(name, value, place, depth)
            return
        most = self.most_nodes
        self.most_nodes = min(most, self.nodes + max(LEAST_BRANCH, (most - self.nodes) / 3))
        try:
            self.visit(name, value, place, depth)
        except SpentError:
            self.whole = False
            if self.nodes > most or time.thread_time() > self.deadline_s:
                raise
        finally:
            self.most_nodes = most

    def visit(self, name: str, value: Any, place: tuple[Any, ...], depth: int) -> None:
        """Look at what a name leads to."""
        kind = type(value)
        if kind in _LEAVES and not (kind in (str, bytes) and len(value) >= LEAST_BYTES):
            return
        if id(value) in self.seen:
            return
        self.seen.add(id(value))
        try:
            self.spend()
            self._into(name, value, kind, place, depth)
        except SpentError:  # not seen to its end: another name may lead to it sooner
            self.seen.discard(id(value))
            raise

    def _into(self, name: str, value: Any, kind: Any, place: tuple[Any, ...], depth: int) -> None:
        base = next((each for each in _BASES if issubclass(kind, each[0])), None)
        if base is not None:
            self._container(name, value, base, place, depth)
        elif kind is _FUNCTION or kind is _METHOD:
            self._function(value if kind is _FUNCTION else value.__func__, place, depth)
        elif _NAME(kind) == "_lru_cache_wrapper":
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
            size, item, others = self.sizes.of_container(self, value, kind, members, used)
            words = _NAME(type(value))
            if has_slots:
                words = f"{words} ({count} slots)"
            elif kind is deque and _MAXLEN(value) is not None:
                words = f"{words} (maxlen {_MAXLEN(value)})"
            elif id(value) in self.bounds:
                words = f"{words} (maxsize {self.bounds[id(value)]})"
            self._enter(name, place, words, used, size, item, 0, others)
        if count > WIDEST or depth >= DEEPEST:
            return
        if kind is dict:
            for key, each in list(dict.items(value)):
                if type(key) is str or (type(key) is int and self.sizes.of_array(each, type(each)) is None):
                    self.branch(f"{name}[{key!r}]", each, place, depth + 1)
        else:
            for index, each in enumerate(list(members(value))):
                if self.sizes.of_array(each, type(each)) is None:  # those are counted with the container
                    self.branch(f"{name}[{index}]", each, place, depth + 1)

    def _enter(
        self, name: str, place: Any, kind: str, count: Any, size: int, item: Any, line: int, others: float = 0.0
    ) -> None:
        if size >= LEAST_BYTES or (count or 0) >= LEAST_COUNT:
            chain = [*place[2], name]
            self.entries.append([name, place[0], kind, count, size, item, place[1], line, chain, round(others, 2)])

    def _function(self, value: Any, place: tuple[Any, ...], depth: int) -> None:
        code = value.__code__
        if not self.is_own(code.co_filename) or depth >= DEEPEST:
            return
        inside = (self.roots.scope(code.co_filename, code.co_name), code.co_filename, place[2])
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
        known = dict(_NAMESPACE(value))
        module, name = str(known.get("__module__")), _NAME(value)
        if depth >= DEEPEST or not self._own_module(module):
            return
        inside = (f"class {name}", self._file_of(module, place[1]), place[2])
        for attribute, held in known.items():
            if not attribute.startswith("__"):
                self.branch(f"{name}.{attribute}", held, inside, depth + 1)

    def _object(self, name: str, value: Any, kind: Any, place: tuple[Any, ...], depth: int) -> None:
        measured = self.sizes.of_array(value, kind)
        if measured is not None:
            if measured[0] >= LEAST_BYTES:
                self._enter(name, place, _NAME(kind), None, measured[0], measured[1], 0)
            return
        module = str(_MODULE(kind))
        own = self._own_module(module) or (module, _NAME(kind)) in _BAGS
        if depth >= DEEPEST or not (own or module.partition(".")[0] in _FRAMEWORKS):
            return
        inside = (f"class {_NAME(kind)}", self._file_of(module, place[1]), (*place[2], _link(kind)))
        known = self.roots.attributes(value, kind)[:MOST_ATTRIBUTES]
        self._note_bound(known)
        if own:
            self._own_object(name, known, kind, place, inside, depth)
            return
        for attribute, held in known:
            self._inner(name, attribute, held, place, depth)

    def _own_object(
        self, name: str, known: list[tuple[str, Any]], kind: Any, place: Any, inside: Any, depth: int
    ) -> None:
        """Its attributes; and the object itself, where several of them hold something: a rollout of states and actions."""
        before, names = len(self.entries), {f"{name}.{attribute}" for attribute, _ in known}
        for attribute, held in known:
            self.branch(f"{name}.{attribute}", held, inside, depth + 1)
        sizes = [entry[4] for entry in self.entries[before:] if entry[0] in names and entry[4] >= LEAST_BYTES]
        if len(sizes) > 1:
            self._enter(name, place, _NAME(kind), None, sum(sizes), None, 0)

    def _note_bound(self, known: list[tuple[str, Any]]) -> None:
        """A `queue.Queue` says how many it may hold; what holds them does not."""
        by_name = dict(known)
        most = by_name.get("maxsize")
        if "queue" in by_name and "not_full" in by_name and type(most) is int and most > 0:
            self.bounds[id(by_name["queue"])] = most

    def _inner(self, name: str, attribute: str, held: Any, place: tuple[Any, ...], depth: int) -> None:
        """Inside of a framework's object only what is the user's own counts: layers of own classes, what a queue holds."""
        kind = type(held)
        if kind in _LEAVES:
            return
        if attribute == "queue":
            self.visit(name, held, place, depth + 1)
            return
        members: Any = (held,)
        for base, iterate in _BASES:
            if issubclass(kind, base) and base.__len__(held) <= WIDEST:
                members = list(iterate(held))
        for each in members:
            if self._is_own_kind(type(each)):
                self.visit(_NAME(type(each)), each, (*place[:2], (*place[2], name)), depth + 1)

    def _is_own_kind(self, kind: Any) -> bool:
        """Whether objects of that class are the user's own."""
        known = self.own_kinds.get(kind)
        if known is None:
            known = not issubclass(kind, type) and self._own_module(str(_MODULE(kind)))
            self.own_kinds[kind] = known
        return known

    def _own_module(self, name: str) -> bool:
        if name == "__main__":
            return True
        file = getattr(sys.modules.get(name), "__file__", None)
        return type(file) is str and bool(self.is_own(file))

    def _file_of(self, name: str, otherwise: str) -> str:
        module = sys.modules.get(name)
        return str(self.roots.file_of(module)) if module is not None else otherwise


_KERAS_BASES = ("Model", "Metric", "Callback", "Layer", "Loss", "Optimizer")


def _link(kind: Any) -> str:
    """An object in a chain, by its class; of a class made from one of Keras, that one too."""
    inherited = _BASES_OF(kind)[1:]
    bases = [_NAME(base) for base in inherited if str(_MODULE(base)).partition(".")[0] in ("keras", "tf_keras")]
    base = next((each for each in _KERAS_BASES if each in bases), None)
    return _NAME(kind) if base is None else f"{_NAME(kind)} ({base})"


def look(
    roots: Any, bounded: Any, frames: list[Any], budget_s: float, is_theirs: Any = None
) -> tuple[list[list[Any]], bool]:
    """The entries of one look, and whether it was whole. `frames` are those of this thread, the innermost first; a failure
    that `is_theirs` goes on."""
    walk = Walk(roots, bounded, budget_s)
    for share, stretches in roots.groups(frames):
        walk.allow(share)
        try:
            for name, stretch in stretches:
                before, whole, walk.whole = len(walk.entries), walk.whole, True
                walk.along(stretch, is_theirs)
                if name is not None and walk.whole:
                    roots.note(name, sum(int(entry[4]) for entry in walk.entries[before:]))
                walk.whole = walk.whole and whole
        except SpentError:
            walk.whole = False
    walk.entries.sort(key=lambda entry: -int(entry[4]))
    largest = walk.entries[:MOST_ENTRIES]
    longest = sorted(walk.entries[MOST_ENTRIES:], key=lambda entry: -int(entry[3] or 0))[: MOST_ENTRIES // 3]
    return largest + longest, walk.whole
