"""Questions about stages that the estimate and the rules share.

Covers: what passes elements on, where elements lie, how many calls run, labels. Pure functions of a stage.
Does not cover: bytes (`estimate.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from crashcart.stages import AUTOTUNE, INFINITE, Element, Ground, Settings, Stage

PASSING = frozenset(
    {"shuffle", "prefetch", "cache", "snapshot", "options", "repeat", "take", "skip", "shard", "filter", "take_while"}
    | {"restructured", "ignore_errors", "concatenate", "unique", "save"}
)
"""Stages whose elements are those of their input."""
READERS = frozenset({"tfrecord", "text_line", "fixed_length_record", "csv", "sql", "load"})
KEEPS_NOTHING = frozenset(
    {"range", "random", "tensor_slices", "tensors", "sparse_tensor_slice", "list", "matching_files", "generator"}
    | {"options", "repeat", "take", "skip", "shard", "filter", "take_while", "restructured", "ignore_errors"}
    | {"concatenate", "zip", "sample_from_datasets", "flat_map", "save", "snapshot", "legacy_snapshot"}
    | {
        "dense_to_ragged",
        "global_shuffle",
        "assert_cardinality",
        "assert_next",
        "assert_prev",
        "non_serializable",
        "sleep",
    }
)
"""Sources and stages that hold no more than the element that they pass on; tensors of sources exist before the iterator
does. A stage that is neither here nor has a rule is not known."""
BATCHES = frozenset({"batch", "parallel_batch", "padded_batch"})
MAPS = frozenset({"map", "parallel_map"})
INTERLEAVES = frozenset({"interleave", "parallel_interleave"})
OPENERS = INTERLEAVES | {"flat_map"}
"""Stages whose function opens a dataset for each element."""
PYTHON_OPS = frozenset({"EagerPyFunc", "PyFunc", "PyFuncStateless"})
# A tuned prefetch holds one element with a slow consumer; with one that is as fast as the pipeline, it was seen to double
# up to 16.
TUNED_PREFETCH, TUNED_PREFETCH_HIGH = 1, 16
_INITIAL_PARALLELISM = 16
"""TensorFlow's own first value of AUTOTUNE, of which it takes no more than it has threads."""


def threads(settings: Settings, ground: Ground) -> int:
    """Those that run functions."""
    return max(1, settings.threads or ground.cores)


def calls(stage: Stage, settings: Settings, ground: Ground) -> tuple[int, int]:
    """Parallel calls at first, and at most; (0, 0) for a stage that calls one after the other."""
    asked = stage.parallel_calls
    pool = threads(settings, ground)
    if asked is None:
        if stage.name == "map" and is_made_parallel(stage, settings):
            return min(settings.initial_parallelism or _INITIAL_PARALLELISM, pool), pool
        return 0, 0
    if asked == AUTOTUNE:
        return min(settings.initial_parallelism or _INITIAL_PARALLELISM, pool), pool
    return max(1, asked), max(1, asked)


def is_made_parallel(stage: Stage, settings: Settings) -> bool:
    """Whether TensorFlow makes a plain map parallel by itself: only where the order of calls cannot matter."""
    function = stage.function
    return (
        settings.autotune
        and settings.map_parallelization
        and not stage.numbers.get("force_synchronous")
        and function is not None
        and not is_python(stage)
        and not is_random(stage)
    )


def is_python(stage: Stage) -> bool:
    """Whether its function goes back to Python for each element."""
    return any(name in PYTHON_OPS for each in stage.functions for name in each.operations)


def is_generator(stage: Stage) -> bool:
    """Whether its elements come out of a Python generator."""
    inner = [each.dataset for each in stage.functions if each.dataset is not None]
    return stage.name == "generator" or (stage.name == "flat_map" and any(each.name == "generator" for each in inner))


def is_random(stage: Stage) -> bool:
    """Whether its function draws random numbers with a state of their own."""
    return any(
        ("Random" in name or name == "Multinomial") and not name.startswith("StatelessRandomGet")
        for each in stage.functions
        for name in each.operations
    )


def element_in(stage: Stage) -> Element | None:
    """What it keeps: elements of its input. Inside of functions the input may not be known: then as it follows from its own."""
    if stage.input is not None:
        return stage.input.element
    count = stage.numbers.get("batch_size", 1) if stage.name in BATCHES else 1
    own = stage.element
    return (
        own if own is None or count < 2 else replace(own, bytes=own.bytes // count, high_bytes=own.high_bytes // count)
    )


def is_kept_elsewhere(stage: Stage) -> bool:
    """Whether the elements that it gives out lie in memory that is counted elsewhere: a cache's, an array's rows, or that of a
    shuffle which has had the whole epoch at once, and gets no others for those that it gives."""
    if stage.name == "cache":
        return not stage.words.get("filename")
    if stage.name in ("tensor_slices", "tensors"):
        return stage.numbers.get("shared_rows", 0) == 1
    if stage.name == "shuffle" and has_the_epoch(stage):
        return True
    if stage.name == "repeat" and stage.input is not None and stage.input.name == "shuffle":
        return stage.input.input is not None and is_kept_elsewhere(stage.input.input)  # it fills up from the next epoch
    return stage.name in PASSING and stage.input is not None and is_kept_elsewhere(stage.input)


def has_the_epoch(shuffle: Stage) -> bool:
    """Whether all elements of an epoch lie in its buffer at once."""
    whole = shuffle.input.cardinality if shuffle.input is not None else None
    return whole is not None and 0 <= whole <= shuffle.numbers.get("buffer_size", 0)


def in_memory(stage: Stage) -> bool:
    """Whether it is a cache in memory."""
    return stage.name == "cache" and not stage.words.get("filename")


def endless_caches(stage: Stage) -> Iterator[Stage]:
    """Caches in memory whose input has no end; not those below a take, which asks for no more than it gives."""
    if stage.name == "take" and stage.numbers.get("count", -1) >= 0:
        return
    if in_memory(stage) and stage.input is not None and stage.input.cardinality == INFINITE:
        yield stage
    for each in stage.inputs:
        yield from endless_caches(each)


def label(stage: Stage, settings: Settings | None = None, ground: Ground | None = None) -> str:
    """As people write it: `shuffle(12000)`, `parallel_map(AUTOTUNE → 8)`."""
    if stage.name == "cache":
        return f'cache("{_short(stage.words["filename"])}")' if stage.words.get("filename") else "cache()"
    name = "from_generator" if is_generator(stage) else stage.name
    number = next((stage.numbers[each] for each in _SHOWN.get(name, ()) if each in stage.numbers), None)
    if number is None:
        return f"{name}()"
    if number != AUTOTUNE:
        return f"{name}({number})"
    if name in MAPS and settings is not None and ground is not None:
        return f"{name}(AUTOTUNE → {calls(stage, settings, ground)[1]})"
    if name == "prefetch":
        return f"{name}(AUTOTUNE → ≤ {TUNED_PREFETCH_HIGH})"
    return f"{name}(AUTOTUNE)"


_SHOWN = {
    "shuffle": ("buffer_size",),
    "prefetch": ("buffer_size",),
    "batch": ("batch_size",),
    "parallel_batch": ("batch_size",),
    "padded_batch": ("batch_size",),
    "parallel_map": ("num_parallel_calls",),
    "interleave": ("cycle_length",),
    "parallel_interleave": ("cycle_length",),
    "window": ("size",),
    "repeat": ("count",),
    "take": ("count",),
    "skip": ("count",),
}


def _short(name: str) -> str:
    return name if len(name) <= 20 else f"…{name[-19:]}"
