"""The stages of a dataset, and the buffers that each of them has.

Covers: what a stage may hold at most, as TensorFlow runs it: with the parallel calls that it adds by itself, copies
while a batch is put together, and inputs of calls in flight. Does not cover: who gets how much (`bounded_plan`),
functions that make datasets (`bounded_inner`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from crashcart.pipeline._shared import KEEPS_NOTHING, READERS
from crashcart.pipeline.bounded_functions import is_generator, is_stateless
from crashcart.pipeline.bounded_inner import as_inner, inner_dataset, makes_datasets, opens_files_only, variant_bytes
from crashcart.pipeline.bounded_plan import Buffer, Part
from crashcart.pipeline.bounded_sizes import ElementSize, Sizes
from crashcart.pipeline.estimate import STATES
from crashcart.pipeline.estimate_functions import replaced
from crashcart.probe.tensorflow_dataset import datasets, name_of
from crashcart.probe.tensorflow_dataset_rebuild import (
    AUTOTUNE,
    can_rebuild,
    inputs,
    is_symbolic,
    kind,
    number,
    unwrapped,
)
from crashcart.probe.tensorflow_dataset_spec import element_bytes, element_of_spec

PREFETCH_AUTOTUNED = 8
"""What replaces prefetch(AUTOTUNE): its buffer doubles whenever the consumer waits, so that a slow source makes it large."""
OPEN_FILE_BYTES = 1 << 20
"""An open file of a reader: TFRecordDataset reads ahead 256 KiB of a local file and more of a remote one."""
CALLS_AHEAD = 16
"""Calls in flight of a map that TensorFlow would tune, where elements are small: it begins with as many. With one call for each
core, threads wait for each other longer than they work: small records took 1.8 times as long to parse (2 cores)."""
CALLS_AHEAD_BYTES = 4 << 20
"""What all of these may hold; elements that are larger take long enough to make."""
CONSUMER_ELEMENTS = 2
"""The loop that reads holds the last element while it takes the next one."""


@dataclass(slots=True)
class Node:
    """One stage with what is before it."""

    number: int
    stage: Any
    before: list[Node]
    times: int = 1
    """How often it runs at once: several where several stages read it."""
    epochs: int | None = 1
    """How often a repeat right behind it asks for its elements; None for without end."""
    told: int | None = None
    """How many elements it gives, where a stage behind it says so."""
    notes: list[str] = field(default_factory=list)
    unbounded: list[str] = field(default_factory=list)
    """What it may hold besides all that is counted, in words: no budget can be promised for it."""

    @property
    def kind(self) -> str:
        """The class of the stage."""
        return kind(self.stage)


def read(dataset: Any) -> list[Node]:
    """All stages, inputs first; the last one is the dataset's own."""
    nodes: list[Node] = []
    known: dict[int, Node] = {}

    def visit(stage: Any) -> Node:
        stage = unwrapped(stage)
        if id(stage) in known:
            known[id(stage)].times += 1
            return known[id(stage)]
        before = [visit(each) for each in inputs(stage)]
        node = known[id(stage)] = Node(len(nodes), stage, before)
        if node.kind == "_RepeatDataset":
            count = number(stage._count)
            before[0].epochs = None if count is None or count < 0 else count
        if node.kind == "_AssertCardinalityDataset":
            before[0].told = number(stage._expected_cardinality)
        nodes.append(node)
        return node

    visit(dataset)
    return nodes


def cores() -> int:
    """The cores that this process may use: what TensorFlow takes for AUTOTUNE."""
    return len(os.sched_getaffinity(0))


def words(node: Node) -> str:
    """A stage as its author wrote it, near enough: `shuffle(12000)`, `map(decode)`."""
    stage = node.stage
    shown = {
        "_ShuffleDataset": ("shuffle", "_buffer_size"),
        "_PrefetchDataset": ("prefetch", "_buffer_size"),
        "_BatchDataset": ("batch", "_batch_size"),
        "_ParallelBatchDataset": ("batch", "_batch_size"),
        "_PaddedBatchDataset": ("padded_batch", "_batch_size"),
        "_WindowDataset": ("window", "_size"),
        "_InterleaveDataset": ("interleave", "_cycle_length"),
        "_ParallelInterleaveDataset": ("interleave", "_cycle_length"),
        "ParallelInterleaveDataset": ("interleave", "_cycle_length"),
        "CacheDataset": ("cache", None),
        "TFRecordDatasetV2": ("TFRecordDataset", None),
        "TextLineDatasetV2": ("TextLineDataset", None),
        "_TensorSliceDataset": ("from_tensor_slices", None),
    }
    if node.kind in shown:
        name, attribute = shown[node.kind]
        count = number(getattr(stage, attribute)) if attribute else None
        return f"{name}({'AUTOTUNE' if count == AUTOTUNE else '' if count is None else count})"
    name = node.kind.strip("_").removesuffix("V2").removesuffix("Dataset")
    name = "map" if name in ("Map", "ParallelMap") else "".join(f"_{c.lower()}" if c.isupper() else c for c in name)
    function = _function_name(stage)
    return f"{name.strip('_')}({function or ''})"


