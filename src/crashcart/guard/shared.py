"""The file that the guard and the airbag in every guarded process share: the budget, the counters, the refusals.

Covers: reading and writing its words. Every word is aligned, so a single store or load moves it whole; only the airbag
changes the words that several processes count in.
Does not cover: where the file lies (`file.py`), what the figures should be (`policy.py`). The layout is that of
`airbag/airbag.h`, and of the guard's module inside for what is asked of it:

       0  char[8]  magic "CCGUARD"           72  u64  airbag_python_bytes: served so far to the interpreter itself
       8  u32      version, 2                80  u64  airbag_served_bytes: served so far
      12  u32      on                        88  u64  refused_count
      16  i64      left: the budget word     96  16 refusals of 64 bytes
      24  i64      beat_ns: when it was set 1152  u64  raised_count: exceptions raised by the guard's module inside
      32  u32      squeeze                 1160  i64  dense_below: with less left, large blocks are touched at once
      40  u64      bound_bytes             1176  i64  cushion: what native code's large blocks must leave
      48  u64      floor_bytes             1184  u64  seen_request: by the guard's module inside
      56  u32      slots_given so far      1192  u64  ceiling_bytes: asked for by the program while it ran, or 0
      60  u32      slot_top                4096  the airbag's directory
                                           8192  facts about the limit, 1 KiB
                                          16384  16 requests to processes, 1 KiB of facts each
                                          32768  512 processes of 64 bytes (`slots.py`)
"""

from __future__ import annotations

import mmap
import os
import struct
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from crashcart.guard import file
from crashcart.guard.inside._crashcart_guard import CEILING, FACTS_BYTES, MOST_REQUESTS, REQUESTS
from crashcart.guard.inside._crashcart_words import LIMIT_FACTS
from crashcart.guard.slots import Guarded, Slots, processes_in

MAGIC = b"CCGUARD\0"
VERSION = 2
FILE_BYTES = 64 * 1024
NO_LIMIT = 2**62

_ON, _SQUEEZE = 12, 32
_LEFT, _BEAT, _BOUND, _FLOOR, _PYTHON, _SERVED, _REFUSED = 16, 24, 40, 48, 72, 80, 88
_REFUSALS, _REFUSAL_BYTES, _MOST_REFUSALS = 96, 64, 16
_RAISED, _DENSE, _CUSHION, _SEEN = 1152, 1160, 1176, 1184
_DIRECTORY, _DIRECTORY_BYTES = 4096, 4096
_REFUSAL = struct.Struct("<Qqqqii24s")


@dataclass(frozen=True, slots=True)
class Refusal:
    """An allocation that the airbag refused."""

    number: int
    size_bytes: int
    left_bytes: int
    monotonic_ns: int
    pid: int
    tid: int
    who: str
    """The library that asked."""


def read_processes(path: Path) -> tuple[Guarded, ...]:
    """The processes of a run that is guarded, from its shared file; none where that is not there or not ours."""
    try:
        content = path.read_bytes()
    except OSError:
        return ()
    sound = content.startswith(MAGIC) and len(content) == FILE_BYTES
    return tuple(processes_in(content).values()) if sound else ()


