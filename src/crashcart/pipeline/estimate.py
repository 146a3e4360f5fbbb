"""What a pipeline holds: each stage's share once its buffers are full, as expected and at worst.

Covers: all stages of tf.data by the elements that they keep, calls in flight with their temporaries, batches with their
inputs, interleaved datasets as often as they are open (their tensors: `estimate_functions.py`), elements that lie in a
cache's or an array's memory and cost nothing again.
Does not cover: reading and measuring. Pure: the same pipeline and ground give the same figures, so that a changed
pipeline can be estimated like the real one (`change.py`). The constants were measured on TensorFlow 2.21 with elements
of 10 MB and 600 KB.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import sqrt

from crashcart.pipeline import _shared as about
from crashcart.pipeline._shared import TUNED_PREFETCH, TUNED_PREFETCH_HIGH
from crashcart.pipeline.estimate_functions import constants, open_count, opened
from crashcart.stages import AUTOTUNE, INFINITE, Element, Ground, Held, Pipeline, Settings, Stage

# An iterator of a few small stages: threads, the rewritten graph, kernels that are loaded with the first element.
PROCESS_BYTES, PROCESS_HIGH_BYTES = 2 << 20, 40 << 20
# Elements that live only until they are copied into a batch stay in the heaps of the threads that made them: of what a
# batch takes, 2.0 to 3.9 times as much was resident on two cores. Blocks above glibc's largest threshold go back at once.
_SLACK, _SLACK_HIGH = 2.5, 4.0
_NEVER_KEPT_BYTES = 32 << 20
# Temporaries stay likewise in the heaps of threads that made them once: of one call at a time, 1.5 to 4 times the peak of
# a call was resident after six elements, of two calls 2 to 5 times.
_THREADS_BESIDE = 2
# Elements that stay are made between temporaries of many sizes, which leave holes that later ones do not fit: buffers of
# 150, 400, 600 and 2000 decoded images (606 KB, with temporaries of 4 MB) took 1.19, 1.40, 1.25 and 1.23 times their bytes,
# and just their bytes where glibc was told to map each block by itself. Smaller blocks come from bins that fill again.
_HOLES, _HOLES_HIGH = 0.28, 0.6
_ANY_HOLES_HIGH = 0.3
"""At worst, where no such temporaries were seen: slices of large batches took 1.3 times their bytes."""
_HOLES_FROM_BYTES = 128 << 10
# Each dataset that a parallel interleave has open buffers two blocks, and has an element in hand: 12 datasets of 3 elements
# for a cycle of 4, of 7 for blocks of 3.
_BLOCKS_AHEAD = 2
# The state of a scan: its first value, the last one, the next one, and what the iterator keeps beside them. 4.0 times its
# bytes for 50 and 60 MB, whatever the function gives out.
STATES = 4
# An element that lies in another stage's memory: the vector and the tensors that point to it.
_POINTER_BYTES = 140
_READER_BYTES = 256 << 10
_BUDGET_SHARE = 0.5
"""Of the machine's free memory, where the options name no budget: tf.data's own default."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """The figures of one pipeline."""

    rows: tuple[Held, ...]
    held_bytes: int
    high_bytes: int
    unknown: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Scene:
    """What is the same for all stages of one subtree."""

    settings: Settings
    ground: Ground
    copies: int = 1
    """Iterators of it that are alive."""
    depth: int = 0

    def budget_bytes(self) -> int | None:
        return budget_bytes(self.settings, self.ground)


def budget_bytes(settings: Settings, ground: Ground) -> int | None:
    """What autotune lets its buffers take; None where nobody knows."""
    if settings.ram_budget_bytes is not None:
        return settings.ram_budget_bytes
    return None if ground.free_bytes is None else int(ground.free_bytes * _BUDGET_SHARE)


def estimate(pipeline: Pipeline, ground: Ground) -> Estimate:
    """All stages, outermost first, and their sums."""
    unknown: list[str] = []
    rows: list[Held] = []
    for root, settings in pipeline.parts:
        scene = _Scene(settings, ground)
        rows += (*_consumer(root, scene), *_stage(root, scene, unknown))
    copied = constants(pipeline, rows)
    rows += [] if copied is None else [copied]
    rows.append(Held("the iterator itself", "process", "process", PROCESS_BYTES, PROCESS_HIGH_BYTES))
    return Estimate(
        tuple(rows),
        sum(each.bytes for each in rows),
        sum(each.high_bytes for each in rows),
        tuple(dict.fromkeys(unknown)),
    )


def _consumer(root: Stage, scene: _Scene) -> Iterator[Held]:
    """The element in the consumer's hand, and the prefetch that TensorFlow adds by itself."""
    element = root.element
    if element is None:
        return
    if about.is_kept_elsewhere(root):
        yield Held("in the consumer's hand", "consumer", "consumer", 0, 0, element.bytes, 1)
    else:
        yield Held(
            "in the consumer's hand", "consumer", "consumer", element.bytes, element.high_bytes, element.bytes, 1
        )
    settings = scene.settings
    last = next((each for each in root.walk() if each.name not in ("options", "restructured")), root)
    if settings.autotune and settings.inject_prefetch and last.name != "prefetch":
        yield _tuned(root, element, scene, "prefetch added by TensorFlow")


