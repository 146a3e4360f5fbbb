"""How much a container or an array holds, from a sample of its members.

Covers: built-in containers and their subclasses, NumPy arrays (a view counts as the base that it keeps), tensors and
variables of TensorFlow, tensors of PyTorch, pandas frames, models of Keras, texts; what closures, bound methods, exceptions
and objects of the program's classes keep; what members share, once.
Does not cover: what lies more than four objects deep in a member, but for arrays and texts of the next one; members that
share with others far from them, or with other containers; functools caches (`_crashcart_bounded`).

It calls nothing of the program's: what an object keeps is read with the built-in types' own methods, or as the garbage
collector reads it.
"""

from __future__ import annotations

import gc
import sys
from collections import deque
from itertools import islice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

STRETCHES, NEIGHBOURS = 6, 8
"""Of a container so many stretches are measured, of so many members next to each other: a replay buffer's `(state, action,
next_state)` has each state twice. Single members at even distances may all be of one kind: of weights and biases in turn, the
biases. To measure these takes 0.1 ms."""
MOST_WHOLE = 64
"""One with no more members is measured whole: else there is a member between any two stretches."""
SAMPLED_KEYS = 24
WALKED = 10_000
"""So many members are walked along for a sample: 60 µs."""
ENDS = 256
"""Of views, so many at each end are asked for what they are views of."""
VIEW_BYTES = 112
NEARLY = 0.8
DEEPEST = 4
"""A replay buffer of episodes: a list of steps, each a dictionary, in it one of observations, and the arrays in that."""
MOST_PARTS = 128
"""Of one member, so many objects are measured."""
MOST_ATTRIBUTES, MOST_FRAMES = 32, 8
_TEXTS = (str, bytes)
_PLAIN = frozenset({int, float, bool, complex, type(None)})
_ALONE = _PLAIN | {*_TEXTS}
_FRAMEWORKS = frozenset({"keras", "tf_keras", "tensorflow", "torch", "jax"})
"""Their objects lead to all that a framework has: of these, only the arrays and models among their attributes count."""
_HEAP_TYPE = 1 << 9
_FUNCTION = type(lambda: None)
MOST_VARIABLES, MOST_LAYERS, MOST_BLOCKS = 400, 100, 64
_CONTAINERS: Any = ((list, list.__iter__), (tuple, tuple.__iter__), (dict, dict.values), (set, set.__iter__),
                    (frozenset, frozenset.__iter__), (deque, deque.__iter__))  # fmt: skip
_MEMBERS: dict[Any, Any] = dict(_CONTAINERS)
_CLASS = vars(type)
NAME, MODULE, BASES, NAMESPACE = (_CLASS[each].__get__ for each in ("__name__", "__module__", "__mro__", "__dict__"))
_BASIC, _HAS_DICT, _FLAGS = (_CLASS[each].__get__ for each in ("__basicsize__", "__dictoffset__", "__flags__"))
"""Of a class, as the interpreter reads them, whatever its own class says."""


class _OneOfEach:
    """Types of the interpreter that have no name of their own; `types` would be one more module in the program."""

    def __init__(self) -> None:
        self.method = type(self.raised)
        self.cell = type((lambda: self).__closure__[0])  # type: ignore[index]
        try:
            self.raised()
        except LookupError as error:
            self.traceback, self.frame = type(error.__traceback__), type(error.__traceback__.tb_frame)  # type: ignore[union-attr]

    def raised(self) -> None:
        """An exception, for its traceback."""
        raise LookupError


_TYPES = _OneOfEach()
_NEVER = (type, type(sys), type(len), type(_OneOfEach.raised.__code__), _TYPES.frame)
"""What these lead to is no part of a member."""


def of_array(value: Any, kind: Any) -> tuple[int, str | None] | None:
    """Bytes and words for an array, a tensor, a data frame or a model; None for everything else."""
    module = str(MODULE(kind))
    top = module.partition(".")[0]
    if top == "numpy" and NAME(kind) in ("ndarray", "memmap", "matrix"):
        return _numpy(value, kind)
    if top == "tensorflow":
        return _tensor(value, kind)
    if top == "keras" and "Variable" in NAME(kind):
        inner = vars(value).get("_value")
        return None if inner is None else _tensor(inner, type(inner))
    if top == "torch" and hasattr(kind, "nelement"):
        return int(value.element_size() * value.nelement()), NAME(kind)
    if top == "pandas" and NAME(kind) in ("DataFrame", "Series"):
        return _frame(value), NAME(kind)
    if kind in (str, bytes, bytearray):
        return sys.getsizeof(value), NAME(kind)
    return None


