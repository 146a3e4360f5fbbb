"""W106 pipeline-buffers-outgrew-memory."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crashcart.evidence import (
    ChildEnd,
    Ending,
    HolderNote,
    KernelLog,
    Log,
    Machine,
    PipelineNote,
    Program,
    Sample,
    StackDump,
)
from crashcart.finding import Cause, Confidence, Finding
from crashcart.rule import Rank, rule
from crashcart.units import size
from crashcart.why._growth import Rise, final_rise
from crashcart.why._kill import dumps_of
from crashcart.why._oom import Scene
from crashcart.why._place import held_words, last_place
from crashcart.why._words import quoted, who

_ITERATOR_FILES = ("tensorflow/python/data/ops/iterator_ops.py", "tensorflow/python/ops/gen_dataset_ops.py")
_FILLING = re.compile(r"Filling up shuffle buffer")
_FILLED = re.compile(r"Shuffle buffer filled")
_SAME_ELEMENTS = frozenset(
    {"prefetch", "shuffle", "take", "skip", "repeat", "cache", "memorycache", "options", "concatenate"}
)
LARGE_SHARE = 0.3
"""A buffer that holds this share of what memory grew by is worth naming as its cause."""


@rule("W106", "pipeline-buffers-outgrew-memory", Rank.ROOT)
def pipeline_buffers_outgrew_memory(
    ending: Ending,
    samples: tuple[Sample, ...],
    program: Program | None = None,
    machine: Machine | None = None,
    kernel_log: KernelLog | None = None,
    stacks: tuple[StackDump, ...] | None = None,
    holders: tuple[HolderNote, ...] | None = None,
    children: tuple[ChildEnd, ...] | None = None,
    log: Log | None = None,
) -> Iterator[Finding]:
    """The buffers of a tf.data pipeline outgrew the memory while the program waited for its input.

    ## What it means

    `shuffle(n)` holds n elements, `cache()` all of them, `prefetch` and parallel calls several batches, each after
    decoding. They fill in the background, so memory goes up while the program's own line only waits for the next batch.

    ## How we know

    The program was killed for memory, and while memory rose the main thread waited in the dataset's iterator; or the log
    says that a shuffle buffer was being filled; or a dataset that the program held has buffers whose size, by its own
    element sizes, makes up a large part of the growth.

    ## What to do

    Shuffle before decoding (file names are small), with a smaller buffer; cache to a file (`cache("path")`) or before the
    step that makes elements large; give `prefetch` and `num_parallel_calls` small numbers.
    """
    scene = Scene(ending, program, machine, kernel_log, samples, stacks, holders, children)
    shown, rise = scene.shown(), final_rise(samples)
    if shown is None or rise is None:
        return
    pid = scene.pid()
    facts = [*_waiting(stacks, pid, rise), *_filling(log), *_arithmetic(holders, pid, rise)]
    if not facts:
        return
    chain = _chain(holders, pid)
    yield Finding(
        Cause.PIPELINE_MEMORY,
        f"{who(program)} was killed: the buffers of its tf.data pipeline outgrew the memory",
        (*facts, *((f"the pipeline: {chain}",) if chain else ()), shown[2], *scene.story(shown[0])[:1]),
        _remedies(chain),
        Confidence.LIKELY,
        last_place(stacks, pid, ending),
        held_words(holders, ending),
    )


def _waiting(stacks: tuple[StackDump, ...] | None, pid: int | None, rise: Rise) -> list[str]:
    """Most of the stacks that were seen during the rise wait for the dataset's next element."""
    seen = [dump.main_stack() or dump.current_stack() for dump in dumps_of(stacks, pid)
            if rise.start_s <= dump.at_s <= rise.end_s + 1]  # fmt: skip
    mains = [stack for stack in seen if stack is not None and stack.frames]
    waiting = [stack for stack in mains if stack.frames[-1].file.endswith(_ITERATOR_FILES)]
    if not waiting or len(waiting) * 2 <= len(mains):
        return []
    return [
        f"in {len(waiting)} of {len(mains)} looks while memory rose, the program waited for the dataset's next element"
    ]


def _filling(log: Log | None) -> list[str]:
    lines = [line.text for line in log.lines if _FILLING.search(line.text) or _FILLED.search(line.text)] if log else []
    return [quoted(lines[-1])] if lines and _FILLING.search(lines[-1]) else []


def _notes(holders: tuple[HolderNote, ...] | None, pid: int | None) -> list[PipelineNote]:
    for note in reversed(holders or ()):
        if note.pipelines and (pid is None or note.pid == pid):
            return list(note.pipelines)
    return []


def _arithmetic(holders: tuple[HolderNote, ...] | None, pid: int | None, rise: Rise) -> list[str]:
    """Buffers whose full size makes up a large part of the growth."""
    facts = []
    for note in _notes(holders, pid):
        for stage, element in zip(note.stages, _element_sizes(note), strict=True):
            if stage.name in ("shuffle", "prefetch") and stage.argument and stage.argument > 0 and element:
                full = stage.argument * element
                if full >= LARGE_SHARE * rise.grown_bytes:
                    facts.append(f"{stage.name}({stage.argument}) holds {stage.argument} elements of {size(element)}: "
                                 f"{size(full)} when full")  # fmt: skip
            if stage.name.startswith(("cache", "memorycache")) and rise.steady:
                facts.append("cache() keeps every element in memory")
    return facts[:3]


def _element_sizes(note: PipelineNote) -> list[int | None]:
    """Bytes of an element after each stage; a batch of unknown length counts as a full one."""
    sizes: list[int | None] = []
    below: int | None = None
    for stage in reversed(note.stages):
        known = stage.element_bytes
        if known is None and below is not None:
            is_batch = "batch" in stage.name and stage.argument is not None and stage.argument > 0
            known = below * (stage.argument or 1) if is_batch else below if stage.name in _SAME_ELEMENTS else None
        sizes.append(known)
        below = known
    return sizes[::-1]


def _chain(holders: tuple[HolderNote, ...] | None, pid: int | None) -> str | None:
    notes = _notes(holders, pid)
    if not notes:
        return None
    longest = max(notes, key=lambda note: len(note.stages))
    words = [stage.name + ("" if stage.argument is None else f"({'AUTOTUNE' if stage.argument < 0 else stage.argument})")
             for stage in reversed(longest.stages)]  # fmt: skip
    return " → ".join(words)


def _remedies(chain: str | None) -> tuple[str, ...]:
    found = []
    if chain is None or "shuffle" in chain:
        found.append(f"shuffle before decoding, while elements are small, and with a smaller buffer{_than(chain)}")
    if chain is None or "cache" in chain:
        found.append('cache to disk, `cache("/path/on/disk")`, or before the step that makes elements large')
    if chain is None or "prefetch" in chain or "map" in chain:
        found.append(
            "bound the rest: `prefetch(1)`, `num_parallel_calls=2`, and `tf.data.Options().autotune.ram_budget`"
        )
    return tuple(found) or ("use smaller buffers, smaller batches, and `num_parallel_calls=2`",)


def _than(chain: str | None) -> str:
    """The shuffle in use, where it is known: what is smaller depends on it."""
    used = re.search(r"shuffle\w*\(\d+\)", chain or "")
    return f" than `{used.group()}`" if used else ""
