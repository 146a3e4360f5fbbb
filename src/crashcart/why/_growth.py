"""Whether memory went up step after step, and which named container went up with it.

Covers: the shape of the samples' rise, whether Python code was stepping meanwhile, and growing holders.
Does not cover: the verdict. No rule is declared here.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from crashcart.evidence import Holder, HolderNote, Sample, StackDump
from crashcart.units import MIB, size

BINS = 8
LEAST_RISING_BINS = 6
LARGEST_BIN_SHARE = 0.5
LARGEST_LAST_SHARE = 0.1
"""Joining parts doubles them; a step that was not seen before and is one of many brings next to nothing."""
CLEAR_GAIN = 20
"""A container that was seen to gain this many elements shows the steps by itself."""
LEAST_LOOKS = 4
"""An object that was larger each time it was looked at, this often, is built up in steps: `frame = concat([frame, new])`."""
SHORTEST_RISE_S = 2.5
"""A single allocation touches its pages at gigabytes a second and is over sooner in any group that a test can afford;
what takes longer and is spread evenly is many steps."""


@dataclass(frozen=True, slots=True)
class Rise:
    """The stretch over which memory went up to its peak."""

    start_s: float
    end_s: float
    low_bytes: int
    high_bytes: int
    steady: bool
    """Whether it came in many even parts rather than in one jump."""

    @property
    def grown_bytes(self) -> int:
        """How much came."""
        return self.high_bytes - self.low_bytes

    @property
    def seconds(self) -> float:
        """How long it took."""
        return self.end_s - self.start_s


def final_rise(samples: tuple[Sample, ...] | None, since_s: float = 0.0) -> Rise | None:
    """The last rise from a third above the low to the peak, after the time given."""
    points = [
        (each.at_s, each.tree_rss_bytes)
        for each in samples or ()
        if each.tree_rss_bytes is not None and each.at_s >= since_s
    ]
    if len(points) < BINS:
        return None
    high_bytes = max(value for _, value in points)
    end_s = next(at_s for at_s, value in points if value == high_bytes)
    floor = min(value for _, value in points) + (high_bytes - min(value for _, value in points)) // 3
    before = [(at_s, value) for at_s, value in points if at_s < end_s and value <= floor]
    if not before:
        return None
    start_s, low_bytes = before[-1]
    inside = [(at_s, value) for at_s, value in points if start_s <= at_s <= end_s]
    return Rise(start_s, end_s, low_bytes, high_bytes, _is_steady(inside))


def _is_steady(points: list[tuple[float, int]]) -> bool:
    start_s, end_s = points[0][0], points[-1][0]
    total = points[-1][1] - points[0][1]
    if end_s - start_s < SHORTEST_RISE_S or total < 32 * MIB:
        return False
    edges = [start_s + (end_s - start_s) * number / BINS for number in range(BINS + 1)]
    levels = [max(value for at_s, value in points if at_s <= edge) for edge in edges]
    parts = [later - earlier for earlier, later in pairwise(levels)]
    rising = sum(part > total / (BINS * 8) for part in parts)
    return rising >= LEAST_RISING_BINS and max(parts) <= LARGEST_BIN_SHARE * total


def imported_until_s(dumps: list[StackDump]) -> float:
    """When the program was last seen importing modules: that growth comes in many even parts too, and is no leak."""
    importing = [
        dump.at_s
        for dump in dumps
        for stack in dump.stacks[:1]
        if any("importlib" in frame.file for frame in stack.frames)
    ]
    return max(importing, default=0.0)


def is_stepping(dumps: list[StackDump], start_s: float, end_s: float) -> bool:
    """Whether the main thread was seen in different places while memory rose: a loop, not one long native call. A line that
    only sleeps brings no memory: what rose meanwhile came between two looks, in steps."""
    places = set()
    for dump in dumps:
        main = dump.main_stack() or dump.current_stack()
        if main is not None and main.frames and start_s <= dump.at_s <= end_s:
            if main.frames[-1].own and "sleep(" in (main.frames[-1].source or ""):
                return True
            places.add(tuple((frame.file, frame.line) for frame in main.frames))
    return len(places) >= 2


def is_looped(dumps: list[StackDump]) -> bool:
    """Whether the last own line, or one that called it, is in a loop of the source; unknown sources are not held against
    it. One long call of a library moves through many lines too, and is no loop of the program's."""
    for dump in reversed(dumps):
        main = dump.main_stack() or dump.current_stack()
        own = [frame for frame in main.frames if frame.own] if main is not None else []
        if own:
            return any(frame.looped is not False for frame in own)
    return False


