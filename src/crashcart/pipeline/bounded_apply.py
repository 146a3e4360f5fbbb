"""A plan put into effect: the dataset built again with the counts that the plan gives.

Covers: buffers, parallel calls, caches, options. Does not cover: the plan (`bounded_plan`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crashcart.pipeline.bounded_cache import delete_with, folder_for
from crashcart.pipeline.bounded_inner import inside_counts, is_inner, remade
from crashcart.pipeline.bounded_plan import Buffer, Part, Plan
from crashcart.pipeline.bounded_report import Change
from crashcart.pipeline.bounded_stages import Node, read
from crashcart.probe.tensorflow_dataset_rebuild import AUTOTUNE, as_parallel_map, inputs, number, rebuilt, unwrapped


def applied(nodes: list[Node], buffers: list[Buffer], plan: Plan) -> tuple[Any, list[Change]]:
    """The dataset with the plan's counts, and the changes that a reader of the code would want to know of."""
    held: dict[int, list[Buffer]] = {}
    for each in buffers:
        held.setdefault(each.key[0], []).append(each)
    changes: list[Change] = []
    done: dict[int, Any] = {}
    for node in nodes:
        before = [done[each.number] for each in node.before]
        done[node.number] = _stage(node, before, held.get(node.number, []), plan.counts, changes)
    made = done[nodes[-1].number]
    ahead = plan.counts.get((nodes[-1].number, "last prefetch"), 0)
    if ahead:
        made = made.prefetch(ahead)
    return made.with_options(_options(plan)), changes


def _stage(
    node: Node, before: list[Any], held: list[Buffer], counts: Mapping[tuple[int, str], int], changes: list[Change]
) -> Any:
    attributes: dict[str, Any] = {}
    inside = inside_counts(counts, node.number)
    for each in held:
        count = counts[each.key]
        if each.key[1] in ("consumer", "last prefetch"):
            continue
        if inside and not hasattr(node.stage, each.key[1]):
            if each.wanted is None or count < each.wanted:
                changes.append(_change(each, count))
            continue
        if each.part is Part.CACHE and each.key[1] == "_filename":
            return _cache(node, before, each, count, changes)
        if each.wanted is not None and count < each.wanted:
            changes.append(_change(each, count))
        if _is_joined(node) and each.part is Part.CALLS:
            continue
        if node.kind in _EXPLICIT and each.part is Part.CALLS:
            return _EXPLICIT[node.kind](node.stage, before[0], count)
        attributes |= _attribute(node, each, count)
    inner = [each for each in held if is_inner(each)]
    if any(each.autotuned or each.wanted is None or counts[each.key] < each.wanted for each in inner):
        return remade(node.stage, before[0], attributes, lambda inner: _inner(inner, inside))
    kept = all(new is unwrapped(old) for new, old in zip(before, inputs(node.stage), strict=True))
    return node.stage if kept and not attributes else rebuilt(node.stage, before, attributes)


def _inner(dataset: Any, counts: Mapping[tuple[int, str], int]) -> Any:
    """A dataset that a function builds, built with the plan's counts. A cache that has no room is left out."""
    done: dict[int, Any] = {}
    for node in read(dataset):
        before = [done[each.number] for each in node.before]
        mine = {name: count for (number_inside, name), count in counts.items() if number_inside == node.number}
        if node.kind == "CacheDataset" and mine.get("_filename") == 0:
            done[node.number] = before[0]
            continue
        if node.kind == "_BatchDataset":
            mine = {}
        settable = {name: count for name, count in mine.items() if name in _SETTABLE and hasattr(node.stage, name)}
        kept = not settable and all(new is unwrapped(old) for new, old in zip(before, inputs(node.stage), strict=True))
        done[node.number] = node.stage if kept else rebuilt(node.stage, before, settable)
    return done[max(done)]


_SETTABLE = ("_buffer_size", "_num_parallel_calls", "_prefetch_input_elements", "_buffer_output_elements")


def _attribute(node: Node, buffer: Buffer, count: int) -> dict[str, Any]:
    """The attribute to set; none where the count is what it is. AUTOTUNE becomes a number: no option can raise it then."""
    name = buffer.key[1]
    if buffer.part is Part.FIXED or not hasattr(node.stage, name):
        return {}
    now = number(getattr(node.stage, name))
    if now == AUTOTUNE or (buffer.wanted is not None and count < buffer.wanted):
        return {name: count}
    return {}


def _change(buffer: Buffer, count: int) -> Change:
    name = buffer.key[1].rpartition(" ")[2]
    if name == "_filename":
        return Change(buffer.words, "left out: it runs anew each time", None, 0, notable=True)
    what = {
        "_num_parallel_calls": "{} calls at once, now {}",
        "_prefetch_input_elements": "{} inputs opened ahead, now {}",
        "_buffer_output_elements": "{} results kept for each input, now {}",
    }.get(name, "buffer of {} elements, now {}")
    words = what.format(buffer.wanted, count)
    if buffer.part is Part.SHUFFLE:
        words += ": it mixes over shorter distances"
    before = None if buffer.wanted is None else buffer.bytes_with(buffer.wanted)
    return Change(buffer.words, words, before, buffer.bytes_with(count), notable=buffer.part is Part.SHUFFLE)


def _batch(stage: Any, source: Any, count: int) -> Any:
    return source.batch(
        stage._batch_size, stage._drop_remainder, num_parallel_calls=count, deterministic=True, name=stage._name
    )


# TensorFlow makes maps without state and batches parallel by itself, and then lets them grow: 1.6 GB where the budget of
# autotune was 0.2 GB. Those that say how many calls they make are left alone.
_EXPLICIT = {"_MapDataset": as_parallel_map, "_BatchDataset": _batch}


def _is_joined(node: Node) -> bool:
    """A batch right behind a map: TensorFlow makes one stage of both, with the map's calls and one batch in the making.

    Of small rows that took 0.75 of the processor time of a parallel map and a parallel batch.
    """
    return node.kind == "_BatchDataset" and node.before[0].kind in ("_MapDataset", "_ParallelMapDataset")


def _cache(node: Node, before: list[Any], buffer: Buffer, count: int, changes: list[Change]) -> Any:
    """In memory where it fits; else in a folder on disk; without a cache where two read it at once, or no disk has room."""
    if buffer.wanted is not None and count >= buffer.wanted:
        return rebuilt(node.stage, before) if before[0] is not unwrapped(inputs(node.stage)[0]) else node.stage
    wanted = None if buffer.wanted is None else buffer.bytes_with(buffer.wanted)
    folder = folder_for(wanted) if node.times == 1 else None
    if folder is None:
        why = "several stages read it" if node.times > 1 else "no disk has room for it"
        changes.append(
            Change("cache()", f"left out ({why}): what is before it runs in each epoch", wanted, 0, notable=True)
        )
        return before[0]
    made = rebuilt(node.stage, before, {"_filename": str(folder / "elements")})
    delete_with(made, folder)
    changes.append(Change("cache()", f"in memory, now on disk in {folder}", wanted, 0, notable=True))
    return made


def _options(plan: Plan) -> Any:
    """What TensorFlow adds by itself must not take what the plan has given away."""
    import tensorflow as tf

    options = tf.data.Options()
    options.autotune.ram_budget = max(1, plan.usable_bytes - plan.held_bytes)
    options.autotune.initial_parallelism = 1
    options.experimental_optimization.inject_prefetch = False
    options.experimental_optimization.parallel_batch = False
    return options
