"""Which container keeps what is made anew, and which line puts it there.

Covers: sessions, models, functions and the like, whose memory lies elsewhere. Does not cover: containers that hold the growth
by their bytes (`crashcart/holding.py`, whose names the rules find here), or whether the process grows (`_leak.py`). No rule
is declared here.
"""

from __future__ import annotations

from crashcart.evidence import Frame
from crashcart.growth import Growth, Made
from crashcart.holding import (
    Holding,
    bound_of,
    holdings,
    is_cache,
    is_nested,
    is_share,
    keras_part,
    leads_to,
    line_of,
    main_holding,
    main_site,
    per_step_of,
)
from crashcart.trend import climb

__all__ = [
    "Holding",
    "bound_of",
    "holdings",
    "is_cache",
    "is_nested",
    "is_share",
    "keeper_of",
    "kept_at",
    "keras_part",
    "leads_to",
    "line_of",
    "main_holding",
    "main_site",
    "named_keeper",
    "per_step_of",
]
_WORDS = {
    "session": ("Session",),
    "model": ("Model", "Sequential", "Functional", "History", "Function", "Optimizer", "Layer"),
    "tf.function": ("Function",),
    "optimizer": ("Optimizer", "Adam", "SGD"),
    "layer": ("Layer", "Dense"),
    "dataset iterator": ("Iterator",),
    "summary writer": ("Writer",),
    "variable": ("Variable",),
    "graph": ("Graph",),
    "thread": ("Thread", "Timer"),
    "open file": ("TextIOWrapper", "BufferedReader", "BufferedWriter", "BufferedRandom", "FileIO", "socket"),
    "child process": ("Popen", "Process"),
}
_PLAIN = frozenset(
    {"float", "int", "str", "bool", "bytes", "float32", "float64", "EagerTensor", "ndarray", "NoneType", None}
)


def keeper_of(growth: Growth, made: Made) -> Holding | None:
    """The container that keeps what is made anew: by what its elements are; else one that gains as many, and no plain
    values. How much they take is not asked: the memory of a session or a model lies elsewhere."""
    rate = (made.last - made.first) / max(1, made.steps)
    found = []
    for kept in growth.kept:
        counts = climb(kept.steps, kept.counts)
        if counts is None or bound_of(kept) is not None:
            continue
        named = any(word in (kept.item or "") for word in (made.name, *_WORDS.get(made.kind, ())))
        alike = abs(counts.per_step - rate) <= 0.15 * rate and kept.item not in _PLAIN
        if named or alike:
            found.append((not named, Holding(kept, counts, climb(kept.steps, kept.sizes_bytes, 1))))
    return min(found, key=lambda each: (each[0], -each[1].per_step), default=(True, None))[1]


def named_keeper(growth: Growth, kind: str) -> Holding | None:
    """The container whose elements are of that kind by their class, and become more; the one that gains most."""
    words = _WORDS[kind]
    found = [
        Holding(kept, counts, climb(kept.steps, kept.sizes_bytes, 1))
        for kept in growth.kept
        if any(word in (kept.item or "") for word in words)
        and (counts := climb(kept.steps, kept.counts)) is not None
        and bound_of(kept) is None
    ]
    return max(found, key=lambda each: each.counts.grown if each.counts is not None else 0, default=None)


def kept_at(keeper: Holding | None, made: Made) -> Frame | None:
    """The line that puts what was made into its container, where one keeps it; else the line that makes it."""
    return keeper.kept.filled_at if keeper is not None and keeper.kept.filled_at is not None else made.frame
