"""Changed pipelines, each estimated like the real one: what would hold less, and how much less.

Covers: a shuffle moved before the maps that make elements large, or with a smaller buffer; a cache moved, on disk or
left out; bounded prefetching and parallel calls.
Does not cover: when a change is worth saying (the rules), or what it does to throughput.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from crashcart.pipeline import _shared as about
from crashcart.pipeline.estimate import estimate
from crashcart.stages import AUTOTUNE, Change, PipelineMemory, Stage
from crashcart.units import size

_ROUND = (1, 2, 5)
_LEAST_SAVED = 0.03


def changes(memory: PipelineMemory) -> tuple[Change, ...]:
    """All that save something, the one that leaves least first."""
    least = _LEAST_SAVED * memory.grown_bytes
    found = [each for each in _all(memory) if memory.held_bytes - each.held_bytes > least]
    return tuple(sorted(found, key=lambda each: each.held_bytes))


def _all(memory: PipelineMemory) -> Iterator[Change]:
    yield from shuffle_moved(memory)
    yield from shuffle_smaller(memory)
    yield from cache_moved(memory)
    yield from cache_on_disk(memory)
    yield from prefetch_bounded(memory)
    yield from calls_bounded(memory)


def estimated(memory: PipelineMemory, root: Stage, how: str, note: str | None = None) -> Change:
    """The change with the figures of the changed pipeline."""
    found = estimate(replace(memory.pipeline, root=root), memory.ground)
    built = memory.built_bytes or 0
    return Change(how, found.held_bytes + built, found.high_bytes + built, note)


def shuffle_moved(memory: PipelineMemory) -> Iterator[Change]:
    """Below the maps that make elements larger."""
    for stage in list(memory.pipeline.root.walk()):
        path = _below(stage) if stage.name == "shuffle" else None
        if path is None or stage.input is None or stage.input.element is None or path.input is None:
            continue
        small, large = path.input.element, stage.input.element
        if small is None:
            continue
        count = _in_elements(stage, path)
        root = memory.pipeline.root.changed(_moved(stage, path, count))
        how = f"shuffle({count}) before {_named(path)} ({size(small.bytes)} an element instead of {size(large.bytes)})"
        yield estimated(memory, root, how)


def _below(stage: Stage, *, reading: bool = True) -> Stage | None:
    """The lowest map of a chain from a stage downwards whose input is much smaller than its output; with `reading`, also one
    that reads files: names may be shuffled in place of what is read, and caching them is of no use."""
    found, at = None, stage.input
    while at is not None and (at.name in about.MAPS or at.name in about.PASSING or at.name in about.BATCHES):
        if at.name in about.MAPS and not reading and _reads(at):
            break
        if at.name in about.MAPS and at.input is not None and _grows(at):
            found = at
        at = at.input
    return found


def _reads(stage: Stage) -> bool:
    return about.is_python(stage) or any("ReadFile" in each.operations for each in stage.functions)


def _grows(stage: Stage) -> bool:
    below = stage.input.element if stage.input is not None else None
    return stage.element is not None and below is not None and stage.element.bytes > 1.5 * below.bytes


def _in_elements(shuffle: Stage, path: Stage) -> int:
    """The same number of examples, where batches lie between."""
    count, at = shuffle.numbers.get("buffer_size", 1), shuffle.input
    while at is not None and at is not path:
        count *= max(1, at.numbers.get("batch_size", 1)) if at.name in about.BATCHES else 1
        at = at.input
    return count


def _moved(stage: Stage, path: Stage, count: int) -> Callable[[Stage], Stage]:
    below = replace(stage, numbers={**stage.numbers, "buffer_size": count}, inputs=path.inputs)

    def change(each: Stage) -> Stage:
        if _is(each, stage):
            return each.inputs[0]
        return replace(each, inputs=(replace(below, element=None, cardinality=None),)) if _is(each, path) else each

    return change


def _is(each: Stage, stage: Stage) -> bool:
    """Whether it is the same stage, though what is below it may have changed already."""
    return replace(each, inputs=()) == replace(stage, inputs=())


def _named(stage: Stage) -> str:
    """What people call the step: decoding, or the map's function with its line."""
    function = stage.function
    if function is not None and any(name.startswith(("Decode", "ParseExample")) for name in function.operations):
        return "decoding"
    where = f" ({function.where})" if function is not None and function.where else ""
    return f"the {stage.name}{where}"


