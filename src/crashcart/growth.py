"""How a program grew over its steps: series of measurements, what was kept by which name, and where it was made.

Covers: the frozen section of `Evidence` that the rules of `leaks/` read; plain data, as it was measured inside the program.
Does not cover: the measuring (`leaks/inside/`), or whether any of it is a leak (`trend.py` and the rules). Steps
count from 1; bytes are integers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from crashcart.frame import Frame


@dataclass(frozen=True, slots=True)
class Series:
    """One measurement over the steps."""

    name: str
    """rss, private (what belongs to the process alone, and what it shares without a file, where that is known), shmem (of
    these, the latter), data (what it has asked for, touched or not), blocks (of Python's own heap), python (bytes that
    tracemalloc follows), traces (concrete functions of all tf.functions), graphs (FuncGraphs alive), variables, models,
    layers, operations (of the default v1 graph), sessions, threads, descriptors, children, tensors or tensor_bytes"""
    unit: str
    """bytes or count"""
    steps: tuple[int, ...]
    """Ascending, as many as `values`."""
    values: tuple[int, ...]
    at_s: tuple[float, ...] = ()
    """When each was seen, in seconds from the start; empty where that is not known."""


@dataclass(frozen=True, slots=True)
class Steps:
    """What was taken as a step, and how many there were."""

    kind: str
    """marked, keras batch, tf.function call, optimizer step, session run, dataset element, loop or cell"""
    name: str
    """Words for it: batches of model.fit, calls of train_step."""
    count: int
    seconds_each: float | None = None
    frame: Frame | None = None
    """The user's own line that makes a step, where it is known."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A named container or object that was looked at several times."""

    name: str
    """As the user would write it: history, trainer.losses, closure of make_step: seen, functools cache of embed."""
    scope: str
    """The module, function or class that the name lives in."""
    kind: str
    """list, dict, ndarray, DataFrame…"""
    steps: tuple[int, ...]
    counts: tuple[int | None, ...]
    """Elements at each look; None where it has none to count."""
    sizes_bytes: tuple[int, ...]
    item: str | None = None
    """What its elements are: EagerTensor, ndarray view of a (1000, 1000) base, Model."""
    filled_at: Frame | None = None
    """The user's line that puts things in."""
    chain: tuple[str, ...] = ()
    """From the root to the container."""
    others_have: float = 0.0
    """Of its arrays, tensors and texts, the share that others refer to as well, at the last look."""


@dataclass(frozen=True, slots=True)
class Site:
    """Allocations of one line of the user's own that were made and not freed within a window."""

    frame: Frame
    count: int
    bytes: int
    steps: int
    """How many steps the window took."""


@dataclass(frozen=True, slots=True)
class Retraced:
    """A tf.function that was traced again and again."""

    name: str
    frame: Frame | None
    first: int
    """Traces when it was first looked at."""
    last: int
    steps: int
    """How many steps lay between."""
    changed: tuple[str, ...] = ()
    """What was different: argument `x`: shape (32, 10), (31, 10)."""


@dataclass(frozen=True, slots=True)
class Made:
    """Things that were made anew while the program stepped, and are still alive."""

    kind: str
    """model, tf.function, optimizer, variable, session, graph, dataset iterator, summary writer, layer or thread"""
    name: str
    frame: Frame | None
    first: int
    """How many were alive when it was first looked at."""
    last: int
    steps: int
    """How many steps lay between."""


@dataclass(frozen=True, slots=True)
class Filling:
    """A cache of tf.data that was being filled when the last step came."""

    frame: Frame | None
    """The user's line that began to go through it."""
    bytes_each: int
    """What it gets with each element of the dataset."""
    since_step: int
    """When it was first seen."""


@dataclass(frozen=True, slots=True)
class After:
    """What was seen after the last step."""

    seconds: float
    """From the last step to the end."""
    grown_bytes: int | None
    """By how much memory then was above the highest of the last quarter of the steps; None where nobody looked."""


@dataclass(frozen=True, slots=True)
class Growth:
    """All that was measured of one process."""

    pid: int
    steps: Steps | None
    """None where nothing was found that repeats; then `lacking` says why."""
    series: tuple[Series, ...] = ()
    kept: tuple[Kept, ...] = ()
    sites: tuple[Site, ...] = ()
    retraced: tuple[Retraced, ...] = ()
    made: tuple[Made, ...] = ()
    filling: tuple[Filling, ...] = ()
    limit_bytes: int | None = None
    """The memory that the process may take, where somebody knows."""
    precise: bool = False
    """Whether every allocation was followed from the first step on."""
    lacking: Mapping[str, str] = field(default_factory=dict)
    """What could not be looked at, and why: steps: the program ended after 2 steps."""
    cost_s: float | None = None
    """Seconds of the program's own time that the looks took."""
    ended_s: float | None = None
    """When the last look was taken, in seconds from the start."""
    began_unix_s: float | None = None
    """When the watch began, by the clock on the wall."""
    stepped_s: tuple[float, float] | None = None
    """When the first and the last step were seen, in seconds from the start."""
    after: After | None = None
    """What came after the steps, where there was time for anything."""
    earlier: Growth | None = None
    """The same by other steps, of a kind that had ended before these began."""
    later: Growth | None = None
    """The same by other steps, of a kind that came after these had ended."""
    others: tuple[Growth, ...] = ()
    """The same of other processes of the run that were watched, one after the other."""

    def named(self, name: str) -> Series | None:
        """The series of that name, where it was measured."""
        return next((each for each in self.series if each.name == name), None)

    def frames(self) -> Iterator[Frame]:
        """Every line that it names."""
        yield from (each.filled_at for each in self.kept if each.filled_at is not None)
        yield from (each.frame for each in self.sites)
        if self.steps is not None and self.steps.frame is not None:
            yield self.steps.frame
        yield from (each.frame for each in self.retraced if each.frame is not None)
        yield from (each.frame for each in self.made if each.frame is not None)
        yield from (each.frame for each in self.filling if each.frame is not None)
        for part in (self.earlier, self.later, *self.others):
            yield from part.frames() if part is not None else ()

    def with_frames(self, change: Callable[[Frame], Frame]) -> Growth:
        """The same with each line changed: with its source, say."""

        def changed(frame: Frame | None) -> Frame | None:
            return None if frame is None else change(frame)

        steps = self.steps
        return replace(
            self,
            steps=None if steps is None else replace(steps, frame=changed(steps.frame)),
            kept=tuple(replace(each, filled_at=changed(each.filled_at)) for each in self.kept),
            sites=tuple(replace(each, frame=change(each.frame)) for each in self.sites),
            retraced=tuple(replace(each, frame=changed(each.frame)) for each in self.retraced),
            made=tuple(replace(each, frame=changed(each.frame)) for each in self.made),
            filling=tuple(replace(each, frame=changed(each.frame)) for each in self.filling),
            earlier=None if self.earlier is None else self.earlier.with_frames(change),
            later=None if self.later is None else self.later.with_frames(change),
            others=tuple(each.with_frames(change) for each in self.others),
        )