def _function_name(stage: Any) -> str | None:
    wrapper = getattr(stage, "_map_func", None) or getattr(stage, "_predicate", None)
    function = getattr(wrapper, "_func", None)
    name = getattr(function, "__name__", None)
    return None if name in (None, "<lambda>", "wrapped_fn") else str(name)


def buffers_of(nodes: list[Node], sizes: Sizes) -> Iterator[Buffer]:
    """What all the stages hold, each at the counts that were asked for."""
    for node in nodes:
        made = _BUFFERS.get(node.kind)
        if made is not None:
            yield from made(node, sizes)
        if makes_datasets(node.stage):
            yield from _inside(node, sizes)
        if not can_rebuild(node.stage) and list(node.stage._inputs()) and not _is_plain(node.stage):
            node.unbounded.append(f"{words(node)}, which is not known here: it is left as it is, with all before it")
        elif made is None and not _keeps_nothing(node.stage):
            node.unbounded.append(f"{words(node)}, which is not known here")
    last = nodes[-1]
    held = element(last, sizes)
    yield Buffer(
        (last.number, "consumer"), "the loop that reads", Part.FIXED, CONSUMER_ELEMENTS, CONSUMER_ELEMENTS, held.bytes
    )


def _keeps_nothing(stage: Any) -> bool:
    """Whether it holds no more than an element, or is a reader's open file; makers of datasets are counted by what they open."""
    return makes_datasets(stage) or is_generator(stage) or name_of(stage) in KEEPS_NOTHING | READERS


def _is_plain(stage: Any) -> bool:
    """Whether neither it nor anything before it holds more than an element or an open file."""
    return all(
        name_of(each) in KEEPS_NOTHING | READERS and (not makes_datasets(each) or opens_files_only(each))
        for each in datasets(stage)
    )


def element(node: Node, sizes: Sizes) -> ElementSize:
    """The size of a stage's elements; nothing, and a note, where no element could be had."""
    found = sizes.of(node.stage)
    if found is None:
        node.notes.append(f"no element of {words(node)} could be read to see how large it is: taken as empty")
        return ElementSize(0, True)
    return found


def _buffer(
    node: Node, name: str, part: Part, wanted: int | None, least: int, size: ElementSize, **more: Any
) -> Buffer:
    each = size.bytes * node.times
    return Buffer((node.number, name), words(node), part, wanted, least, each, measured=size.measured, **more)


def _shuffle(node: Node, sizes: Sizes) -> Iterator[Buffer]:
    """TensorFlow joins it with a repeat right behind it: it then fills up with elements of the next epochs."""
    asked, there = number(node.stage._buffer_size), _count(node.before[0])
    known = there * node.epochs if there is not None and there >= 0 and node.epochs is not None else None
    wanted = known if asked is None or asked < 0 else asked if known is None else min(asked, known)
    found = element(node, sizes)
    kept = ElementSize(max(0, found.bytes - _shared_bytes(node.before[0])), found.measured)
    yield _buffer(node, "_buffer_size", Part.SHUFFLE, wanted if wanted else 1, 1, kept)


def _shared_bytes(node: Node) -> int:
    """What an element does not hold by itself, as it lies in the source's tensor: rows of whole cache lines are not copied."""
    while node.kind in ("_OptionsDataset", "_RepeatDataset", "_TakeDataset", "_SkipDataset", "_ShardDataset"):
        node = node.before[0]
    if node.kind != "_TensorSliceDataset":
        return 0
    rows = [(each.shape[1:].num_elements() or 0) * each.dtype.size for each in node.stage._tensors]
    return sum(
        row for row, each in zip(rows, node.stage._tensors, strict=True) if row % 64 == 0 and each.dtype != "string"
    )


def _prefetch(node: Node, sizes: Sizes) -> Iterator[Buffer]:
    asked = number(node.stage._buffer_size)
    wanted = PREFETCH_AUTOTUNED if asked is None or asked < 0 else asked
    auto = asked is None or asked < 0
    yield _buffer(node, "_buffer_size", Part.AHEAD, wanted, min(1, wanted), element(node, sizes), autotuned=auto)


def _call(node: Node, sizes: Sizes) -> ElementSize:
    """A call in flight: its input, its result, and as much again for what it makes on the way."""
    out, into = element(node, sizes), element(node.before[0], sizes)
    return ElementSize(into.bytes + 2 * out.bytes, out.measured or into.measured)


