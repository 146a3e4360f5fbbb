"""How much a container or an array holds, from a sample of its members.

Covers: built-in containers and their subclasses, NumPy arrays (a view counts as the base that it keeps), tensors and
variables of TensorFlow, tensors of PyTorch, pandas frames, models of Keras, texts, functools caches.
Does not cover: objects of other classes, beyond their own size.
"""

from __future__ import annotations

import sys
from collections import deque
from itertools import islice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SAMPLED = 24
WALKED = 10_000
"""So many members are walked along for a sample: 60 µs."""
ENDS = 256
"""Of views, so many at each end are asked for what they are views of."""
VIEW_BYTES = 112
NEARLY = 0.8
DEEPEST = 3
_TEXTS = (str, bytes)
MOST_VARIABLES, MOST_LAYERS = 400, 100
_CONTAINERS: Any = ((list, list.__iter__), (tuple, tuple.__iter__), (dict, dict.values), (set, set.__iter__),
                    (frozenset, frozenset.__iter__))  # fmt: skip


def of_array(value: Any, kind: Any) -> tuple[int, str | None] | None:
    """Bytes and words for an array, a tensor, a data frame or a model; None for everything else."""
    module = str(kind.__module__)
    top = module.partition(".")[0]
    if top == "numpy" and kind.__name__ in ("ndarray", "memmap", "matrix"):
        return _numpy(value, kind)
    if top == "tensorflow":
        return _tensor(value, kind)
    if top == "keras" and "Variable" in kind.__name__:
        inner = vars(value).get("_value")
        return None if inner is None else _tensor(inner, type(inner))
    if top == "torch" and hasattr(kind, "nelement"):
        return int(value.element_size() * value.nelement()), f"{kind.__name__}"
    if top == "pandas" and kind.__name__ in ("DataFrame", "Series"):
        usage = value.memory_usage(index=True)
        return int(usage if isinstance(usage, int) else usage.sum()), kind.__name__
    if kind in (str, bytes, bytearray):
        return sys.getsizeof(value), kind.__name__
    return None


def _numpy(value: Any, kind: Any) -> tuple[int, str]:
    base = base_of(value)
    if base is not None:
        return int(base.nbytes), f"ndarray view of a {base.shape} base"
    return int(value.nbytes), kind.__name__


def _tensor(value: Any, kind: Any) -> tuple[int, str] | None:
    if kind.__name__ == "EagerTensor":
        size = getattr(value.dtype, "size", 0) or 0
        return int(value._num_elements()) * int(size), kind.__name__
    if kind.__name__ == "ResourceVariable":
        count = value.shape.num_elements()
        return None if count is None else (int(count) * int(value.dtype.size), "Variable")
    return None


def _measure(value: Any, depth: int) -> tuple[int, str | None]:
    """Bytes of one member, and what it is."""
    kind = type(value)
    measured = of_array(value, kind)
    if measured is not None:
        return measured
    for base, members in _CONTAINERS:
        if issubclass(kind, base):
            count = base.__len__(value)
            own = base.__sizeof__(value)
            if depth >= DEEPEST or count == 0:
                return own, kind.__name__
            sample = list(islice(members(value), 8))
            bases = _bases(sample)
            if len(bases) > 1 and len({id(each) for each in bases}) == 1:
                return int(own + bases[0].nbytes), f"{kind.__name__} of views"
            sizes = [_measure(each, depth + 1) for each in sample]
            mean = sum(size for size, _ in sizes) / len(sizes)
            largest = max(sizes, key=lambda each: each[0])[1]  # of a few kinds, the one that weighs
            return int(own + mean * count), f"{kind.__name__} of {largest}" if largest else kind.__name__
    if _is_layer(kind):
        return _layer(value, 0), kind.__name__
    return _own_size(value, kind), kind.__name__


def _is_layer(kind: Any) -> bool:
    return any(
        base.__name__ == "Layer" and str(base.__module__).startswith(("keras", "tf_keras")) for base in kind.__mro__
    )


def _layer(value: Any, depth: int) -> int:
    """Bytes of the variables of a Keras layer or model, of those in it, and of its optimizer: read from what it holds, without
    its code."""
    held: Any = object.__getattribute__(value, "__dict__")
    variables = [*held.get("_trainable_variables", ()), *held.get("_non_trainable_variables", ())]
    optimizer = held.get("optimizer") or held.get("_optimizer")
    if optimizer is not None and type(optimizer).__dictoffset__:
        variables += object.__getattribute__(optimizer, "__dict__").get("_variables", ())
    size = int(type(value).__basicsize__)
    for variable in variables[:MOST_VARIABLES]:
        measured = of_array(variable, type(variable))
        size += 0 if measured is None else measured[0]
    inner = list(islice(held.get("_layers", ()), MOST_LAYERS)) if depth < DEEPEST else []
    return size + sum(_layer(each, depth + 1) for each in inner if type(each).__dictoffset__)


def _own_size(value: Any, kind: Any) -> int:
    """Of an object whose class we do not know: `__sizeof__` of a class of Python may be code of the program."""
    size = int(kind.__basicsize__)
    if kind.__dictoffset__:
        held = object.__getattribute__(value, "__dict__")
        if type(held) is dict:
            for each in islice(dict.values(held), 16):
                measured = of_array(each, type(each))
                if measured is not None:
                    size += measured[0]
                elif _is_layer(type(each)):  # the model that a History keeps
                    size += _layer(each, 1)
            size += sys.getsizeof(held)
    return size


