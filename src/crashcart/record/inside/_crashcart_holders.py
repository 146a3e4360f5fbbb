"""Which named objects hold memory: a bounded look at the variables that the user's own code has names for.

Covers: arrays, tensors, data frames, long strings, containers of them (by a sample of their elements), attributes of
objects one level deep, Keras models, and tf.data chains with their buffers.
Does not cover: temporaries without a name, or memory of native code. Runs between two bytecodes of the main thread, so
it takes no lock, calls nothing that computes, and stops after `BUDGET_S`.
"""

from __future__ import annotations

import os
import sys
import time
from collections import deque
from itertools import islice
from typing import Any

BUDGET_S = 0.02
MOST_HOLDERS = 12
MOST_NAMES = 400
SMALLEST_BYTES = 1 << 20
SAMPLED = 24
DEEPEST = 3

_OPTIMIZED = 0x1
_FRAMEWORKS = frozenset({"numpy", "tensorflow", "torch", "pandas", "keras", "scipy", "jaxlib"})
_CONTAINERS = (list, tuple, set, frozenset, deque)
_LIBRARY_MARKS = ("site-packages", "dist-packages", os.sep + "lib" + os.sep + "python3")
_FIT_FUNCTIONS = frozenset({"fit", "evaluate", "predict", "__next__", "_next_internal", "train_on_dataset"})

Measure = tuple[int, str, str, "int | None"]
"""Bytes, kind, detail, count."""


def survey(frames: list[Any]) -> dict[str, Any]:
    """The largest holders and the tf.data chains, as plain values."""
    deadline_s = time.perf_counter() + BUDGET_S
    seen: set[int] = set()
    holders: list[dict[str, Any]] = []
    pipelines: list[dict[str, Any]] = []
    for number, (name, scope, value) in enumerate(_named(frames)):
        if number > MOST_NAMES or time.perf_counter() > deadline_s:
            break
        if id(value) in seen:
            continue
        seen.add(id(value))
        chain = _pipeline(value)
        if chain and any(chain == known["stages"] for known in pipelines):
            continue
        if chain:
            pipelines.append({"name": name, "stages": chain})
        else:
            holders.extend(_holders_of(name, scope, value, seen))
    holders.sort(key=lambda holder: -holder["bytes"])
    return {"holders": holders[:MOST_HOLDERS], "pipelines": pipelines[:4]}


def _named(frames: list[Any]) -> list[tuple[str, str, Any]]:
    """Names of the user's own frames, innermost first, then of their modules, then the datasets in a framework's frames."""
    found: list[tuple[str, str, Any]] = []
    inner: list[tuple[str, str, Any]] = []
    modules: dict[int, tuple[str, dict[str, Any]]] = {}
    for frame in frames:
        own = is_own(frame.f_code.co_filename)
        if (
            frame.f_code.co_flags & _OPTIMIZED
            and frame.f_trace is None
            and (own or frame.f_code.co_name in _FIT_FUNCTIONS)
        ):
            (found if own else inner).extend(_locals(frame, own))
        if own:
            modules[id(frame.f_globals)] = (frame.f_globals.get("__name__", "?"), frame.f_globals)
    main = sys.modules.get("__main__")
    if main is not None:
        modules.setdefault(id(vars(main)), ("__main__", vars(main)))
    for scope, names in modules.values():
        found.extend((name, scope, value) for name, value in list(names.items()) if not name.startswith("__"))
    return found + inner


def _locals(frame: Any, own: bool) -> list[tuple[str, str, Any]]:
    """The variables of a function. Before Python 3.13 the frame keeps the snapshot it makes: empty it again, or it would
    keep alive what the function deletes (never in a traced frame, to which the tracer would write it back)."""
    snapshot = frame.f_locals
    scope = frame.f_code.co_name
    found = [(name, scope, value) for name, value in snapshot.items() if own or _is_dataset(value)]
    if sys.version_info < (3, 13):
        snapshot.clear()
    return found


def is_own(file: str) -> bool:
    """Whether a file is the user's own code rather than a library."""
    if file.startswith("<frozen") or any(mark in file for mark in _LIBRARY_MARKS):
        return False
    return "crashcart" + os.sep + "record" not in file


def _holders_of(name: str, scope: str, value: Any, seen: set[int]) -> list[dict[str, Any]]:
    measured = _measure(value, 0)
    if measured is not None:
        return [_holder(name, scope, value, measured)] if measured[0] >= SMALLEST_BYTES else []
    if isinstance(value, type) or type(value).__name__ in ("module", "function", "builtin_function_or_method"):
        return []
    attributes = getattr(value, "__dict__", None)
    if not isinstance(attributes, dict) or type(value).__module__.partition(".")[0] in _FRAMEWORKS:
        return []
    found = []
    for attribute, item in list(attributes.items())[:40]:
        measured = None if id(item) in seen else _measure(item, 0)
        if measured is not None and measured[0] >= SMALLEST_BYTES:
            seen.add(id(item))
            found.append(_holder(f"{name}.{attribute}", scope, item, measured))
    return found