def _parallel_map(node: Node, sizes: Sizes) -> Iterator[Buffer]:
    asked, call = number(node.stage._num_parallel_calls), _call(node, sizes)
    auto = asked is None or asked < 0
    wanted = _calls(call) if asked is None or asked < 0 else asked
    yield _buffer(node, "_num_parallel_calls", Part.CALLS, wanted, 1, call, autotuned=auto)


def _calls(call: ElementSize) -> int:
    """One for each core, and more where that takes next to no memory."""
    cheap = CALLS_AHEAD_BYTES // call.bytes if call.bytes else CALLS_AHEAD
    return max(cores(), min(CALLS_AHEAD, cheap))


def _map(node: Node, sizes: Sizes) -> Iterator[Buffer]:
    """TensorFlow makes a map without state parallel by itself, unless it is told to be synchronous."""
    if is_stateless(node.stage._map_func) and not node.stage._force_synchronous:
        call = _call(node, sizes)
        yield _buffer(node, "_num_parallel_calls", Part.CALLS, _calls(call), 1, call)
    else:
        yield _buffer(node, "call", Part.FIXED, 1, 1, _call(node, sizes))


def _batch(node: Node, sizes: Sizes) -> Iterator[Buffer]:
    """A batch and the elements that it is put together from; TensorFlow makes several at once."""
    out = element(node, sizes)
    both = ElementSize(2 * out.bytes, out.measured)
    if node.kind in ("_PaddedBatchDataset", "_DenseToSparseBatchDataset"):
        yield _buffer(node, "_batch_size", Part.FIXED, 1, 1, both)
        return
    asked = number(node.stage._num_parallel_calls) if node.kind == "_ParallelBatchDataset" else None
    wanted = cores() if asked is None or asked < 0 else asked
    yield _buffer(node, "_num_parallel_calls", Part.CALLS, wanted, 1, both)


def _interleave(node: Node, sizes: Sizes) -> Iterator[Buffer]:
    """Each open input holds its file, and for a parallel one a few results; those after the cycle are opened ahead."""
    out = element(node, sizes)
    cycle = number(node.stage._cycle_length)
    cycle = cores() if cycle is None or cycle < 0 else cycle
    if node.kind == "_InterleaveDataset":
        yield _buffer(node, "_cycle_length", Part.FIXED, cycle, cycle, ElementSize(OPEN_FILE_BYTES + out.bytes))
        return
    block = number(node.stage._block_length) or 1
    asked = number(node.stage._buffer_output_elements)
    results = 2 * block if asked is None or asked < 0 else asked
    ahead = number(node.stage._prefetch_input_elements)
    ahead = 2 * cycle if ahead is None or ahead < 0 else ahead
    ahead = (
        0 if makes_datasets(node.stage) and _has_buffers(node) else ahead
    )  # each input opened ahead fills the buffers inside it
    one = ElementSize(OPEN_FILE_BYTES + out.bytes * min(results, 1), out.measured)
    yield _buffer(node, "_cycle_length", Part.FIXED, cycle, cycle, one)
    more = ElementSize(one.bytes + (sizes.opened(node.stage) or 0), one.measured)
    yield _buffer(node, "_prefetch_input_elements", Part.AHEAD, ahead, 0, more)
    more = ElementSize(out.bytes * cycle, out.measured)
    yield _buffer(node, "_buffer_output_elements", Part.AHEAD, max(1, results), 1, more)
    yield from _interleave_calls(node, cycle)


def _interleave_calls(node: Node, cycle: int) -> Iterator[Buffer]:
    """Threads that fetch: what they hold is counted by input. AUTOTUNE would begin with one in each epoch, and grow slowly."""
    asked = number(node.stage._num_parallel_calls) if node.kind == "_ParallelInterleaveDataset" else None
    if asked is not None and asked < 0:
        calls = min(cycle, cores())
        yield _buffer(node, "_num_parallel_calls", Part.CALLS, calls, calls, ElementSize(0), autotuned=True)


def _has_buffers(node: Node) -> bool:
    inner = None if is_symbolic(node.stage) else inner_dataset(node.stage)
    return inner is not None and any(each.kind in _BUFFERS for each in read(inner))


def _count(node: Node) -> int | None:
    return None if is_symbolic(node.stage) else number(node.stage.cardinality())


