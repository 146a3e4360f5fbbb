"""Which named containers grow with the steps of a program, what they keep, and which of them holds the growth.

Covers: rises of what was looked at by name, the most telling one first; the one choice of the holder and of its line, for a
program that lives (`leaks/`) and for one that died (`why/`). Does not cover: whether the process grows, and what is said.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from crashcart.frame import Frame
from crashcart.growth import Growth, Kept, Site
from crashcart.trend import Climb, climb
from crashcart.units import KIB

LEAST_GROWN_BYTES = 64 * KIB
ALIKE = 0.7
"""Names that hold nearly as much as the one that holds most are different ways to the same thing."""
OTHERS_HAVE = 0.8
"""Of its elements: where others have so many of them as well, a container may keep none alive."""
MOSTLY = 0.5
LEAST_SHARE, MOST_SHARE = 0.3, 1.5
"""A name that holds less of the growth than this is told beside it, and not as its cause; one that is said to hold more than
there is holds what others hold, too: views of one array, say."""
_BOUND = re.compile(r"max(?:len|size)[ =](\d+)|(\d+) slots")
_TENSORS = ("Tensor", "Variable", "Gradient", "IndexedSlices", "Tape")
_ARRAYS = ("ndarray", "DataFrame", "Series", "Image", "matrix", "bytes", "array")
_BUILT = (
    "Model",
    "Sequential",
    "Functional",
    "Layer",
    "Optimizer",
    "Function",
    "Session",
    "Graph",
    "Iterator",
    "Writer",
)
_PLAIN = frozenset({"", "int", "float", "bool", "complex", "str", "NoneType"})
_KERAS_LINK = re.compile(r"\((Metric|Callback|Layer|Model|Loss|Optimizer)\)")


@dataclass(frozen=True, slots=True)
class Holding:
    """A named container or object that grows to the end."""

    kept: Kept
    counts: Climb | None
    bytes: Climb | None

    @property
    def per_step(self) -> float:
        """Bytes with each step."""
        return self.bytes.per_step if self.bytes is not None else 0.0

    @property
    def grows_inside(self) -> bool:
        """Whether it has as many elements as halfway, and these hold more: a dictionary of lists."""
        counts = self.kept.counts
        return self.counts is None and counts[-1] is not None and counts[len(counts) // 2] == counts[-1]

    @property
    def item_bytes(self) -> float | None:
        """Bytes of one of the elements that came."""
        if self.bytes is None or self.counts is None or not self.counts.grown:
            return None
        return self.bytes.grown / self.counts.grown

    @property
    def keeps(self) -> str:
        """What kind of thing it is, by which one rule speaks of it: bounded, cache, closure, keras, built, tensors,
        arrays or others."""
        kept, item = self.kept, self.kept.item or self.kept.kind
        if bound_of(kept) is not None:
            return "bounded"
        if is_cache(kept):
            return "cache"
        if kept.name.startswith("closure of"):
            return "closure"
        if any(word in item for word in _BUILT) and "Tensor" not in item:
            return "built"
        if keras_part(kept) is not None:
            return "keras"
        if any(word in item for word in _TENSORS):
            return "tensors"
        return "arrays" if any(word in item for word in _ARRAYS) else "others"


def is_nested(kept: Kept) -> bool:
    """Whether its elements are containers or objects that were not seen to the bottom: neither arrays nor tensors were found in
    them, nor numbers or texts alone."""
    item = kept.item or ""
    return item.rpartition(" of ")[2] not in _PLAIN and not any(word in item for word in (*_TENSORS, *_ARRAYS, *_BUILT))


def bound_of(kept: Kept) -> int | None:
    """How many elements it takes at most, where it says so: by a `maxlen`, or by its slots, of which some were empty."""
    found = _BOUND.search(kept.kind)
    return int(found.group(found.lastindex or 0)) if found else None


def is_cache(kept: Kept) -> bool:
    """Whether it is meant to be asked again: a functools cache, or a mapping by such a name."""
    if "functools" in kept.name or "lru_cache" in kept.kind:
        return True
    last = re.split(r"[.:]\s*", kept.name)[-1].lower()
    return "dict" in kept.kind.lower() and ("cache" in last or "memo" in last)


def keras_part(kept: Kept) -> str | None:
    """What kind of Keras object of the user's own holds it: Metric, Callback, Layer, Model…"""
    found = [match.group(1) for link in kept.chain if (match := _KERAS_LINK.search(link))]
    return found[-1] if found else None


