"""Where looks at names begin: the globals of own modules, and the variables of own functions that run.

Covers: which modules are the user's own, in which order their names come, and from where a look goes on when the last one had to
leave some out.
Does not cover: what a name leads to (`_crashcart_kept`).

Nothing of the program's is called or kept: variables and attributes are read without any code of their classes.
"""

from __future__ import annotations

import os
import sys
from collections import OrderedDict, defaultdict, deque
from itertools import islice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MOST_COUNTED = 250
"""Modules whose containers are counted in one look: 0.4 ms."""
MOST_ATTRIBUTES = 80
MOST_FRAMES = 300
RUNNING, VARIABLES, MOVING, OTHERS = 0.4, 0.35, 0.12, 0.07
"""The most of a look that names of a group may take: globals of modules that run, variables of functions that run, globals of
modules that hold ever more, globals of other modules. A program may have hundreds of modules of its own, most of which hold what
they held at the start: 2 ms of them in each look go through them in turn, and leave the time for looks as frequent as in a small
program."""
MOVES_FOR = 16
"""Looks in which a module that came to hold more is looked at as one that moves; longer, if it holds more again."""

_NAME, _BASES, _NAMESPACE, _HAS_DICT = (
    vars(type)[each].__get__ for each in ("__name__", "__mro__", "__dict__", "__dictoffset__")
)
"""Of a class, as the interpreter reads them, whatever its own class says."""
_OPTIMIZED = 0x1
_OF_VARIABLES = frozenset({"vars", "eval", "exec", "dir", "stack"})
_OF_FRAMES = frozenset({"_getframe", "currentframe", "locals"})
"""What gives a function a snapshot of its variables: called by its own name, `inspect.stack` besides (`np.stack` and `model.eval`
are others), or by any name."""
_LOADS = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"})
MOST_CODES = 1000
_FIT_FUNCTIONS = frozenset({"fit", "evaluate", "predict"})
_OF_IPYTHON = frozenset({"In", "_ih", "_oh", "_dh", "_i", "_ii", "_iii", "__"})
"""The history that a notebook keeps of the cells' texts; what it keeps of their results is `Out`."""
_MODULE = type(sys)
_CONTAINERS = frozenset({list, dict, set, deque, defaultdict, OrderedDict})


def _members(module: Any) -> int:
    """Of all containers that its names hold: a global that is filled is told by them at the second look."""
    return sum(len(each) for each in list(vars(module).values()) if type(each) in _CONTAINERS)


def _present(names: Any) -> list[Any]:
    return [each for each in map(sys.modules.get, names) if type(each) is _MODULE]


def _globals(module: Any) -> Any:
    file = file_of(module)
    where = scope(file, "<module>")
    for name, value in list(vars(module).items()):
        if type(name) is str and not name.startswith("__") and name not in _OF_IPYTHON:
            yield name, value, (where, file, ())


_files: dict[str, str] = {}
"""Of the main module: the interpreter takes its `__file__` away before the program's last words."""


def file_of(module: Any) -> str:
    """The file of a module."""
    name, file = str(module.__name__), vars(module).get("__file__")
    if type(file) is str:
        _files[name] = file
    return _files.get(name, "<stdin>")


def scope(file: str, function: str) -> str:
    """The words for where a name lives."""
    name = file.rpartition("/")[2]
    return name if function == "<module>" else f"{name}, {function}"


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
    that may have one in use, and the snapshot is emptied again, or it would keep alive what is deleted. Where the program is
    traced or profiled, the interpreter writes snapshots back into the variables.
    """
    if frame.f_trace is not None:
        return []
    old = sys.version_info < (3, 13)
    if old and (sys.gettrace() is not None or sys.getprofile() is not None or _may_use_a_snapshot(frame.f_code)):
        return []
    snapshot = frame.f_locals
    found = list(snapshot.items())
    if old and sys.getrefcount(snapshot) <= 3:  # the frame, this function, and the call itself
        snapshot.clear()
    return found


_using: dict[int, bool] = {}
"""By the hash of a code object, which it does not keep alive."""


def _may_use_a_snapshot(code: Any) -> bool:
    """Whether a function asks for its variables itself."""
    names = frozenset(code.co_names)
    if not names.isdisjoint(_OF_FRAMES) or ("stack" in names and "inspect" in names):
        return True
    if names.isdisjoint(_OF_VARIABLES):
        return False
    known = hash(code)
    if known not in _using:
        import dis

        if len(_using) >= MOST_CODES:
            _using.clear()
        loaded = {each.argval for each in dis.get_instructions(code) if each.opname in _LOADS}
        _using[known] = not loaded.isdisjoint(_OF_VARIABLES)
    return _using[known]


def attributes(value: Any, kind: Any) -> list[tuple[str, Any]]:
    """What the instance's own dictionary and slots hold, without any code of its class."""
    found: list[tuple[str, Any]] = []
    for base in _BASES(kind):
        held = _NAMESPACE(base)
        if type(held.get("__dict__")).__name__ not in ("getset_descriptor", "member_descriptor", "NoneType"):
            return []
        slots = held.get("__slots__", ())
        for name in (slots,) if type(slots) is str else islice(slots, MOST_ATTRIBUTES):
            private = name.startswith("__") and not name.endswith("__")
            member = held.get(f"_{_NAME(base).lstrip('_')}{name}" if private else name)
            if type(member).__name__ == "member_descriptor":
                try:
                    found.append((name, member.__get__(value, kind)))
                except AttributeError:  # not assigned
                    continue
    if _HAS_DICT(kind):
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