def _frame(value: Any) -> int:
    """Bytes of the blocks that a data frame is made of: to ask it for each column takes 15 µs a column."""
    blocks = getattr(getattr(value, "_mgr", None), "blocks", ())
    seen = [int(getattr(block.values, "nbytes", 0)) for block in islice(blocks, MOST_BLOCKS)]
    return sum(seen) * len(blocks) // max(1, len(seen))


def _numpy(value: Any, kind: Any) -> tuple[int, str]:
    base = base_of(value)
    if base is not None:
        return int(base.nbytes), f"ndarray view of a {base.shape} base"
    return int(value.nbytes), NAME(kind)


def _tensor(value: Any, kind: Any) -> tuple[int, str] | None:
    if NAME(kind) == "EagerTensor":
        size = getattr(value.dtype, "size", 0) or 0
        return int(value._num_elements()) * int(size), NAME(kind)
    if NAME(kind) == "ResourceVariable":
        count = value.shape.num_elements()
        return None if count is None else (int(count) * int(value.dtype.size), "Variable")
    return None


def measure(value: Any, depth: int, parts: dict[int, int]) -> tuple[int, str | None]:
    """Bytes of one member, and what it is. Each object that it is made of goes to `parts`, by its id, and counts once."""
    kind = type(value)
    if kind in _MEMBERS:
        spent = id(value) in parts or len(parts) >= MOST_PARTS
        return (0, NAME(kind)) if spent else _of_inner(value, kind, _MEMBERS[kind], depth, parts)
    measured = _of_alone(value, kind) if kind in _ALONE else of_array(value, kind)
    whole = base_of(value)
    known = id(value if whole is None else whole)
    if known in parts or len(parts) >= MOST_PARTS:
        return 0, NAME(kind) if measured is None else measured[1]
    if measured is None and _is_layer(kind):
        measured = _layer(value, 0), NAME(kind)
    if measured is not None:
        parts[known] = measured[0]
        return measured
    for base, members in _CONTAINERS:
        if issubclass(kind, base):
            return _of_inner(value, base, members, depth, parts)
    size = parts[known] = int(_BASIC(kind))
    for each in _kept_by(value, kind) if depth <= DEEPEST else ():
        size += measure(each, depth + 1, parts)[0]
    return size, NAME(kind)


def _of_alone(value: Any, kind: Any) -> tuple[int, str]:
    """The same for a number or a text, which keeps nothing else."""
    return (kind.__basicsize__ if kind in _PLAIN else sys.getsizeof(value)), NAME(kind)


def _of_inner(value: Any, base: Any, members: Any, depth: int, parts: dict[int, int]) -> tuple[int, str | None]:
    """The same for a container that is a member, or in one."""
    count, name = base.__len__(value), NAME(type(value))
    own = parts[id(value)] = int(base.__sizeof__(value))
    if count == 0:
        return own, name
    sample = list(islice(members(value), 8))
    if depth >= DEEPEST:
        sample = [each for each in sample if type(each) not in _PLAIN and of_array(each, type(each)) is not None]
        count = count * len(sample) // min(count, 8)
        if not sample:
            return own, name
    bases = _bases(sample)
    if len(bases) > 1 and len({id(each) for each in bases}) == 1:
        held = 0 if id(bases[0]) in parts else int(bases[0].nbytes)
        parts.setdefault(id(bases[0]), held)
        return own + held, f"{name} of views"
    sizes = [measure(each, depth + 1, parts) for each in sample]
    seen = sum(size for size, _ in sizes)
    unseen = seen * (count - len(sizes)) // len(sizes)
    parts[id(value)] += unseen
    largest = max(sizes, key=lambda each: each[0])[1]  # of a few kinds, the one that weighs
    return own + seen + unseen, f"{name} of {largest}" if largest else name


def _is_layer(kind: Any) -> bool:
    return any(NAME(base) == "Layer" and str(MODULE(base)).startswith(("keras", "tf_keras")) for base in BASES(kind))