class Shared:
    """The guard's side of the file."""

    def __init__(
        self, folder: Path, directory: str, bound_bytes: int, floor_bytes: int, memory: Path = file.MEMORY
    ) -> None:
        self._file = file.make(folder, FILE_BYTES, memory)
        try:
            self._map = mmap.mmap(self._file.handle, FILE_BYTES)
        except (OSError, ValueError):
            self._file.remove()
            raise
        self.slots = Slots(self._map)
        self._view = memoryview(self._map)
        self._words = self._view.cast("q")
        self._halves = self._view.cast("I")
        self._words[_BOUND // 8], self._words[_FLOOR // 8] = bound_bytes, floor_bytes
        self._words[_LEFT // 8] = NO_LIMIT
        place = os.fsencode(directory)
        self._map[_DIRECTORY : _DIRECTORY + len(place)] = place
        self._halves[2] = VERSION
        self._map[: len(MAGIC)] = MAGIC
        self.switch(True)

    def switch(self, on: bool) -> None:
        """On or off, for all processes at once."""
        self._halves[_ON // 4] = int(on)
        self._beat()

    def set_left(self, left_bytes: int, net_bytes_then: int) -> None:
        """Set the budget, less what was given out since the figure was taken. What was freed since may be in the figure
        already, since the memory goes back before it is counted."""
        self._words[_LEFT // 8] = left_bytes - max(0, self.slots.net_bytes - net_bytes_then)
        self._beat()

    def squeeze(self, on: bool) -> None:
        """Whether small blocks go to the airbag, too."""
        self._halves[_SQUEEZE // 4] = int(on)

    def _beat(self) -> None:
        self._words[_BEAT // 8] = time.monotonic_ns()

    def set_marks(self, dense_below_bytes: int, cushion_bytes: int) -> None:
        """With less left than the first, large blocks are touched at once; native code's must leave the second."""
        self._words[_DENSE // 8], self._words[_CUSHION // 8] = dense_below_bytes, cushion_bytes

    def write_limit(self, facts: Mapping[str, object]) -> None:
        """What a refusal is explained with."""
        self._write_facts(LIMIT_FACTS, time.monotonic_ns(), facts)

    def write_request(self, number: int, facts: Mapping[str, object]) -> None:
        """A request, counted from 1; the last ones stay readable."""
        self._write_facts(REQUESTS + (number - 1) % MOST_REQUESTS * FACTS_BYTES, number, facts)

    def _write_facts(self, at: int, number: int, facts: Mapping[str, object]) -> None:
        """Lines of a name, a blank and a value. A reader that finds another number at the end than at the beginning came
        in between."""
        lines = [f"number {number}", *(f"{name} {value}" for name, value in facts.items()), f"end {number}\n"]
        self._map[at : at + FACTS_BYTES] = "\n".join(lines).encode()[:FACTS_BYTES].ljust(FACTS_BYTES, b"\0")

    @property
    def asked_ceiling_bytes(self) -> int | None:
        """A limit that the program asked for while it ran (`cc.guard(limit=…)`)."""
        return self._words[CEILING // 8] or None

    @property
    def python_bytes(self) -> int:
        """Airbag bytes served so far to the interpreter itself: its objects."""
        return self._words[_PYTHON // 8]

    @property
    def served_bytes(self) -> int:
        """Airbag bytes served so far."""
        return self._words[_SERVED // 8]

    @property
    def refused_count(self) -> int:
        """Allocations refused so far."""
        return self._words[_REFUSED // 8]

    @property
    def raised_count(self) -> int:
        """Exceptions that the guard's module inside has raised so far."""
        return self._words[_RAISED // 8]

    @property
    def seen_request(self) -> int:
        """The number of the last request that the guard's module inside has looked at."""
        return self._words[_SEEN // 8]

    def refusals(self) -> tuple[Refusal, ...]:
        """The last refusals, oldest first."""
        found = []
        for index in range(_MOST_REFUSALS):
            number, asked, left, at_ns, pid, tid, who = _REFUSAL.unpack_from(
                self._map, _REFUSALS + index * _REFUSAL_BYTES
            )
            if number:
                name = who.split(b"\0")[0].decode("utf-8", "replace")
                found.append(Refusal(number, asked, left, at_ns, pid, tid, name))
        return tuple(sorted(found, key=lambda each: each.number))

    def close(self) -> None:
        """Switch off, let go and remove the file; processes that live on keep their own mapping."""
        self.switch(False)
        self.squeeze(False)
        self._words[_LEFT // 8] = NO_LIMIT
        self.set_marks(0, 0)
        self._halves.release()
        self._words.release()
        self._view.release()
        self._map.close()
        self._file.remove()
