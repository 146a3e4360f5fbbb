"""A shuffle that is too large, moved in front of the maps before it.

Covers: maps without state, and stages that change nothing (prefetch, options). Which element a shuffle gives next
depends on its seed and on the number of elements, not on what is in them: shuffling paths and then decoding gives the
same images in the same order as decoding and then shuffling, and holds paths instead of images. Does not cover:
stages that drop, add or join elements.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from crashcart.pipeline.bounded_functions import is_stateless
from crashcart.pipeline.bounded_plan import CannotBoundError, Plan
from crashcart.pipeline.bounded_report import Change
from crashcart.pipeline.bounded_sizes import Sizes
from crashcart.pipeline.bounded_stages import Node, read, words
from crashcart.pipeline.bounded_stages import buffers_of as _buffers_of
from crashcart.probe.tensorflow_dataset_rebuild import inputs, rebuilt, unwrapped


def shuffles_moved(dataset: Any, sizes: Sizes, plan: Callable[[list[Node]], Plan]) -> tuple[Any, list[Change]]:
    """The dataset with those shuffles moved that do not get the buffer they ask for, and what that changed."""
    nodes = read(dataset)
    short = _short(nodes, sizes, plan)
    paths = {node.number: path for node in short if (path := _path(node, sizes))}
    if not paths:
        return dataset, []
    done: dict[int, Any] = {}

    def build(node: Node) -> Any:
        if node.number not in done:
            done[node.number] = moved(node, paths[node.number]) if node.number in paths else same(node)
        return done[node.number]

    def moved(shuffle: Node, path: list[Node]) -> Any:
        made = rebuilt(shuffle.stage, [build(path[-1].before[0])])
        for each in reversed(path):
            made = rebuilt(each.stage, [made])
        return made

    def same(node: Node) -> Any:
        before = [build(each) for each in node.before]
        kept = all(new is unwrapped(old) for new, old in zip(before, inputs(node.stage), strict=True))
        return node.stage if kept else rebuilt(node.stage, before)

    return build(nodes[-1]), [_change(node, paths[node.number], sizes) for node in short if node.number in paths]


def _short(nodes: list[Node], sizes: Sizes, plan: Callable[[list[Node]], Plan]) -> list[Node]:
    """The shuffles that would get less than they ask for."""
    shuffles = [node for node in nodes if node.kind == "_ShuffleDataset"]
    if not shuffles:
        return []
    try:
        counts = plan(nodes).counts
    except CannotBoundError:
        return shuffles
    wanted = {each.key: each.wanted for each in _buffers_of(nodes, sizes)}
    return [
        node for node in shuffles if counts[node.number, "_buffer_size"] < (wanted[node.number, "_buffer_size"] or 0)
    ]


def _path(shuffle: Node, sizes: Sizes) -> list[Node]:
    """The stages to pass, nearest first, up to where elements are smallest; none where that is here."""
    path: list[Node] = []
    best, smallest = 0, _bytes(shuffle, sizes)
    node = shuffle.before[0]
    while node.times == 1 and _passable(node):
        path.append(node)
        node = node.before[0]
        if _bytes(node, sizes) < smallest:
            best, smallest = len(path), _bytes(node, sizes)
    return path[:best]


def _passable(node: Node) -> bool:
    if node.kind in ("_PrefetchDataset", "_OptionsDataset"):
        return True
    return node.kind in ("_MapDataset", "_ParallelMapDataset") and is_stateless(node.stage._map_func)


def _bytes(node: Node, sizes: Sizes) -> int:
    found = sizes.of(node.stage)
    return 0 if found is None else found.bytes


def _change(shuffle: Node, path: list[Node], sizes: Sizes) -> Change:
    (wanted,) = (each.wanted or 0 for each in _buffers_of([*_only(shuffle)], sizes) if each.key[1] == "_buffer_size")
    before, after = _bytes(shuffle, sizes), _bytes(path[-1].before[0], sizes)
    passed = ", ".join(words(each) for each in path)
    return Change(
        words(shuffle), f"moved in front of {passed}: the same order, smaller elements", wanted * before, wanted * after
    )


def _only(node: Node) -> list[Node]:
    return [node]