def _layer(value: Any, depth: int) -> int:
    """Bytes of the variables of a Keras layer or model, of those in it, and of its optimizer: read from what it holds, without
    its code."""
    held: Any = object.__getattribute__(value, "__dict__")
    variables = [*held.get("_trainable_variables", ()), *held.get("_non_trainable_variables", ())]
    optimizer = held.get("optimizer") or held.get("_optimizer")
    if optimizer is not None and _HAS_DICT(type(optimizer)):
        variables += object.__getattribute__(optimizer, "__dict__").get("_variables", ())
    size = int(_BASIC(type(value)))
    for variable in variables[:MOST_VARIABLES]:
        measured = of_array(variable, type(variable))
        size += 0 if measured is None else measured[0]
    inner = list(islice(held.get("_layers", ()), MOST_LAYERS)) if depth < DEEPEST else []
    return size + sum(_layer(each, depth + 1) for each in inner if _HAS_DICT(type(each)))


def _kept_by(value: Any, kind: Any) -> list[Any]:
    """What an object of no known type keeps alive."""
    if kind is _FUNCTION:
        found = [*_contents(value.__closure__ or ()), *(value.__defaults__ or ())]
    elif kind is _TYPES.method:
        found = [value.__self__]
    elif str(MODULE(kind)).partition(".")[0] in _FRAMEWORKS:
        held = dict.values(_attributes(value, kind))
        found = [each for each in islice(held, MOST_ATTRIBUTES) if of_array(each, type(each)) or _is_layer(type(each))]
    elif _FLAGS(kind) & _HEAP_TYPE or issubclass(kind, BaseException):
        attributes = _attributes(value, kind)
        found = list(islice(dict.values(attributes), MOST_ATTRIBUTES))
        for each in islice(gc.get_referents(value), MOST_ATTRIBUTES):  # slots, and what a class in C has
            if type(each) is _TYPES.traceback:
                found += _of_traceback(each)
            elif each is not attributes:
                found.append(each)
    else:
        return []
    return [each for each in found if not issubclass(type(each), _NEVER)]


def _attributes(value: Any, kind: Any) -> dict[Any, Any]:
    """The dictionary of an instance; an empty one where a class answers for it with code of its own."""
    if not _HAS_DICT(kind):
        return {}
    for base in BASES(kind):
        if NAME(type(NAMESPACE(base).get("__dict__"))) not in ("getset_descriptor", "member_descriptor", "NoneType"):
            return {}
    held = object.__getattribute__(value, "__dict__")
    return held if type(held) is dict else {}


def _of_traceback(traceback: Any) -> list[Any]:
    """The variables of the functions that an exception came out of, which it keeps. A function that still runs shows none of
    them; before Python 3.11 it does, so the one that caught the exception is left out."""
    found: list[Any] = []
    if sys.version_info < (3, 11):
        traceback = traceback.tb_next
    for _ in range(MOST_FRAMES):
        if traceback is None:
            break
        frame = traceback.tb_frame
        for each in islice(gc.get_referents(frame), MOST_ATTRIBUTES):
            if type(each) is _TYPES.cell:
                found += _contents((each,))
            elif type(each) is not _FUNCTION and each is not frame.f_globals and each is not frame.f_builtins:
                found.append(each)
        traceback = traceback.tb_next
    return found


def _contents(cells: Any) -> list[Any]:
    """What cells of closures hold; those that are not assigned yet hold nothing."""
    return [each for cell in cells for each in gc.get_referents(cell)]


def _backwards(value: Any, kind: Any) -> Any:
    """The members of a container from the newest on; None where it has no order."""
    if kind is dict:
        return reversed(dict.values(value))
    if kind is deque:
        return deque.__reversed__(value)
    return None


