"""Which named objects hold memory: a bounded look at the variables that the user's own code has names for.

Covers: arrays, tensors, data frames, long strings, containers of them (by a sample of their elements), attributes of
objects one level deep, Keras models, and tf.data chains with their buffers.
Does not cover: temporaries without a name, or memory of native code.

It runs between two bytecodes of the main thread or in a thread beside it, so it takes no lock and calls nothing of the
program's: types are compared exactly (a proxy's `__class__` would run code), lengths and elements are read with the
built-in types' own methods, attributes only of plain objects. It stops after `BUDGET_S` or `MOST_LOOKS`.
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

BUDGET_S = 0.02
MOST_LOOKS = 4000
MOST_HOLDERS = 12
MOST_NAMES = 400
SMALLEST_BYTES = 1 << 20
SAMPLED = 24
DEEPEST = 3

_OPTIMIZED = 0x1
_FRAMEWORKS = frozenset({"numpy", "tensorflow", "torch", "pandas", "keras", "scipy", "jaxlib"})
_LIBRARY_MARKS = ("site-packages", "dist-packages", os.sep + "lib" + os.sep + "python3")
_FIT_FUNCTIONS = frozenset({"fit", "evaluate", "predict", "__next__", "_next_internal", "train_on_dataset"})
# A function that calls one of these may hold its snapshot of locals, which reading them would change.
_SNAPSHOTS = frozenset({"locals", "vars", "eval", "exec", "dir", "_getframe", "currentframe", "stack", "format_map"})
_SEQUENCES: Any = {list: list.__getitem__, tuple: tuple.__getitem__}
_ITERABLES: Any = {set: iter, frozenset: iter, deque: iter, dict: dict.values}
_TEXTS = frozenset({bytes, bytearray, str})
_SMALL = frozenset({int, float, complex, bool, type(None)})


class _SpentError(Exception):
    """The time or the number of looks for one survey is used up."""


class _Survey:
    """One look around, with its bounds."""

    def __init__(self) -> None:
        self.deadline_s = time.perf_counter() + BUDGET_S
        self.looks = 0
        self.seen: set[int] = set()
        self.holders: list[dict[str, Any]] = []
        self.pipelines: list[dict[str, Any]] = []

    def look(self) -> None:
        """Count one object; raises when enough were looked at."""
        self.looks += 1
        if self.looks > MOST_LOOKS or (self.looks % 16 == 0 and time.perf_counter() > self.deadline_s):
            raise _SpentError


def survey(frames: list[Any]) -> dict[str, Any]:
    """The largest holders and the tf.data chains, as plain values."""
    around = _Survey()
    try:
        for name, scope, value in _named(frames)[:MOST_NAMES]:
            _add(around, name, scope, value)
        whole = True
    except _SpentError:
        whole = False
    around.holders.sort(key=lambda holder: -int(holder["bytes"]))
    return {"holders": around.holders[:MOST_HOLDERS], "pipelines": around.pipelines[:4], "whole": whole}


def _add(around: _Survey, name: str, scope: str, value: Any) -> None:
    """Look at one name; an object that cannot be looked at is left out by itself."""
    if id(value) in around.seen:
        return
    around.seen.add(id(value))
    around.look()
    try:
        chain = _pipeline(value)
        if chain and all(chain != known["stages"] for known in around.pipelines):
            around.pipelines.append({"name": name, "stages": chain})
        if not chain:
            around.holders.extend(_holders_of(around, name, scope, value))
    except _SpentError:
        raise
    except Exception:
        return


def _named(frames: list[Any]) -> list[tuple[str, str, Any]]:
    """Names of the user's own frames, innermost first, then of their modules, then the datasets in a framework's frames."""
    found: list[tuple[str, str, Any]] = []
    inner: list[tuple[str, str, Any]] = []
    modules: dict[int, tuple[str, dict[str, Any]]] = {}
    for frame in frames:
        own = is_own(frame.f_code.co_filename)
        if own or frame.f_code.co_name in _FIT_FUNCTIONS:
            (found if own else inner).extend(_locals(frame, own))
        if own:
            modules[id(frame.f_globals)] = (str(frame.f_globals.get("__name__", "?")), frame.f_globals)
    main = sys.modules.get("__main__")
    if type(main) is type(sys):
        modules.setdefault(id(vars(main)), ("__main__", vars(main)))
    for scope, names in modules.values():
        found.extend((name, scope, value) for name, value in dict.copy(names).items() if not str(name).startswith("__"))
    return found + inner


def _locals(frame: Any, own: bool) -> list[tuple[str, str, Any]]:
    """The variables of a function.

    Before Python 3.13 reading them makes the frame keep a snapshot, the same that `locals()` gives: so not of a frame
    that may have one in use or is traced, and the snapshot is emptied again, or it would keep alive what is deleted.
    """
    code = frame.f_code
    if not code.co_flags & _OPTIMIZED or frame.f_trace is not None:
        return []
    old = sys.version_info < (3, 13)
    if old and not _SNAPSHOTS.isdisjoint(code.co_names):
        return []
    snapshot = frame.f_locals
    found = [(name, code.co_name, value) for name, value in snapshot.items() if own or _is_dataset(value)]
    if old and sys.getrefcount(snapshot) <= 3:  # the frame, this function, and the call itself
        snapshot.clear()
    return found


def is_own(file: str) -> bool:
    """Whether a file is the user's own code rather than a library."""
    if file.startswith("<frozen") or any(mark in file for mark in _LIBRARY_MARKS):
        return False
    return "crashcart" + os.sep + "record" not in file