def ended_inside_loop(dumps: list[StackDump], rise: Rise, samples: tuple[Sample, ...] = ()) -> bool:
    """Whether the line at the end is one that the loop had come by before, rather than a last step after it.

    A program that collects parts and then joins them also rises evenly; what kills it is the joining, which brings much
    of the growth by itself. A line in the same function's loop that brought little is another part of the step.
    """
    seen = [(dump.at_s, _own_line(dump), dump) for dump in dumps if rise.start_s <= dump.at_s <= rise.end_s + 1]
    lines = [(at_s, line, dump) for at_s, line, dump in seen if line is not None]
    if not lines:
        return False
    last_s, last, last_dump = lines[-1]
    others = [(at_s, dump) for at_s, line, dump in lines if line != last]
    since_s = max((at_s for at_s, _ in others), default=rise.start_s)
    stretch_s = min((at_s for at_s, line, _ in lines if line == last and at_s > since_s), default=last_s)
    if any(line == last for at_s, line, _ in lines if at_s < since_s) or stretch_s <= rise.start_s + rise.seconds / 4:
        return True
    share = _grown_since(samples, since_s) / max(1, rise.grown_bytes)
    around = {loop for _, dump in others for loop in _loops(dump)}
    return share <= LARGEST_LAST_SHARE and not around.isdisjoint(_loops(last_dump))


def _grown_since(samples: tuple[Sample, ...], since_s: float) -> float:
    """How much memory came after the time; endless where it is not known."""
    levels = [(each.at_s, each.tree_rss_bytes) for each in samples if each.tree_rss_bytes is not None]
    before = [level for at_s, level in levels if at_s <= since_s]
    return max(level for _, level in levels) - before[-1] if before else float("inf")


def _loops(dump: StackDump) -> set[tuple[str, str]]:
    """The functions of the user's own that were in a loop of theirs."""
    main = dump.main_stack() or dump.current_stack()
    frames = main.frames if main is not None else ()
    return {(frame.file, frame.function) for frame in frames if frame.own and frame.looped}


def _own_line(dump: StackDump) -> tuple[str, int] | None:
    main = dump.main_stack() or dump.current_stack()
    frame = main.own_frame() if main is not None else None
    return (frame.file, frame.line) if frame is not None else None


@dataclass(frozen=True, slots=True)
class Grown:
    """A named object as it was first and last seen, and whether that alone shows many steps."""

    before: Holder
    after: Holder
    in_steps: bool

    def words(self) -> str:
        """What it gained."""
        before, after = self.before, self.after
        if after.count is None:
            return (
                f"`{after.name}` ({after.kind}) grew from {size(before.bytes)} to {size(after.bytes)}, look after look"
            )
        return f"`{after.name}` ({after.kind}) went from {before.count} to {after.count} elements, {size(after.bytes)}"


def growing_holder(notes: tuple[HolderNote, ...] | None, pid: int | None) -> Grown | None:
    """The named container that gained the most over the notes; else a single object (an array, a frame, a text) that was
    larger at each of several looks."""
    seen: dict[tuple[str, str], list[Holder]] = {}
    for note in notes or ():
        for holder in note.holders if pid is None or note.pid == pid else ():
            # An attribute (`self.memory`) is seen from several functions; a plain name belongs to its own.
            seen.setdefault((holder.name, "" if "." in holder.name else holder.scope), []).append(holder)
    grown = [each for holders in seen.values() if (each := _container(holders) or _value(holders)) is not None]
    return max(
        grown, key=lambda each: (each.after.count is not None, each.after.bytes - each.before.bytes), default=None
    )


def _container(holders: list[Holder]) -> Grown | None:
    gained = [(each.count or 0) - (holders[0].count or 0) for each in holders]
    if any(each.count is None for each in holders) or max(gained) <= 0:
        return None
    last = max(range(len(holders)), key=lambda number: (gained[number] > 0, holders[number].bytes, number))
    return Grown(holders[0], holders[last], gained[last] >= CLEAR_GAIN)


def _value(holders: list[Holder]) -> Grown | None:
    sizes = [each.bytes for each in holders]
    rises = sum(later > earlier for earlier, later in pairwise(sizes))
    grows = rises >= LEAST_LOOKS and sizes == sorted(sizes) and sizes[-1] >= 1.5 * sizes[0]
    return Grown(holders[0], holders[-1], True) if grows and holders[-1].count is None else None
