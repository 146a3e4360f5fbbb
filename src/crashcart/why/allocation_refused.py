"""W103 allocation-refused."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crashcart.evidence import Ending, ErrorRecord, Event, Log, Machine
from crashcart.finding import Cause, Finding
from crashcart.rule import Rank, rule
from crashcart.units import size
from crashcart.why._figures import allocated_shape, requested_bytes, type_named
from crashcart.why._guarded import guard_message
from crashcart.why._said import Kind
from crashcart.why._statement import Statement, conclude
from crashcart.why._text import stated

_PAGING = re.compile(
    r"WinError 1455|paging file|页面文件|archivo de paginación|fichier de pagination|Auslagerungsdatei", re.IGNORECASE
)


@rule("W103", "allocation-refused", Rank.KIND)
def allocation_refused(
    errors: tuple[ErrorRecord, ...],
    log: Log | None = None,
    ending: Ending | None = None,
    machine: Machine | None = None,
    events: tuple[Event, ...] | None = None,
) -> Iterator[Finding]:
    """The program asked for more host memory than it could get, and was told so.

    ## What it means

    An allocation in RAM was refused: Python raised MemoryError, NumPy "Unable to allocate", TensorFlow an OOM on
    `device:CPU`, C++ `std::bad_alloc`. The graphics card has no part in it, even where the exception has the same name.

    ## How we know

    The message states it, and names the allocator `cpu` or `mklcpu` where TensorFlow speaks. If an address-space or
    data limit (ulimit -v, -d) is set for the process, that limit refused, not the machine.

    ## What to do

    Make the array or the batch on the named line smaller, use a smaller type, or read the data in pieces. If the sizes
    are modest, the memory was already full: look for what grew before.
    """
    if any(guard_message(error, events) is not None for error in errors if error.thread is None):
        return  # crashcart's own: guard-stepped-in tells it, with its figures
    for statement in stated(Kind.HOST_MEMORY, errors, log, ending):
        limit = _process_limit(machine)
        facts = [*_request_facts(statement.words), *_machine_facts(machine)]
        if limit:
            facts.append(f"the limit of this process on {limit[0]} is {size(limit[1])}")
        yield conclude(
            statement,
            _headline(statement, limit),
            tuple(_remedy(statement.words, limit, machine)),
            *facts,
            cause=Cause.PROCESS_LIMIT if limit else None,
        )


def _process_limit(machine: Machine | None) -> tuple[str, int] | None:
    rlimits = (machine.rlimits or {}) if machine else {}
    for name, words in (("as", "address space (ulimit -v)"), ("data", "data (ulimit -d)")):
        value = rlimits.get(name)
        if value is not None:
            return words, value
    return None


def _headline(statement: Statement, limit: tuple[str, int] | None) -> str:
    asked = requested_bytes(statement.words)
    what = f"an allocation of {size(asked)}" if asked else "an allocation"
    shape, name = allocated_shape(statement.words), type_named(statement.words)
    thing = f" (shape {list(shape)}{', ' + name if name else ''})" if shape else ""
    if limit:
        return f"{what} in host memory was refused{thing}: the process may use {size(limit[1])} of {limit[0]}"
    return f"{what} in host memory (RAM) was refused{thing}"


def _request_facts(words: str) -> Iterator[str]:
    asked, shape = requested_bytes(words), allocated_shape(words)
    if asked and shape and len(shape) > 1:
        each = size(asked // max(shape[0], 1))
        yield f"{size(asked)} for shape {list(shape)}: {each} for each of the {shape[0]} rows"


def _machine_facts(machine: Machine | None) -> Iterator[str]:
    limit = machine.memory_limit() if machine else None
    if limit:
        yield f"the tightest memory limit is {size(limit.bytes)} ({limit.kind}, {limit.source})"
    elif machine and machine.ram_bytes:
        yield f"the machine has {size(machine.ram_bytes)} of RAM"


def _remedy(words: str, limit: tuple[str, int] | None, machine: Machine | None) -> Iterator[str]:
    asked, shape = requested_bytes(words), allocated_shape(words)
    if _PAGING.search(words):
        yield (
            'enlarge the paging file: Windows\' System → Advanced → Performance → Virtual memory, "system managed" on a disk with'
            " room; each process that loads the CUDA libraries takes gigabytes of it"
        )
        yield "use fewer processes: num_workers=0 or 2 in the DataLoader, fewer environments or notebooks at once"
    if "node running low on memory" in words:
        yield "run fewer tasks at once (num_cpus per task, fewer parallel trials), or give each less: the node's memory is shared"
    whole = machine.memory_limit() if machine else None
    bound = limit[1] if limit else whole.bytes if whole else None
    beyond = asked is not None and bound is not None and asked > 2 * bound
    if limit and not beyond:
        yield f"raise or remove the limit on {limit[0]} in the shell or job that starts the program"
    if shape and len(shape) > 1 and shape[0] > 1:
        if beyond and asked and bound:
            yield from _in_blocks(shape, asked, bound)
        else:
            yield f"make the first dimension smaller: {shape[0]} → {shape[0] // 2} (batch size) halves this allocation"
    if type_named(words) in ("double", "float64") and not beyond:
        yield "use float32 instead of float64: half the RAM"
    yield (
        "use less memory at once: a smaller batch, the data in chunks (a generator, tf.data, np.load(..., mmap_mode='r')) instead"
        " of whole"
    )
    if not beyond:
        yield (
            "if the size is modest, RAM was full already: look for what grows in the loop (a leak: lists of tensors,"
            " models rebuilt in each step)"
        )


def _in_blocks(shape: tuple[int, ...], asked: int, bound: int) -> Iterator[str]:
    """Something several times larger than the memory is not helped by halves."""
    rows = shape[0] * bound // (4 * asked)
    if rows >= 1:
        yield f"it never fits here as a whole: work on blocks of at most {rows} of the {shape[0]} rows"
    if len(shape) == 2 and shape[0] == shape[1]:
        yield "a full matrix of all pairs is seldom needed: scipy.sparse, nearest neighbours, or a sample of the pairs"
    yield "check the size itself: a product of two lengths, or a wrong unit, makes such a number"