def _holders_of(around: _Survey, name: str, scope: str, value: Any) -> list[dict[str, Any]]:
    measured = _measure(around, value, 0)
    if measured is not None:
        return [_holder(name, scope, measured)] if measured[0] >= SMALLEST_BYTES else []
    found = []
    for attribute, item in _attributes(value)[:40]:
        measured = None if id(item) in around.seen else _measure(around, item, 0)
        if measured is not None and measured[0] >= SMALLEST_BYTES:
            around.seen.add(id(item))
            found.append(_holder(f"{name}.{attribute}", scope, measured))
    return found


def _attributes(value: Any) -> list[tuple[str, Any]]:
    """The attributes of a plain object; none of a module, a class, a framework's object or one with its own access."""
    kind = type(value)
    module = kind.__module__
    if kind is type or kind is type(sys) or not isinstance(module, str) or module.partition(".")[0] in _FRAMEWORKS:
        return []
    if (
        issubclass(kind, type)
        or type.__getattribute__(kind, "__getattribute__") is not object.__getattribute__
        or hasattr(kind, "__getattr__")
    ):
        return []
    if not any("__dict__" in vars(base) for base in kind.__mro__):
        return []
    held = object.__getattribute__(value, "__dict__")
    return list(dict.copy(held).items()) if type(held) is dict else []


def _holder(name: str, scope: str, measured: tuple[int, str, str, int | None]) -> dict[str, Any]:
    count_bytes, kind, detail, count = measured
    return {"name": name, "scope": scope, "bytes": count_bytes, "kind": kind, "detail": detail, "count": count}


def _measure(around: _Survey, value: Any, depth: int) -> tuple[int, str, str, int | None] | None:
    """Bytes, kind, detail and count of a value whose type is known; None for all others."""
    around.look()
    kind = type(value)
    if kind in _TEXTS:
        return sys.getsizeof(value), kind.__name__, f"length {len(value)}", None
    if kind in _SMALL:
        return sys.getsizeof(value), kind.__name__, "", None
    if kind in _SEQUENCES or kind in _ITERABLES:
        return _container(around, value, kind, depth)
    if kind.__name__ == "_lru_cache_wrapper":
        return _cache(around, value, depth)
    if str(kind.__module__).partition(".")[0] in _FRAMEWORKS:
        return _array(around, value, kind.__name__, kind.__module__)
    return None


def _array(around: _Survey, value: Any, kind: str, module: str) -> tuple[int, str, str, int | None] | None:
    if kind in ("DataFrame", "Series"):
        usage = value.memory_usage(index=True)
        return int(usage if isinstance(usage, int) else usage.sum()), kind, f"{value.shape}", None
    if module.startswith("torch"):
        if not hasattr(type(value), "nelement"):
            return None
        return value.element_size() * value.nelement(), kind, f"{value.dtype} {tuple(value.shape)}", None
    if module.startswith("keras") and hasattr(type(value), "weights") and hasattr(type(value), "layers"):
        sizes = [_measure(around, getattr(weight, "value", weight), DEEPEST) for weight in value.weights[:2000]]
        return sum(each[0] for each in sizes if each), kind, f"{len(sizes)} weights", None
    if isinstance(value, type) or not hasattr(type(value), "dtype") or not hasattr(type(value), "shape"):
        return None
    return _array_size(value, kind)


def _array_size(value: Any, kind: str) -> tuple[int, str, str, int | None] | None:
    shape, dtype = value.shape, value.dtype
    item_bytes = getattr(dtype, "itemsize", None) or getattr(dtype, "size", None)
    if not isinstance(item_bytes, int):
        return None
    count_bytes = item_bytes
    for extent in shape:
        if not isinstance(extent, int):
            return None
        count_bytes *= extent
    return count_bytes, kind, f"{getattr(dtype, 'name', dtype)} {tuple(shape)}", None


