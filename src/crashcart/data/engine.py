"""The way of the files: found, looked up in the state, cut into chunks, checked by an executor, recorded, and handed
on.

Covers: `check_files`, with bounded memory whatever the number of files: it draws from `found` only what the executor
takes.
Does not cover: the executors. `Pool` (`pool.py`) is the one of this machine.

Another engine plugs in as an `Executor`: `submit` gets a chunk of found files and sends their sources, with what is
wanted, to `chunk.check_chunk` wherever it likes; `wait` hands back what was learnt, in any order. The state drops
what comes twice and lists what never came, so that an executor may repeat a chunk that it has lost. The fold over the
results is a `Tally`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Protocol

from crashcart.data.pool import HEAVY_BYTES
from crashcart.data.state import State
from crashcart.probe.files_found import Found
from crashcart.sound import Checked

# Files in one message: at 30 µs for the smallest, a message for 64 costs each file next to nothing.
CHUNK_FILES = 64
# Names in one message: two of them must fit into a pipe (64 KiB) beside what pickle adds.
_CHUNK_NAME_CHARS = 12_000
# Files looked up in the state, and recorded there, at once.
_BATCH_FILES = 512


class Executor(Protocol):
    """Whoever has chunks checked."""

    @property
    def full(self) -> bool:
        """Whether more would only wait."""

    @property
    def busy(self) -> bool:
        """Whether there is anything left to wait for."""

    def submit(self, files: Sequence[Found]) -> None:
        """Have a chunk of files checked."""

    def wait(self) -> list[Checked]:
        """What was learnt since the last call; waits until there is something, or for a moment."""


def check_files(found: Iterable[Found], state: State, executor: Executor) -> Iterator[Checked]:
    """What was learnt of each file, once, in the order in which it is known. Whatever was handed on has been
    recorded.
    """
    files = iter(found)
    while batch := list(islice(files, _BATCH_FILES)):
        unknown, known = state.claim(batch)
        yield from known
        for chunk in chunks(unknown):
            while executor.full:
                yield from state.record(executor.wait())
            executor.submit(chunk)
    while executor.busy:
        yield from state.record(executor.wait())


def chunks(files: Iterable[Found]) -> Iterator[list[Found]]:
    """Chunks that are worth a message, and not worth a wait."""
    chunk: list[Found] = []
    chars = count_bytes = 0
    for each in files:
        chunk.append(each)
        chars += len(each.source.path)
        count_bytes += each.bytes or 0
        if len(chunk) >= CHUNK_FILES or chars >= _CHUNK_NAME_CHARS or count_bytes >= HEAVY_BYTES:
            yield chunk
            chunk, chars, count_bytes = [], 0, 0
    if chunk:
        yield chunk