def _holder(name: str, scope: str, value: Any, measured: Measure) -> dict[str, Any]:
    count_bytes, kind, detail, count = measured
    owner = type(value).__module__.partition(".")[0]
    return {
        "name": name, "scope": scope, "bytes": count_bytes, "kind": kind, "detail": detail, "count": count, "owner": owner,
    }  # fmt: skip


def _measure(value: Any, depth: int) -> Measure | None:
    kind = type(value).__name__
    module = type(value).__module__
    if isinstance(value, (bytes, bytearray, str)):
        return sys.getsizeof(value), kind, f"length {len(value)}", None
    if isinstance(value, (int, float, complex, bool)) or value is None:
        return sys.getsizeof(value), kind, "", None
    if isinstance(value, _CONTAINERS):
        return _container(value, len(value), value, depth)
    if isinstance(value, dict):
        return _container(value, len(value), value.values(), depth)
    if kind in ("_lru_cache_wrapper",):
        return _cache(value, depth)
    if module.partition(".")[0] in _FRAMEWORKS:
        return _array(value, kind, module)
    return None


def _array(value: Any, kind: str, module: str) -> Measure | None:
    if kind in ("DataFrame", "Series"):
        usage = value.memory_usage(index=True)
        return int(usage if isinstance(usage, int) else usage.sum()), kind, f"{value.shape}", None
    if hasattr(value, "element_size") and hasattr(value, "nelement"):
        return value.element_size() * value.nelement(), kind, f"{value.dtype} {tuple(value.shape)}", None
    if module.startswith("keras") and hasattr(value, "weights") and hasattr(value, "layers"):
        return _model(value, kind)
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if shape is None or dtype is None or isinstance(value, type):
        return None
    item_bytes = getattr(dtype, "itemsize", None) or getattr(dtype, "size", None)
    if not isinstance(item_bytes, int):
        return None
    count_bytes = item_bytes
    for extent in shape:
        if not isinstance(extent, int):
            return None
        count_bytes *= extent
    return count_bytes, kind, f"{getattr(dtype, 'name', dtype)} {tuple(shape)}", None


def _model(value: Any, kind: str) -> Measure | None:
    sizes = [_measure(getattr(weight, "value", weight), DEEPEST) for weight in value.weights[:2000]]
    return sum(each[0] for each in sizes if each), kind, f"{len(sizes)} weights", None


def _container(value: Any, count: int, items: Any, depth: int) -> Measure | None:
    """Its own size and that of its elements, from a sample when there are many."""
    kind = type(value).__name__
    own_bytes = sys.getsizeof(value)
    if count == 0 or depth >= DEEPEST:
        return own_bytes, kind, "", count
    if isinstance(value, (list, tuple)):
        sample = [value[index] for index in range(0, count, max(1, count // SAMPLED))]
    else:
        sample = list(islice(items, SAMPLED))
    measured = [each for each in (_measure(item, depth + 1) for item in sample) if each is not None]
    if not measured:
        return own_bytes, f"{kind} of {type(sample[0]).__name__}", f"{count} elements", count
    mean_bytes = sum(each[0] for each in measured) / len(sample)
    names = {each[1] for each in measured}
    what = names.pop() if len(names) == 1 else "mixed objects"
    return int(own_bytes + mean_bytes * count), f"{kind} of {what}", f"{count} elements", count


def _cache(value: Any, depth: int) -> Measure | None:
    """What a functools cache keeps: its dictionary is among the objects that the wrapper refers to."""
    import gc

    count = value.cache_info().currsize
    kept = next((each for each in gc.get_referents(value) if isinstance(each, dict) and len(each) == count), None)
    if not count or kept is None:
        return None
    sample = [next((_measure(each, depth + 1) for each in gc.get_referents(entry)[::-1]), None) or (0, "", "", None)
              for entry in islice(kept.values(), SAMPLED)]  # fmt: skip
    mean_bytes = sum(each[0] for each in sample) / len(sample)
    return int(mean_bytes * count), "lru_cache", f"{count} results", count


def _is_dataset(value: Any) -> bool:
    return hasattr(type(value), "element_spec") and type(value).__module__.startswith("tensorflow.python.data")


def _pipeline(value: Any) -> list[list[Any]]:
    """The chain of a tf.data dataset, last stage first: name, buffer or batch size, bytes of an element."""
    value = getattr(value, "_dataset", value) if type(value).__name__ == "OwnedIterator" else value
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