def stretches(value: Any, kind: Any, members: Any, count: int) -> list[list[Any]]:
    """A sample of so many members: neighbours, in a few stretches spread all over it. What comes in turns (weights and
    biases, layer after layer) is seen in its proportions so, and what neighbours share, too. A dictionary or a deque can only be
    walked along, so of a long one only what is near its ends is seen."""
    if count <= MOST_WHOLE:
        return [list(value if kind is range else members(value))[:count]]
    if kind in (list, tuple, range):
        return [list(kind.__getitem__(value, slice(at, at + NEIGHBOURS))) for at in _places(count, STRETCHES)]
    backwards = _backwards(value, kind)
    if backwards is None or count <= WALKED:
        return _along(members(value), _places(min(count, WALKED), STRETCHES))
    half = WALKED // 2
    oldest, newest = STRETCHES // 2, STRETCHES - STRETCHES // 2
    return [*_along(members(value), _places(half, oldest)), *_along(backwards, _places(half, newest))]


def _places(count: int, stretches: int) -> list[int]:
    """Where so many stretches begin, each in the middle of its share of the members: the first and the last ones are often unlike
    the rest. They do not lie at even distances, so that not all of them begin at the same turn."""
    middles = [(2 * each + 1) * count // (2 * stretches) - NEIGHBOURS // 2 + each % 3 for each in range(stretches)]
    return [min(each, count - NEIGHBOURS) for each in middles]


def _along(members: Any, places: list[int]) -> list[list[Any]]:
    found: list[list[Any]] = []
    members, passed = iter(members), 0
    for place in places:
        found.append(list(islice(members, place - passed, place - passed + NEIGHBOURS)))
        passed = place + NEIGHBOURS
    return found


def held_together(count: int, sample: list[list[Any]], parts_of: Any) -> int:
    """Bytes of so many members, by stretches of them: what several of them share counts once. What members of two stretches have
    is everyone's; what neighbours share, they tell: of each, what none of those before it has."""
    together: dict[int, int] = {}
    if len(sample) == 1:
        for each in sample[0]:
            together.update(parts_of(each))
        return sum(together.values())
    everyones: dict[int, int] = {}
    measured = [[parts_of(each) for each in stretch] for stretch in sample]
    for stretch in measured:
        own = {known: size for parts in stretch for known, size in parts.items()}
        everyones.update({known: own[known] for known in own.keys() & together.keys()})
        together.update(own)
    whole = new = total = 0
    for stretch in measured:
        seen = set(everyones)
        for place, parts in enumerate(stretch):
            apart = sum(size for known, size in parts.items() if known not in everyones)
            whole += apart
            if place:  # what the first one shares with those before it is not known
                total += apart
                new += sum(size for known, size in parts.items() if known not in seen)
            seen.update(parts)
    mean = whole / sum(map(len, measured))
    return int(sum(everyones.values()) + mean * count * (new / total if total else 1.0))


def of_container(walk: Any, value: Any, kind: Any, members: Any, count: int) -> tuple[int, str | None, float]:
    """Bytes of a container with its first `count` members, what they are, and which share of them others have, too; from a
    sample spread over these."""
    own = kind.__sizeof__(value)
    if count == 0:
        return own, None, 0.0
    stretched = stretches(value, kind, members, count)
    others = sum(map(walk.bounded.others_have, stretched)) / len(stretched)
    sample = [each for stretch in stretched for each in stretch]
    if kind is dict:  # its keys are its own, too
        keys = list(islice(reversed(dict.keys(value)), SAMPLED_KEYS))
        own += sum(sys.getsizeof(key) for key in keys if type(key) in _TEXTS) * count // len(keys)
    sizes: list[tuple[int, str | None]] = []
    if all(type(each) in _ALONE for each in sample) and len({id(each) for each in sample}) == len(sample):
        walk.spend()
        sizes += [_of_alone(each, type(each)) for each in sample]
        return int(own + sum(size for size, _ in sizes) * count / len(sample)), words_of(sizes), others
    views = [each for each in sample if base_of(each) is not None]
    shared = _of_bases(value, kind, members, count * len(views) // len(sample)) if views else 0

    def parts_of(each: Any) -> dict[int, int]:
        walk.spend()
        parts = {id(value): 0}  # members may lead back to it
        sizes.append(measure(each, 1, parts) if base_of(each) is None else (0, None))
        return parts

    held = held_together(count, stretched, parts_of)
    if views:
        sizes.append((shared * len(sizes) // count, measure(views[0], 1, {})[1]))
    return int(own + held + shared), words_of(sizes), others


def words_of(sizes: list[tuple[int, str | None]]) -> str | None:
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
    if NAME(kind) != "ndarray" or MODULE(kind) != "numpy":
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