class Group:
    """Names that have a share of each look in common: a look that does not come to the end is gone on with in the next one."""

    def __init__(self, share: float) -> None:
        self.share = share
        self._next = 0

    def in_turn(self, stretches: list[Any]) -> Any:
        """Each of them once, from where the last look was left; one that alone is too much for a look is passed by."""
        first = self._next % max(1, len(stretches))
        for turn in range(len(stretches)):
            self._next = first + max(1, turn)
            yield stretches[(first + turn) % len(stretches)]
        self._next = 0


class Roots:
    """The names of one program, for look after look.

    A root is a name, its value and its place: the words for where the name lives (`train.py, main`), its file, and the chain
    of links to it, which is empty.
    """

    attributes, file_of, scope = staticmethod(attributes), staticmethod(file_of), staticmethod(scope)

    def __init__(self, is_own: Any) -> None:
        self.is_own = is_own
        self._foreign: set[str] = set()
        """Names of modules that are known not to be the user's own: a program with TensorFlow has thousands."""
        self._own: list[str] = []
        self._known_modules = 0
        """How many modules there were when these were looked for: to look again takes a quarter of a millisecond."""
        self._moving: dict[str, int] = {}
        """Modules that came to hold more between two looks at them, and for how many looks they count as those."""
        self._counted = Group(0.0)
        self._known: dict[tuple[str, str], int] = {}
        """What was noted of a module last."""
        self._groups = [Group(share) for share in (RUNNING, VARIABLES, MOVING, OTHERS)]
        self._inside: dict[str, Group] = {}
        """Of modules that are not seen whole in one look, where the next one begins."""

    def groups(self, frames: list[Any]) -> Any:
        """Of each group its share of a look, and its roots in stretches, of which a look takes as many as it may. A stretch has a
        name where what it holds is to be noted."""
        near, moving, others = self._modules(frames)
        for module in islice(self._counted.in_turn(others), MOST_COUNTED):
            self.note(str(module.__name__), _members(module), "members")
        stretches: Any = (
            [(None, [root]) for module in near for root in _globals(module)],
            [(None, [root]) for root in self._variables(frames)],
            [self._of_module(module) for module in moving],
            [self._of_module(module) for module in others],
        )
        for group, found in zip(self._groups, stretches):  # noqa: B905  # Python 3.8 has no `strict`
            yield group.share, group.in_turn(found)

    def note(self, module: str, size: int, of: str = "bytes") -> None:
        """So much was found in a module."""
        if size > self._known.setdefault((module, of), size):
            self._moving[module] = MOVES_FOR
        self._known[module, of] = size

    def _of_module(self, module: Any) -> tuple[str, Any]:
        name = str(module.__name__)
        return name, self._names_in_turn(name, module)

    def _names_in_turn(self, name: str, module: Any) -> Any:
        """Where a look cannot take them all, the next one goes on. That is known when the first one is asked for, so nothing is
        read of modules that a look does not come to."""
        yield from self._inside.setdefault(name, Group(0.0)).in_turn(list(_globals(module)))

    def _modules(self, frames: list[Any]) -> tuple[list[Any], list[Any], list[Any]]:
        """The user's own: the main one and those with functions that run, those that move, and the others."""
        if len(sys.modules) != self._known_modules:
            self._known_modules = len(sys.modules)
            self._own[:] = [
                name for name in list(sys.modules) if name not in self._foreign and self._is_own_module(name)
            ]
        running = {str(frame.f_globals.get("__name__")) for frame in frames if self.is_own(frame.f_code.co_filename)}
        self._moving = {name: looks - 1 for name, looks in self._moving.items() if looks > 0}
        near, moving, others = ["__main__"], [], []  # type: tuple[list[str], list[str], list[str]]
        for name in self._own:
            (near if name in running else moving if name in self._moving else others).append(name)
        return _present(near), _present(moving), _present(others)

    def _is_own_module(self, name: str) -> bool:
        module: Any = sys.modules.get(name)
        file = vars(module).get("__file__") if type(module) is _MODULE else None
        own = module is not sys.modules.get("__main__") and type(file) is str and bool(self.is_own(file))
        if not own:
            self._foreign.add(name)
        return own

    def _variables(self, frames: list[Any]) -> Any:
        """Of functions that run, from the outside in."""
        for frame in reversed(frames):
            code = frame.f_code
            if self.is_own(code.co_filename) and code.co_flags & _OPTIMIZED:
                for name, value in variables(frame):
                    yield name, value, (scope(code.co_filename, code.co_name), code.co_filename, ())
            elif code.co_name in _FIT_FUNCTIONS and "keras" in code.co_filename:
                for given in _given(frame):
                    module = sys.modules.get(str(type(given).__module__))
                    if module is not None and (module.__name__ == "__main__" or self.is_own(file_of(module))):
                        name = type(given).__name__
                        yield name, given, (f"given to model.{code.co_name}", file_of(module), ())