def holdings(growth: Growth) -> list[Holding]:
    """What grows by name, the most telling first: of those that hold about the same, the one with elements, and the
    innermost."""
    found = [holding for kept in growth.kept if (holding := _holding(kept)) is not None]
    found = [each for each in found if not _is_anothers(each, found) and not _leads_to_bounded(each, found)]
    most = max((each.per_step for each in found), default=0.0)
    return sorted(
        found,
        key=lambda each: (
            each.per_step < ALIKE * most,
            each.counts is None,
            -len(each.kept.chain),
            -each.per_step,
        ),
    )


def _is_anothers(holding: Holding, found: list[Holding]) -> bool:
    """Whether what it holds is held elsewhere, too, by nothing that grows alike: a list of what was drawn from a data set. Two
    containers that grow with the same things are both named; what it is in, or has in it, is none of them."""
    if holding.kept.others_have < OTHERS_HAVE:
        return False
    rest = (each for each in found if not (each is holding or leads_to(each, holding) or leads_to(holding, each)))
    return not any(ALIKE <= each.per_step / max(1.0, holding.per_step) <= 1 / ALIKE for each in rest)


def _leads_to_bounded(holding: Holding, found: list[Holding]) -> bool:
    """Whether what it comes to hold is mostly in a container with a bound, which is named by itself."""
    bounded = sum(each.per_step for each in found if bound_of(each.kept) is not None and leads_to(holding, each))
    return bound_of(holding.kept) is None and bounded >= MOSTLY * holding.per_step


def leads_to(holding: Holding, other: Holding) -> bool:
    """Whether the one is on the way to the other, by their names."""
    return other.kept.name.startswith((f"{holding.kept.name}.", f"{holding.kept.name}["))


def _holding(kept: Kept) -> Holding | None:
    counts = climb(kept.steps, kept.counts)
    sizes = climb(kept.steps, kept.sizes_bytes, LEAST_GROWN_BYTES)
    return None if sizes is None else Holding(kept, counts, sizes)


def main_holding(growth: Growth, per_step: float) -> Holding | None:
    """The container that explains the growth, where one does: of those that hold about as much as the one that comes nearest
    to it, the most telling."""
    found = [each for each in holdings(growth) if each.keeps != "bounded" and is_share(each, per_step)]
    nearest = min(found, key=lambda each: _off(each, per_step), default=None)
    if nearest is None:
        return None
    return next(each for each in found if ALIKE <= each.per_step / nearest.per_step <= 1 / ALIKE)


def is_share(holding: Holding, per_step: float) -> bool:
    """Whether a container holds enough of the growth to be its cause, and no more than there is."""
    return LEAST_SHARE * per_step <= holding.per_step <= MOST_SHARE * per_step


def _off(holding: Holding, per_step: float) -> float:
    """How far what it takes is from the growth, up or down."""
    return abs(math.log(max(1.0, holding.per_step) / max(1.0, per_step)))


def line_of(holding: Holding, growth: Growth) -> Frame | None:
    """The user's line that puts things in; else the line whose allocations survive, where it names the container."""
    if holding.kept.filled_at is not None:
        return holding.kept.filled_at
    site = main_site(growth, re.split(r"[.:]\s*", holding.kept.name)[-1]) or main_site(growth)
    return site.frame if site is not None else None


def main_site(growth: Growth, name: str | None = None) -> Site | None:
    """The line whose allocations survive most; with a name, of those that say it."""
    found = [each for each in growth.sites if each.frame.line > 0]
    if name is not None:
        found = [each for each in found if re.search(rf"\b{re.escape(name)}\b", each.frame.source or "")]
    return max(found, key=per_step_of, default=None)


def per_step_of(site: Site) -> float:
    """Bytes that survive of each step, those of tensors and arrays included."""
    return site.bytes / max(1, site.steps)