def _inside(node: Node, sizes: Sizes) -> Iterator[Buffer]:
    """What the datasets hold that a function makes, for each of those that are open at once."""
    inner = None if is_symbolic(node.stage) else inner_dataset(node.stage)
    if inner is None:
        if not opens_files_only(node.stage):
            node.unbounded.append(f"{words(node)}, whose function was not looked into")
        return
    cycle = 1 if node.kind == "_FlatMapDataset" else number(node.stage._cycle_length)
    times = cores() if cycle is None or cycle < 0 else cycle
    yield from _tensors(node, sizes, times)
    nodes = read(inner)
    for each in buffers_of(nodes, Sizes(element(node, sizes))):
        found = as_inner(each, node.number, times)
        if found is not None:
            yield found
    node.unbounded += [f"inside {words(node)}: {each}" for one in nodes for each in one.unbounded]


def _tensors(node: Node, sizes: Sizes, times: int) -> Iterator[Buffer]:
    """Tensors of the datasets that a function opens: those that are open, and those whose elements are still in use."""
    held = sizes.opened(node.stage)
    if held is None:
        node.unbounded.append(f"the tensors that the function of {words(node)} opens: nobody knows how large they are")
    elif held:
        count = times + replaced(node.kind == "_ParallelInterleaveDataset", times)
        yield _buffer(node, "tensors that it opens", Part.FIXED, count, count, ElementSize(held, True))


def _scan(node: Node, sizes: Sizes) -> Iterator[Buffer]:
    """Its state, in as many copies as TensorFlow has of it."""
    stage = node.stage
    if is_symbolic(stage) or element_of_spec(stage._state_structure) is None:
        node.unbounded.append(f"{words(node)}, whose state has no known size")
        return
    yield _buffer(node, "state", Part.FIXED, STATES, STATES, ElementSize(element_bytes(stage._initial_state)[0]))


def _cache(node: Node, sizes: Sizes) -> Iterator[Buffer]:
    from tensorflow import get_static_value

    if get_static_value(node.stage._filename):
        return
    count = _count(node.before[0])
    wanted = count if count is not None and count >= 0 else None
    found = element(node, sizes)
    yield _buffer(node, "_filename", Part.CACHE, wanted, 0, found, steps=(wanted,) if wanted else ())


def _window(node: Node, sizes: Sizes) -> Iterator[Buffer]:
    count = number(node.stage._size) or 1
    yield _buffer(node, "_size", Part.FIXED, count, count, element(node.before[0], sizes))


def _unbatch(node: Node, sizes: Sizes) -> Iterator[Buffer]:
    yield _buffer(node, "input", Part.FIXED, 1, 1, element(node.before[0], sizes))


def _grouped(node: Node, sizes: Sizes) -> Iterator[Buffer]:
    """One window for each key, and nobody knows how many keys there are."""
    node.unbounded.append(f"{words(node)}, which keeps a window for each key: nobody knows how many keys there are")
    yield _buffer(node, "windows", Part.FIXED, 2, 2, element(node, sizes))


def _unique(node: Node, sizes: Sizes) -> Iterator[Buffer]:
    """All elements that came so far, as each of them may be different."""
    counts = (node.told, _count(node), _count(node.before[0]))
    whole = next((each for each in counts if each is not None and each >= 0), None)
    if whole is None:
        node.unbounded.append(f"{words(node)}, which keeps each different element: nobody knows how many there are")
    else:
        yield _buffer(node, "elements", Part.FIXED, whole, whole, element(node, sizes))


def _variant(node: Node, sizes: Sizes) -> Iterator[Buffer]:
    """A dataset that is only a tensor; as the argument of a function a window, which is counted where it is made."""
    if is_symbolic(node.stage):
        return
    held = variant_bytes(node.stage, cores())
    if held is None:
        node.unbounded.append(f"{words(node)}, which is not known here")
    else:
        yield _buffer(node, "inside", Part.FIXED, 1, 1, ElementSize(held))


_BUFFERS: dict[str, Callable[[Node, Sizes], Iterator[Buffer]]] = {
    "_ShuffleDataset": _shuffle,
    "_PrefetchDataset": _prefetch,
    "_ParallelMapDataset": _parallel_map,
    "_MapDataset": _map,
    "_BatchDataset": _batch,
    "_ParallelBatchDataset": _batch,
    "_PaddedBatchDataset": _batch,
    "_InterleaveDataset": _interleave,
    "_ParallelInterleaveDataset": _interleave,
    "ParallelInterleaveDataset": _interleave,
    "CacheDataset": _cache,
    "_WindowDataset": _window,
    "_UnbatchDataset": _unbatch,
    "_RebatchDataset": _unbatch,
    "_DenseToSparseBatchDataset": _batch,
    "_ParseExampleDataset": _parallel_map,
    "_UniqueDataset": _unique,
    "_ScanDataset": _scan,
    "_VariantDataset": _variant,
    "_GroupByWindowDataset": _grouped,
}