def _container(around: _Survey, value: Any, kind: Any, depth: int) -> tuple[int, str, str, int | None] | None:
    """Its own size and that of its elements, from a sample when there are many."""
    own_bytes, count = sys.getsizeof(value), len(value)
    if count == 0 or depth >= DEEPEST:
        return own_bytes, kind.__name__, "", count
    if kind in _SEQUENCES:
        sample = [_SEQUENCES[kind](value, index) for index in range(0, count, max(1, count // SAMPLED))]
    else:
        sample = list(islice(_ITERABLES[kind](value), SAMPLED))
    distinct = {id(item): item for item in sample}
    measured, looked = _measured(around, list(distinct.values()), depth)
    if not measured:
        return own_bytes, f"{kind.__name__} of {type(sample[0]).__name__}", f"{count} elements", count
    # One object many times over counts once in the sample.
    mean_bytes = sum(each[0] for each in measured) * len(distinct) / looked / len(sample)
    names = {each[1] for each in measured}
    what = names.pop() if len(names) == 1 else "mixed objects"
    return int(own_bytes + mean_bytes * count), f"{kind.__name__} of {what}", f"{count} elements", count


def _measured(around: _Survey, items: list[Any], depth: int) -> tuple[list[tuple[int, str, str, int | None]], int]:
    """The measures of as many items as the survey has time for (at least one), and how many were looked at."""
    found = []
    for looked, item in enumerate(items):
        try:
            found.append(_measure(around, item, depth + 1))
        except _SpentError:
            if not looked:
                raise
            return [each for each in found if each is not None], looked
    return [each for each in found if each is not None], len(items)


def _cache(around: _Survey, value: Any, depth: int) -> tuple[int, str, str, int | None] | None:
    """What a functools cache keeps: its dictionary is among the objects that the wrapper refers to. A bounded cache has
    links in it that do not show what they hold; the wrapper then refers to each key and result itself."""
    import gc

    count = value.cache_info().currsize
    known = gc.get_referents(value)
    kept = next((each for each in known if type(each) is dict and len(each) == count), None)
    if not count or kept is None:
        return None
    results: list[Any] = list(islice(dict.values(kept), SAMPLED))
    looked = len(results)
    if type(results[0]).__name__ == "_lru_list_elem":
        results = [each for each in known if each is not kept and not isinstance(each, type)][: 2 * looked]
    measured = [_measure(around, each, depth + 1) for each in results]
    total = sum(each[0] for each in measured if each is not None)
    return total * count // looked, "lru_cache", f"{count} results", count


def _is_dataset(value: Any) -> bool:
    kind = type(value)
    return str(kind.__module__).startswith("tensorflow.python.data") and hasattr(kind, "element_spec")


def _pipeline(value: Any) -> list[list[Any]]:
    """The chain of a tf.data dataset, last stage first: name, buffer or batch size, bytes of an element."""
    if not _is_dataset(value):
        return []
    value = value._dataset if type(value).__name__ == "OwnedIterator" else value
    stages: list[list[Any]] = []
    while value is not None and _is_dataset(value) and len(stages) < 30:
        stages.append([_stage_name(value), _stage_argument(value), _element_bytes(value.element_spec)])
        value = getattr(value, "_input_dataset", None)
    return stages


def _stage_name(dataset: Any) -> str:
    name = type(dataset).__name__.strip("_").removesuffix("Adapter")
    return name.removesuffix("Dataset").lower() or name


def _stage_argument(dataset: Any) -> int | None:
    for attribute in ("_buffer_size", "_batch_size", "_num_parallel_calls"):
        argument: Any = getattr(dataset, attribute, None)
        if type(argument).__name__ == "EagerTensor":
            return int(argument.numpy())
        if isinstance(argument, int):
            return argument
    return None


def _element_bytes(spec: Any) -> int | None:
    """Bytes of one element by its specification; None where a size is not known before it is read."""
    if isinstance(spec, dict):
        spec = tuple(spec.values())
    if isinstance(spec, tuple):
        sizes = [_element_bytes(each) for each in spec]
        return None if None in sizes else sum(size for size in sizes if size is not None)
    shape, dtype = getattr(spec, "shape", None), getattr(spec, "dtype", None)
    count = shape.num_elements() if shape is not None and shape.rank is not None else None
    if count is None or dtype is None or dtype.name == "string":
        return None
    return int(count) * int(dtype.size)
