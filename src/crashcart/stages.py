"""A tf.data pipeline as plain data: its stages, what they are set to, and what they call for each element.

Covers: frozen types that the probe fills (`probe/tensorflow_dataset*.py`), and a few questions about a chain of stages.
Does not cover: what the stages hold (`pipeline/`), or how a dataset is read. TensorFlow is never imported here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

AUTOTUNE = -1
"""The number that tf.data takes as: find a good one while it runs."""
INFINITE = -1
"""As a cardinality; an unknown one is None."""
TOGETHER = "together"
"""The name of a root that is no stage: its inputs are datasets whose iterators are alive at the same time."""

TENSOR_SOURCES = frozenset({"tensor_slices", "tensors", "sparse_tensor_slice"})
NAMES = "string[]"
"""The spec of the names of files, which every reader of files holds as a tensor."""

LEAST_SHARE = 0.8
"""Of what is said to be held. Of 36 pipelines three held less than that share of it: they map with Python functions, or cache
batches of tens of megabytes."""
BUILT = "built"
"""The name of the row of what the process took while the dataset was built."""


@dataclass(frozen=True, slots=True)
class Element:
    """What one element takes in memory, with the blocks of the heap that it lies in."""

    bytes: int
    """On average."""
    high_bytes: int
    """The 99th percentile of those that were looked at; where the shapes are known, the same as `bytes`."""
    tensors: int = 1
    how: str = "spec"
    """spec (shapes are known), measured (real elements were looked at), or derived (from the stage's input)"""
    seen: int = 0
    """How many real elements were looked at."""
    blocks: float = 1.0
    """Blocks of the heap that it lies in."""


@dataclass(frozen=True, slots=True)
class Function:
    """What a stage calls for each element."""

    name: str
    operations: Mapping[str, int] = field(default_factory=dict)
    """How often each kind of operation is in it, functions that it calls included."""
    captured_bytes: int = 0
    """Tensors from outside that it reads."""
    scratch_bytes: int | None = None
    """What one call holds at its peak besides its arguments and its result; None where nobody could tell."""
    where: str | None = None
    """The user's own line, `train.py:12`."""
    dataset: Stage | None = None
    """The dataset that it returns, where it returns one (interleave, flat_map)."""
    constant_bytes: int = 0
    """Arrays that became part of its graph, functions that it calls included."""
    opened_bytes: int | None = None
    """Of one that returns a dataset: the tensors that this dataset holds; None where nobody could tell."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One transformation or source. Stages make a tree: `inputs` are the datasets that it reads."""

    name: str
    """As people write it: shuffle, map, parallel_map, batch, tensor_slices, tfrecord…"""
    numbers: Mapping[str, int] = field(default_factory=dict)
    """buffer_size, batch_size, num_parallel_calls, cycle_length…; AUTOTUNE is -1."""
    words: Mapping[str, str] = field(default_factory=dict)
    """filename, deterministic, compression_type…"""
    inputs: tuple[Stage, ...] = ()
    functions: tuple[Function, ...] = ()
    element: Element | None = None
    """What it gives out; None where nobody could tell."""
    cardinality: int | None = None
    """How many elements it gives out; INFINITE, or None where that is not known."""
    tensor_bytes: int = 0
    """Tensors that the stage itself holds: the arrays of tensor_slices."""
    rate_per_s: float | None = None
    """Elements in a second, where real ones were measured."""
    spec: str = ""
    """The shape of an element, in words."""

    @property
    def function(self) -> Function | None:
        """The one that it calls for each element."""
        return self.functions[0] if self.functions else None

    @property
    def input(self) -> Stage | None:
        """The dataset that it reads, where it reads one."""
        return self.inputs[0] if self.inputs else None

    @property
    def parallel_calls(self) -> int | None:
        """num_parallel_calls; AUTOTUNE is -1, and None is for a stage without."""
        return self.numbers.get("num_parallel_calls")

    def walk(self) -> Iterator[Stage]:
        """The stage, and all below it, outermost first; not those inside of functions."""
        yield self
        for each in self.inputs:
            yield from each.walk()

    def walk_all(self) -> Iterator[Stage]:
        """As `walk`, with those inside of functions."""
        yield self
        for function in self.functions:
            if function.dataset is not None:
                yield from function.dataset.walk_all()
        for each in self.inputs:
            yield from each.walk_all()

    def changed(self, change: Callable[[Stage], Stage]) -> Stage:
        """The tree with each stage changed, the lowest first; what functions hold stays."""
        return change(replace(self, inputs=tuple(each.changed(change) for each in self.inputs)))

    def tensor_sources(self) -> Iterator[Stage]:
        """Sources that hold tensors; not those inside of functions."""
        yield from (each for each in self.walk() if each.name in TENSOR_SOURCES)

    def opens_arrays(self) -> bool:
        """Whether functions open datasets of tensors that are more than names of files."""
        within = (each.dataset for stage in self.walk() for each in stage.functions if each.dataset is not None)
        return any(
            any(each.spec != NAMES for each in dataset.tensor_sources()) or dataset.opens_arrays() for dataset in within
        )


@dataclass(frozen=True, slots=True)
class Settings:
    """What the dataset's options say, with TensorFlow's own values where they say nothing."""

    autotune: bool = True
    ram_budget_bytes: int | None = None
    """As it is set; None leaves it to TensorFlow, which takes a share of the machine's memory."""
    cpu_budget: int | None = None
    initial_parallelism: int | None = None
    threads: int | None = None
    """Of a private pool."""
    deterministic: bool | None = None
    map_parallelization: bool = True
    """Whether TensorFlow makes a map parallel by itself."""
    inject_prefetch: bool = True
    """Whether TensorFlow adds a prefetch at the end by itself."""
    rewritten: bool = True
    """Whether TensorFlow writes the pipeline's graph anew before it runs."""


@dataclass(frozen=True, slots=True)
class Failure:
    """An element that could not be had."""

    stage: str
    kind: str
    """The exception's name."""
    message: str
    where: str | None = None
    """The line of the stage's function."""


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A dataset, as it was read."""

    root: Stage
    settings: Settings = field(default_factory=Settings)
    notes: tuple[str, ...] = ()
    """What could not be read or measured, in words."""
    failed: tuple[Failure, ...] = ()
    """Elements that were asked for, and raised."""
    each_settings: tuple[Settings, ...] = ()
    """Of each of several datasets that were read together; `settings` are then those of the first."""

    @property
    def parts(self) -> tuple[tuple[Stage, Settings], ...]:
        """Each dataset that was named, with its own options."""
        roots = self.root.inputs if self.root.name == TOGETHER else (self.root,)
        return tuple(zip(roots, self.each_settings or (self.settings,) * len(roots), strict=True))


@dataclass(frozen=True, slots=True)
class Ground:
    """The machine that the pipeline is to run on, as far as tf.data looks at it."""

    cores: int
    free_bytes: int | None = None
    """What the machine has free, whatever the container may have."""


@dataclass(frozen=True, slots=True)
class Held:
    """What one stage holds once its buffers are full: a row of the report."""

    label: str
    """shuffle(12000)"""
    name: str
    kind: str
    """buffer, cache, calls (results and temporaries of functions), batch (inputs and copy), reader, tensors, state, consumer,
    process"""
    bytes: int
    high_bytes: int
    element_bytes: int | None = None
    count: int | None = None
    depth: int = 0
    """How many interleaves it is inside of."""
    note: str | None = None
    low_bytes: int | None = None
    """What it holds at the least, where `bytes` is only what it may come to: if all elements of unique() differ, if a dataset
    of unknown length has enough to fill the buffer. No kill is certain because of the rest."""


@dataclass(frozen=True, slots=True)
class Change:
    """A changed pipeline, estimated in the same way."""

    how: str
    """What to type."""
    held_bytes: int
    high_bytes: int
    note: str | None = None
    """What it costs, or why it is smaller."""


@dataclass(frozen=True, slots=True)
class PipelineMemory:
    """What a pipeline holds, and the memory there is for it."""

    pipeline: Pipeline
    rows: tuple[Held, ...]
    """Outermost stage first; what was built before is the last."""
    held_bytes: int
    """What the process grows by from before the dataset is built, with a slow consumer and all buffers full: all rows."""
    high_bytes: int
    """The same with autotune's largest values, the largest elements and the heap's slack."""
    built_bytes: int | None = None
    """Of it, what the process grows by before the iterator is made, while the dataset is built: arrays, and tensors of them."""
    unknown: tuple[str, ...] = ()
    """Stages whose share is not known, and is not in the figures: a lower bound then."""
    available_bytes: int | None = None
    available_in: str | None = None
    """container, machine or given"""
    ground: Ground = field(default_factory=lambda: Ground(1))
    fill_s: float | None = None
    """After how long the memory there is is used up, by measured rates; where it suffices, until the buffers are full."""
    steps: int | None = None
    """Batches in an epoch that were asked for."""
    epochs: int | None = None
    seconds: float | None = None
    """What the estimate took."""
    endless: str | None = None
    """A stage that keeps more and more, without an end: a cache of an endless dataset."""
    died: str | None = None
    """What was being done when one element alone took all the memory that is free here, and the process that looked was ended."""
    changes: tuple[Change, ...] = ()
    assumed: tuple[str, ...] = ()

    @property
    def grown_bytes(self) -> int:
        """Without what was built before: the growth over the moment before the iterator is made."""
        return self.held_bytes - (self.built_bytes or 0)

    @property
    def low_bytes(self) -> int:
        """What is held at the least."""
        unsure = sum(each.bytes - each.low_bytes for each in self.rows if each.low_bytes is not None)
        return int(LEAST_SHARE * (self.grown_bytes - unsure)) + (self.built_bytes or 0)

    @property
    def fits(self) -> bool | None:
        """Whether even the upper figure fits, or not even the lower one does; None where that is not known, or lies between."""
        if self.died is not None or self.endless is not None:
            return False
        if self.available_bytes is None:
            return None
        if self.low_bytes > self.available_bytes:
            return False
        return True if self.high_bytes <= self.available_bytes and not self.unknown else None

    @property
    def room_for(self) -> int | None:
        """How many elements of the largest stage there is memory for, where nobody knows how many will come."""
        row = self.largest
        if row is None or row.low_bytes is None or self.available_bytes is None or not row.count:
            return None
        if row.name == "unique" or row.low_bytes >= row.bytes or self.held_bytes <= self.available_bytes:
            return None
        return max(0, (self.available_bytes - (self.held_bytes - row.bytes)) * row.count // row.bytes)

    @property
    def largest(self) -> Held | None:
        """The stage that holds most."""
        return max(self.rows, key=lambda each: each.bytes, default=None)