def _backwards(value: Any, kind: Any) -> Any:
    """The members of a container from the newest on; None where it has no order."""
    if kind is dict:
        return reversed(dict.values(value))
    if kind is deque:
        return deque.__reversed__(value)
    return None


def _spread(value: Any, kind: Any, members: Any, count: int) -> list[Any]:
    """A sample from all over a container: of one that is filled, the newest members are the ones that matter. A dictionary or a
    deque can only be walked along, so of a long one only a stretch at each end is seen."""
    if kind in (list, tuple):
        every = max(1, count // SAMPLED)
        return [kind.__getitem__(value, index) for index in range(count - 1, -1, -every)][:SAMPLED]
    backwards = _backwards(value, kind)
    if backwards is None:
        reach = min(count, WALKED)
        return list(islice(members(value), 0, reach, max(1, reach // SAMPLED)))[:SAMPLED]
    if count <= WALKED:
        return list(islice(backwards, 0, count, max(1, count // SAMPLED)))[:SAMPLED]
    every, half = WALKED // SAMPLED, WALKED // 2
    return [*islice(backwards, 0, half, every), *islice(members(value), 0, half, every)]


def of_container(walk: Any, value: Any, kind: Any, members: Any) -> tuple[int, str | None]:
    """Bytes of a container with all its members, and what they are; from a sample spread over it."""
    count = kind.__len__(value)
    own = kind.__sizeof__(value)
    if count == 0:
        return own, None
    sample = _spread(value, kind, members, count)
    if kind is dict:  # its keys are its own, too
        keys = list(islice(reversed(dict.keys(value)), SAMPLED))
        own += sum(sys.getsizeof(key) for key in keys if type(key) in _TEXTS) * count // len(keys)
    views = [each for each in sample if base_of(each) is not None]
    shared = _of_bases(value, kind, members, count * len(views) // len(sample)) if views else 0
    seen = {id(each): each for each in sample if not views or base_of(each) is None}
    sizes = []
    for each in seen.values():
        walk.spend()
        sizes.append(_measure(each, 1))
    # One object many times over counts once in the sample.
    mean = sum(size for size, _ in sizes) / len(sample)
    if views:
        sizes.append((shared * len(sample) // count, _measure(views[0], 1)[1]))
    return int(own + mean * count + shared), _words(sizes)


def _words(sizes: list[tuple[int, str | None]]) -> str | None:
    """What they are: the kind that makes up nearly all of the bytes."""
    by_word: dict[str, int] = {}
    for size, word in sizes:
        if word:
            by_word[word] = by_word.get(word, 0) + size
    if not by_word:
        return None
    word = max(by_word, key=lambda each: by_word[each])
    return word if len(by_word) == 1 or by_word[word] >= NEARLY * sum(by_word.values()) else "mixed objects"


def base_of(value: Any) -> Any:
    """The larger array that a NumPy view keeps; None for everything else."""
    kind = type(value)
    if kind.__name__ != "ndarray" or kind.__module__ != "numpy":
        return None
    base = value.base
    while type(base) is kind and type(base.base) is kind:
        base = base.base
    return base if type(base) is kind and base.nbytes > value.nbytes else None


def _of_bases(value: Any, kind: Any, members: Any, views: int) -> int:
    """Bytes of the bases that so many views keep, each of them once: if the oldest members and the newest are views of the
    same ones, these are all; else there are more in proportion."""
    oldest = _bases(islice(members(value), ENDS))
    if kind in (list, tuple):
        newest = _bases(kind.__getitem__(value, slice(-ENDS, None)))
    else:
        newest = _bases(islice(_backwards(value, kind) or (), ENDS))
    together = {id(each): each.nbytes for each in (*oldest, *newest)}
    if not together:
        return 0
    looked_at = min(views, len(oldest) + len(newest))
    whole = views <= ENDS or {id(each) for each in oldest} == {id(each) for each in newest}
    scale = 1.0 if whole or not looked_at else views / looked_at
    return int(sum(together.values()) * scale) + views * VIEW_BYTES


def _bases(some: Any) -> list[Any]:
    """The bases of the views among them, one for each view."""
    found = [base_of(each) for each in some]
    return [each for each in found if each is not None]


def of_cache(walk: Any, value: Any) -> tuple[int, int, str | None]:
    """Results in a functools cache, their bytes and what they are: its dictionary is among the objects that the wrapper
    refers to. A bounded cache has links in it that do not show what they hold; the wrapper refers to each result itself."""
    import gc

    count = int(value.cache_info().currsize)
    known = gc.get_referents(value)
    kept = next((each for each in known if type(each) is dict and len(each) == count), None)
    if not count or kept is None:
        return count, 0, None
    results: list[Any] = list(islice(dict.values(kept), SAMPLED))
    if type(results[0]).__name__ == "_lru_list_elem":
        results = [each for each in known if each is not kept and not isinstance(each, type)][-SAMPLED:]
    walk.spend()
    sizes = [_measure(each, 1) for each in results]
    words = list(dict.fromkeys(each for _, each in sizes if each))
    return count, sum(size for size, _ in sizes) * count // len(sizes), words[0] if len(words) == 1 else "mixed objects"