def shuffle_smaller(memory: PipelineMemory) -> Iterator[Change]:
    """The largest round buffer with which the worst case fits; a tenth where nobody knows the memory."""
    for stage in list(memory.pipeline.root.walk()):
        asked = stage.numbers.get("buffer_size", 0) if stage.name == "shuffle" else 0
        if asked <= 1:
            continue
        for count in _rounds(asked):
            root = memory.pipeline.root.changed(_set(stage, "buffer_size", count))
            found = estimated(memory, root, f"shuffle({count})", "less random: a smaller window of elements is mixed")
            if _suffices(memory, found):
                yield found
                break


def _rounds(below: int) -> list[int]:
    """1000, 500, 200, 100…, the largest first, down to one."""
    found = [each * 10**power for power in range(12) for each in _ROUND if each * 10**power < below]
    return sorted(found, reverse=True)


def _suffices(memory: PipelineMemory, change: Change) -> bool:
    if memory.available_bytes is None:
        return change.held_bytes < memory.held_bytes // 2
    return change.high_bytes <= memory.available_bytes


def _set(stage: Stage, name: str, value: int) -> Callable[[Stage], Stage]:
    def change(each: Stage) -> Stage:
        return replace(each, numbers={**each.numbers, name: value}) if _is(each, stage) else each

    return change


def cache_moved(memory: PipelineMemory) -> Iterator[Change]:
    """Below the maps that make elements larger."""
    for stage in list(memory.pipeline.root.walk()):
        path = _below(stage, reading=False) if about.in_memory(stage) else None
        if path is None or path.input is None or path.input.element is None or stage.input is None:
            continue
        small, large = path.input.element, stage.input.element
        root = memory.pipeline.root.changed(_moved_cache(stage, path))
        sizes = f" ({size(small.bytes)} an element instead of {size(large.bytes)})" if large is not None else ""
        yield estimated(memory, root, f"cache() before {_named(path)}{sizes}", "that map then runs in every epoch")


def _moved_cache(stage: Stage, path: Stage) -> Callable[[Stage], Stage]:
    def change(each: Stage) -> Stage:
        if _is(each, stage):
            return each.inputs[0]
        below = replace(stage, inputs=path.inputs, element=path.inputs[0].element) if path.inputs else stage
        return replace(each, inputs=(below,)) if _is(each, path) else each

    return change


def cache_on_disk(memory: PipelineMemory) -> Iterator[Change]:
    """A file instead of memory."""
    for stage in list(memory.pipeline.root.walk()):
        if about.in_memory(stage):

            def change(each: Stage, stage: Stage = stage) -> Stage:
                return replace(each, words={**each.words, "filename": "/path/on/disk"}) if _is(each, stage) else each

            root = memory.pipeline.root.changed(change)
            yield estimated(memory, root, 'cache("/path/on/disk")', "elements are read from disk in later epochs")


def prefetch_bounded(memory: PipelineMemory) -> Iterator[Change]:
    """A prefetch of many elements is one of two."""
    for stage in list(memory.pipeline.root.walk()):
        count = stage.numbers.get("buffer_size", 0) if stage.name == "prefetch" else 0
        if count > 2 or count == AUTOTUNE:
            yield estimated(memory, memory.pipeline.root.changed(_set(stage, "buffer_size", 2)), "prefetch(2)")


def calls_bounded(memory: PipelineMemory) -> Iterator[Change]:
    """No more parallel calls than there are cores."""
    cores = memory.ground.cores
    for stage in list(memory.pipeline.root.walk()):
        if (stage.parallel_calls or 0) > cores:
            root = memory.pipeline.root.changed(_set(stage, "num_parallel_calls", cores))
            yield estimated(memory, root, f"num_parallel_calls={cores} in {stage.name}")