def _tuned(stage: Stage, element: Element, scene: _Scene, label: str) -> Held:
    size = _POINTER_BYTES if about.is_kept_elsewhere(stage) else element.bytes
    most = TUNED_PREFETCH_HIGH
    budget = scene.budget_bytes()
    if budget is not None and size:
        most = max(TUNED_PREFETCH, min(most, budget // size))
    high = size if about.is_kept_elsewhere(stage) else element.high_bytes
    return Held(
        label, "prefetch", "buffer", scene.copies * size, scene.copies * most * high, element.bytes,
        scene.copies * TUNED_PREFETCH, scene.depth,
    )  # fmt: skip


def _stage(stage: Stage, scene: _Scene, unknown: list[str]) -> Iterator[Held]:
    """Its own row, the rows of the datasets that its functions open, and those below."""
    label = about.label(stage, scene.settings, scene.ground)
    own = _own(stage, scene, label)
    if own is None:
        unknown += [] if stage.cardinality == 0 else [label]  # of nothing, nothing is kept
    elif own.bytes or own.high_bytes:
        yield own
    if stage.name in about.OPENERS and not about.is_generator(stage):
        tensors = opened(stage, label, scene.copies, scene.depth)
        if tensors is None:
            unknown.append(label)
        elif tensors.bytes:
            yield tensors
    inner = _inner_scene(stage, scene)
    for function in stage.functions:
        if function.dataset is not None and not about.is_generator(stage):
            yield from _stage(function.dataset, inner, unknown)
    if stage.name == "concatenate":
        yield from max((list(_stage(each, scene, unknown)) for each in stage.inputs), key=_sum, default=[])
        return
    for each in stage.inputs:
        yield from _stage(_as_read(each, stage), scene, unknown)


def _as_read(stage: Stage, above: Stage) -> Stage:
    """A stage with what the one above it says of its number."""
    if above.name == "repeat":
        return _again(stage, above.numbers.get("count", INFINITE))
    if above.name == "assert_cardinality" and stage.cardinality is None:
        return replace(stage, cardinality=above.cardinality)
    return stage


def _again(stage: Stage, times: int) -> Stage:
    """Below a repeat, a shuffle goes on into the next epoch while it gives out the last elements of this one: without an end it
    is always full, however few elements an epoch has."""
    whole = stage.input.cardinality if stage.input is not None else 0
    if stage.name != "shuffle" or stage.input is None or whole == 0 or (whole is None and times >= 0):
        return stage
    count = INFINITE if times < 0 or whole is None or whole == INFINITE else whole * times
    return replace(stage, inputs=(replace(stage.input, cardinality=count),))


def _sum(rows: list[Held]) -> int:
    return sum(each.bytes for each in rows)


def _own(stage: Stage, scene: _Scene, label: str) -> Held | None:
    """The row of one stage; None where its share cannot be told."""
    name = stage.name
    if name in _BUFFERED:
        return _buffer(stage, scene, label)
    if name in about.BATCHES or name == "sparse_batch":
        return _batch(stage, scene, label)
    if name in about.MAPS or name == "parse_example":
        return _map(stage, scene, label)
    if name in about.INTERLEAVES:
        return _interleave(stage, scene, label)
    if name == "scan":
        return _scan(stage, scene, label)
    if name in ("unbatch", "rebatch", "legacy_rebatch"):
        return _kept(stage, scene, label, 1, "buffer")
    if name in about.READERS:
        size = max(_READER_BYTES, stage.numbers.get("buffer_size", 0)) * scene.copies
        return Held(label, name, "reader", size, size, None, scene.copies, scene.depth)
    if about.is_generator(stage):
        return _kept_of(stage, stage.element, scene, label, 1, "calls")
    known = name in about.KEEPS_NOTHING or _is_seen_through(stage)
    return Held(label, name, "buffer", 0, 0) if known else None


def _is_seen_through(stage: Stage) -> bool:
    """A tensor of a dataset that could be read: what is inside of it counts."""
    return stage.name == "variant" and any(each.dataset is not None for each in stage.functions)


_BUFFERED = ("shuffle", "shuffle_and_repeat", "prefetch", "window", "group_by_window", "cache", "unique")


def _buffer(stage: Stage, scene: _Scene, label: str) -> Held | None:
    if stage.name == "cache" and not about.in_memory(stage):
        return Held(label, stage.name, "cache", 0, 0)
    if stage.name == "prefetch" and stage.numbers.get("buffer_size", AUTOTUNE) == AUTOTUNE:
        element = about.element_in(stage)
        source = stage.input or stage
        return None if element is None else _tuned(source, element, scene, label)
    count = _count(stage)
    if count is None:
        return None
    kept = _kept(stage, scene, label, count, "cache" if stage.name == "cache" else "buffer")
    return kept if kept is None else replace(kept, low_bytes=_at_least(stage, kept))


def _at_least(stage: Stage, kept: Held) -> int | None:
    """What it holds for sure, where it may never get as many elements as it has room for: those that were seen, else one."""
    if stage.name == "unique":
        return 0
    if stage.name == "shuffle_and_repeat" or stage.input is None or stage.input.cardinality is not None:
        return None
    element = stage.input.element
    seen = element.seen if element is not None and element.how == "measured" else 1
    return kept.bytes if not kept.count else kept.bytes * min(kept.count, max(1, seen)) // kept.count


def _scan(stage: Stage, scene: _Scene, label: str) -> Held | None:
    state = stage.numbers.get("state_bytes")
    if state is None:
        return None
    held, high = (scene.copies * count * state for count in (STATES, STATES + 1))
    return Held(label, stage.name, "state", held, high, state, scene.copies * STATES, scene.depth)


def _count(stage: Stage) -> int | None:
    """How many elements of its input a full buffer has; None where nobody knows."""
    whole = stage.input.cardinality if stage.input is not None else None
    if stage.name == "unique":  # all of them may be different, unless somebody says how many are
        whole = whole if stage.cardinality is None else stage.cardinality
    if stage.name in ("cache", "unique"):
        return None if whole is None or whole == INFINITE else whole
    asked = stage.numbers.get("size" if stage.name == "window" else "buffer_size")
    if stage.name == "group_by_window":
        return None
    if asked is None or asked < 0:
        return None
    endless = whole is None or whole == INFINITE or stage.name == "shuffle_and_repeat"
    return asked if endless or whole is None else min(asked, whole)


def _kept(stage: Stage, scene: _Scene, label: str, count: int, kind: str) -> Held | None:
    """So many elements of its input."""
    return _kept_of(stage, about.element_in(stage), scene, label, count, kind)


def _kept_of(stage: Stage, element: Element | None, scene: _Scene, label: str, count: int, kind: str) -> Held | None:
    if element is None:
        return None
    whole = count * scene.copies
    source = stage.input
    if source is not None and about.is_kept_elsewhere(source):
        size = whole * _POINTER_BYTES
        return Held(label, stage.name, kind, size, size, element.bytes, whole, scene.depth, "shared")
    holes, holes_high = (_HOLES, _HOLES_HIGH) if _leaves_holes(source, element) else (0.0, _ANY_HOLES_HIGH)
    held, high = int(whole * element.bytes * (1 + holes)), int(many(element, whole) * (1 + holes_high))
    return Held(label, stage.name, kind, held, high, element.bytes, whole, scene.depth)


def _leaves_holes(source: Stage | None, element: Element) -> bool:
    """Whether elements of that size come through a function whose temporaries are not much smaller."""
    if not _HOLES_FROM_BYTES <= element.bytes <= _NEVER_KEPT_BYTES:
        return False
    while source is not None and (source.name in about.PASSING or source.name in about.MAPS):
        function = source.function
        if source.name in about.MAPS and function is not None and 2 * (function.scratch_bytes or 0) >= element.bytes:
            return True
        source = source.input
    return False


def many(element: Element, count: int) -> int:
    """So many elements at worst: by the spread of those that were seen, and by how few they were."""
    if count <= 0:
        return 0
    spread = max(0, element.high_bytes - element.bytes) / 2.33
    unsure = 2 * spread / sqrt(max(1, element.seen))
    return min(count * element.high_bytes, int(count * (element.bytes + unsure) + 2.33 * spread * sqrt(count)))


def _batch(stage: Stage, scene: _Scene, label: str) -> Held | None:
    """The inputs, which stay in the heap until the next batch needs them; parallel ones hold whole batches besides."""
    element = about.element_in(stage)
    size = stage.numbers.get("batch_size", 0)
    if element is None or size <= 0:
        return None
    lasting = about.is_kept_elsewhere(stage.input) if stage.input is not None else False
    taken = 0 if lasting else size * element.bytes * scene.copies
    kept = 1.0 if element.bytes > _NEVER_KEPT_BYTES else _SLACK
    worst = 1.0 if element.bytes > _NEVER_KEPT_BYTES else _SLACK_HIGH
    own, own_high = int(taken * kept), int(taken * worst)
    at_once, most = about.calls(stage, scene.settings, scene.ground)
    if stage.element is not None and at_once:
        own += at_once * stage.element.bytes * scene.copies
        own_high += most * stage.element.high_bytes * scene.copies
    return Held(label, stage.name, "batch", own, own_high, element.bytes, size * scene.copies, scene.depth)


def _map(stage: Stage, scene: _Scene, label: str) -> Held | None:
    """Results that wait, and the temporaries of the calls that run."""
    settings = scene.settings if scene.depth == 0 else _as_written(scene.settings)
    at_once, most = about.calls(stage, settings, scene.ground)
    running = min(max(1, at_once), about.threads(settings, scene.ground))
    most_running = min(max(1, most), about.threads(settings, scene.ground))
    scratch = (stage.function.scratch_bytes if stage.function is not None else None) or 0
    if stage.element is None:
        return None
    results = at_once * stage.element.bytes
    return Held(
        label,
        stage.name,
        "calls",
        scene.copies * (results + (running + _THREADS_BESIDE) * scratch),
        scene.copies * (many(stage.element, most) + (2 * most_running + 2 * _THREADS_BESIDE) * scratch),
        stage.element.bytes,
        scene.copies * max(1, at_once),
        scene.depth,
        f"{running} × {scratch} bytes of temporaries" if scratch else None,
    )


def _as_written(settings: Settings) -> Settings:
    """Inside of functions TensorFlow adds nothing by itself."""
    return replace(settings, map_parallelization=False)


def _interleave(stage: Stage, scene: _Scene, label: str) -> Held | None:
    if stage.name == "interleave":
        return Held(label, stage.name, "buffer", 0, 0)
    buffered = stage.numbers.get("buffer_output_elements", AUTOTUNE)
    if buffered < 0:
        buffered = _BLOCKS_AHEAD * max(1, stage.numbers.get("block_length", 1))
    return _kept_of(stage, stage.element, scene, label, open_count(stage) * (buffered + 1), "buffer")


def _inner_scene(stage: Stage, scene: _Scene) -> _Scene:
    count = open_count(stage) if stage.name in about.INTERLEAVES else 1
    return _Scene(scene.settings, scene.ground, scene.copies * count, scene.depth + 1)
