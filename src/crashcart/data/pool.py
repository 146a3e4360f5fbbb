"""A pool of processes that check files and may die of them: chunks go in, what was learnt comes out, nothing is lost.

Covers: one process per core, begun when there is work for it; chunks of files in one message; a process that crashes,
meets its limit of memory or takes too long for one file. Such a file is checked once more, alone in a new process,
and is accused only if it does the same there; the rest of its chunk is done again. A process that was merely killed
from outside costs its work, nothing more. Nothing is repeated for ever: a chunk whose processes end between its files is
cut into single files, then given up as not checked; processes that cannot be begun end the run.
Does not cover: which files (`probe/files_found.py`), what is known of them already (`state.py`), other machines.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from crashcart.data.chunk import CHECK, find_job
from crashcart.data.deaths import Death, accused, given_up
from crashcart.data.process import GarbledError, Process
from crashcart.data.worker import Part, Settings
from crashcart.errors import StoppedError
from crashcart.probe.file_magic import by_name
from crashcart.probe.files_found import Found
from crashcart.sound import Checked, Wanted
from crashcart.survey import Restart

# One chunk being worked at and three waiting: a process never waits for us, also while we import what the report needs.
_AHEAD = 4
_LOOK_S = 0.25
# A look that comes this late means that we ourselves were stopped (Ctrl-Z, a machine asleep), and so were the processes.
_STOPPED_S = 5.0
# A process that has come to hold half of what it may is replaced, so that the next file has room.
_WORN_FRACTION = 0.5
# Processes in a row that end before they are ready: one may be killed from outside, four cannot be begun here.
_MOST_FRUITLESS = 4
# Libraries on a slow network disk take half a minute to load.
_START_S = 120.0
# Times that a chunk is given out as it is though no file of it can be named for the end of its process.
_MOST_TRIES = 2
HEAVY_BYTES = 4 << 20
"""Files of this size take longer than a process takes to start."""
# Text and tables become five to twenty times as much when they are unpacked; so do the pictures inside of records.
_UNPACKED_TIMES = 20
_PACKED = frozenset(("gzip", "zip", "npz", "tar", "parquet", "hdf5", "tfrecord"))
_MOST_RESTARTS = 20
"""Restarts that are kept by name."""


@dataclass(frozen=True)
class Limits:
    """What one file may take."""

    seconds: float = 60.0
    """Besides a second for each `slow_bytes` of its size."""
    slow_bytes: int = 4 << 20
    memory_bytes: int | None = None
    """Of one process."""

    def seconds_for(self, count_bytes: int | None, name: str = "") -> float:
        """A file of this size may take so long: a slow disk gives 4 MiB in a second. What may be packed counts as unpacked."""
        times = _UNPACKED_TIMES if by_name(name) in _PACKED else 1
        return self.seconds + times * (count_bytes or 0) / self.slow_bytes


@dataclass
class _Chunk:
    number: int
    files: Sequence[Found]
    done: int = 0
    alone: bool = False
    """Its one file was being checked when a process died."""
    death: Death | None = None
    tries: int = 0
    """Processes that ended with it, and not while they were at one of its files."""

    @property
    def heavy(self) -> bool:
        """Worth a process of its own."""
        return any((each.bytes or 0) >= HEAVY_BYTES for each in self.files)


@dataclass
class _Slot:
    """A process and what it was given."""

    process: Process
    begun_s: float = field(default_factory=time.monotonic)
    given: deque[_Chunk] = field(default_factory=deque)
    late: tuple[int, int] | None = None
    """The file that was over its time at the last look. One look is not enough: the process writes while we read."""
    worn: bool = False
    """It holds so much memory that another takes its place after its chunks."""

    def takes(self, chunk: _Chunk) -> bool:
        """Whether it may have this one, too: nothing waits behind what is long, or may be its death."""
        if not self.given:
            return not self.worn
        light = not chunk.heavy and not any(each.heavy or each.alone for each in self.given)
        return light and not self.worn and len(self.given) < _AHEAD


class Pool:
    """An executor on this machine. `submit` while it is not `full`, `wait` for what is done, `close` at the end."""

    def __init__(
        self, wanted: Wanted, workers: int, limits: Limits | None = None, job: str = CHECK, may_fork: bool = False
    ) -> None:
        """`may_fork`: this process is ours, and its processes may be copies of it."""
        self._limits = limits or Limits()
        self._settings = Settings(job, wanted, os.getpid(), self._limits.memory_bytes)
        self._workers = max(1, workers)
        self._may_fork = may_fork
        if may_fork:
            find_job(job)  # imported once, for all copies
        self._waiting: deque[_Chunk] = deque()
        self._slots: list[_Slot] = []
        self._selector = selectors.DefaultSelector()
        self._numbers = 0
        self._ready: list[Checked] = []
        self._looked_s = time.monotonic()
        self._stopped_until_s = 0.0
        self._stopped: StoppedError | None = None
        self._fruitless = 0
        self.restarts: list[Restart] = []
        self.restarted = 0
        """Processes that ended without a file being to blame for it."""

    @property
    def full(self) -> bool:
        """Whether more would only wait."""
        return len(self._waiting) + sum(len(each.given) for each in self._slots) >= self._workers * _AHEAD

    @property
    def busy(self) -> bool:
        """Whether there is anything left to wait for."""
        return bool(self._ready or self._waiting or any(each.given for each in self._slots))

    def submit(self, files: Sequence[Found]) -> None:
        """Have these files checked, in one chunk."""
        self._waiting.append(self._chunk(files))
        with self._what_is_ready_first():
            self._assign()

    def wait(self) -> list[Checked]:
        """What was learnt since the last call; waits until there is something, or for a moment."""
        if not self._ready:
            if self._stopped is not None:
                raise self._stopped
            with self._what_is_ready_first():
                self._look(_LOOK_S)
        done, self._ready = self._ready, []
        return done

    @contextlib.contextmanager
    def _what_is_ready_first(self) -> Iterator[None]:
        """Where no process can be started any more, what others have told before is handed out before that is said."""
        try:
            yield
        except StoppedError as error:
            if not self._ready:
                raise
            self._stopped = error

    def close(self) -> None:
        """End all processes. What they were at is lost, and nothing else."""
        for slot in self._slots:
            slot.process.kill()
        for slot in self._slots:
            slot.process.ended()
            slot.process.close()
        self._slots.clear()
        self._selector.close()

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _chunk(self, files: Sequence[Found], alone: bool = False, death: Death | None = None, tries: int = 0) -> _Chunk:
        self._numbers += 1
        return _Chunk(self._numbers, files, alone=alone, death=death, tries=tries)

    def _assign(self) -> None:
        """Give what waits to whoever has the least to do; begin another process while there is work and a core for
        it.
        """
        while self._waiting:
            slot = self._slot_for(self._waiting[0])
            if slot is None:
                return
            chunk = self._waiting.popleft()
            slot.given.append(chunk)
            slot.process.send((chunk.number, [each.source for each in chunk.files]))

    def _slot_for(self, chunk: _Chunk) -> _Slot | None:
        """Light chunks fill up a process before another is begun: its start takes longer than they do."""
        if chunk.alone:  # a process has just died of it, so there is room for another
            return self._begin()
        able = [each for each in self._slots if each.takes(chunk)]
        if able:
            return min(able, key=lambda slot: len(slot.given))
        return self._begin() if len(self._slots) < self._workers else None

    def _begin(self) -> _Slot:
        try:
            slot = _Slot(Process(self._settings, self._may_fork))
        except OSError as error:
            told = f"a process that checks files could not be started: {error.strerror}"
            raise StoppedError(told, "--workers 1 needs one process alone; `ulimit -u` and -n bound them.") from error
        self._slots.append(slot)
        self._selector.register(slot.process.inward, selectors.EVENT_READ, slot)
        return slot

    def _look(self, wait_s: float) -> None:
        for key, _ in self._selector.select(wait_s):
            self._hear(key.data)
        self._see_who_takes_too_long()
        for slot in list(self._slots):
            slot.process.flush()
        self._assign()

    def _hear(self, slot: _Slot) -> None:
        try:
            messages, ended = slot.process.receive()
        except GarbledError:
            slot.process.kill()
            messages, ended = [], True
        for message in messages:
            if isinstance(message, Part):
                self._take(slot, message)
        if ended:
            self._bury(slot, slot.process.ended())
        elif slot.worn and not slot.given:
            self._dismiss(slot)

    def _take(self, slot: _Slot, part: Part) -> None:
        """A process works at its chunks in the order in which it got them."""
        chunk = slot.given[0]
        assert chunk.number == part.chunk
        self._fruitless = 0
        chunk.done += len(part.checked)
        self._ready += part.checked
        if part.rss_bytes is None:
            return
        slot.given.popleft()
        if chunk.death is not None:
            self._note_restart(chunk.files[0], chunk.death)
        limit = self._limits.memory_bytes
        slot.worn = limit is not None and part.rss_bytes > limit * _WORN_FRACTION

    def _note_restart(self, found: Found | None, death: Death) -> None:
        """A process died, and the file that it was at did no harm when it was tried again."""
        self.restarted += 1
        if len(self.restarts) < _MOST_RESTARTS:
            self.restarts.append(Restart(found.source.path if found else "", death.words))

    def _see_who_takes_too_long(self) -> None:
        now_s = time.monotonic()
        if now_s - self._looked_s > _STOPPED_S:
            self._stopped_until_s = now_s
        self._looked_s = now_s
        for slot in list(self._slots):
            number, index, since_s = slot.process.at
            if number < 0 and now_s - max(slot.begun_s, self._stopped_until_s) > _START_S:
                self._end(slot, now_s - slot.begun_s)
                continue
            if index < 0 or not slot.given or slot.given[0].number != number:
                continue
            found = slot.given[0].files[index]
            allowed_s = self._limits.seconds_for(found.bytes, found.source.path)
            took_s = now_s - max(since_s, self._stopped_until_s)
            late, slot.late = slot.late, (number, index) if took_s > allowed_s else None
            if slot.late is not None and late == slot.late:
                self._end(slot, took_s)

    def _end(self, slot: _Slot, took_s: float) -> None:
        """Its time is over."""
        slot.process.kill()
        self._hear_the_last(slot)
        slot.process.ended()
        self._bury(slot, None, took_s)

    def _hear_the_last(self, slot: _Slot) -> None:
        """What it had sent before it was ended is not lost."""
        with contextlib.suppress(GarbledError):
            for message in slot.process.receive()[0]:
                if isinstance(message, Part):
                    self._take(slot, message)

    def _bury(self, slot: _Slot, code: int | None, after_s: float | None = None) -> None:
        """A process has ended: find the file that it was at, and have everything else done again."""
        number, index, _ = slot.process.at
        death = Death(code, slot.process.said(), after_s, self._limits.memory_bytes)
        self._remove(slot)
        if number < 0:
            self._count_fruitless(death)
        elif slot.given:
            slot.given[0].tries += 1
        if not any(_suspect(each, number, index) is not None for each in slot.given):
            self._note_restart(None, death)
        again = deque(chunk for each in slot.given for chunk in self._left_of(each, number, index, death))
        self._waiting.extendleft(reversed(again))
        self._assign()

    def _count_fruitless(self, death: Death) -> None:
        self._fruitless += 1
        if self._fruitless >= _MOST_FRUITLESS:
            told = f"{self._fruitless} processes in a row that check files ended before they began: {death.words}"
            raise StoppedError(told, "The same command again goes on from here; `--workers 1` takes less memory.")

    def _left_of(self, chunk: _Chunk, number: int, index: int, death: Death) -> Iterator[_Chunk]:
        """The suspect alone, first of all; then what it had not told of yet."""
        suspect = _suspect(chunk, number, index)
        if suspect is not None and chunk.alone:
            self._ready.append(accused(chunk.files[suspect], death))
            return
        if suspect is not None:
            yield self._chunk(chunk.files[suspect : suspect + 1], alone=True, death=death)
        rest = [each for at, each in enumerate(chunk.files) if at >= chunk.done and at != suspect]
        if suspect is not None or chunk.tries < _MOST_TRIES:
            if rest:
                yield self._chunk(rest, chunk.alone, chunk.death, chunk.tries if suspect is None else 0)
        elif len(chunk.files) == 1:
            self._ready += (given_up(each, death, chunk.tries) for each in rest)
        else:
            yield from (self._chunk((each,)) for each in rest)

    def _remove(self, slot: _Slot) -> None:
        self._slots.remove(slot)
        self._selector.unregister(slot.process.inward)
        slot.process.close()

    def _dismiss(self, slot: _Slot) -> None:
        slot.process.kill()
        slot.process.ended()
        self._remove(slot)


def _suspect(chunk: _Chunk, number: int, index: int) -> int | None:
    """The file of this chunk that its process was at; None where it was at none, or had told of that one."""
    return index if chunk.number == number and index >= chunk.done else None
