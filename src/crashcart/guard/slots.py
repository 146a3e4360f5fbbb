"""The guarded processes, each with a slot in the shared file in which it alone counts.

Covers: what each process holds, and taking back what an ended one held. A process takes a free slot at its start; only the
watcher frees one, once its process has ended or has become another program. So nothing is taken back twice or while it is
being counted, however a process ends.
Does not cover: the rest of the file (`shared.py`). A slot, as in `airbag/airbag.h`:

       0  u64  owner: the process, and above it a number that is given once; 0 where it is free
       8  u32  level          16  i64  net_bytes: large blocks given out less those freed
      12  u32  error          24  u64  airbag_bytes: on the airbag now
                              32  i64  sparse_bytes: the part of it that takes no disk space until it is touched
                              40  u64  mark: of this very program (AT_RANDOM)
                              48  u32  descriptor
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from crashcart.probe.process import has_ended, program_mark

SLOTS, SLOT_BYTES, MOST_SLOTS = 32768, 64, 512
TOP = 60
"""No slot from this one on was ever taken."""
_SLOT, _NET, _HALF = struct.Struct("@QIIqQqQI12x"), struct.Struct("@16xq"), struct.Struct("@I")
"""As the processor keeps them: each word is read whole, while others write."""

LOADED, REACHED, IN_USE, FAILED = 1, 2, 4, 8


@dataclass(frozen=True, slots=True)
class Guarded:
    """A process in which the airbag is loaded."""

    owner: int
    level: int
    error: int
    net_bytes: int = 0
    airbag_bytes: int = 0
    sparse_bytes: int = 0
    mark: int = 0
    descriptor: int = 0
    """Of the airbag's file in that process; 0 where it has none."""

    @property
    def pid(self) -> int:
        """The process."""
        return self.owner & 0xFFFFFFFF

    @property
    def dense_bytes(self) -> int:
        """On the airbag, without zeroes that may never be touched."""
        return max(0, self.airbag_bytes - max(0, self.sparse_bytes))

    def disk_bytes(self) -> int:
        """What its airbag takes on the disk. OSError once the process is gone."""
        if not self.descriptor:
            return 0
        return Path(f"/proc/{self.pid}/fd/{self.descriptor}").stat().st_blocks * 512


def processes_in(content: bytes | mmap.mmap) -> dict[int, Guarded]:
    """By slot."""
    read = (_SLOT.unpack_from(content, SLOTS + index * SLOT_BYTES) for index in range(_top(content)))
    return {index: Guarded(*slot) for index, slot in enumerate(read) if slot[0]}


def _top(content: bytes | mmap.mmap) -> int:
    return min(MOST_SLOTS, int(*_HALF.unpack_from(content, TOP)))


class Slots:
    """The watcher's side."""

    def __init__(self, content: mmap.mmap) -> None:
        self._map = content
        self._most_resident: dict[int, int] = {}
        self._settled_net_bytes = 0
        self.untouched_bytes = 0
        """What ended processes had been given and never touched, so far."""
        self.living: tuple[Guarded, ...] = ()
        """As they were at the last look."""

    @property
    def net_bytes(self) -> int:
        """Large blocks given out less those freed, those of ended processes included: they were not freed."""
        words = (_NET.unpack_from(self._map, SLOTS + index * SLOT_BYTES) for index in range(_top(self._map)))
        return sum(int(net_bytes) for (net_bytes,) in words) + self._settled_net_bytes

    def look(self, resident: Mapping[int, int], closely: bool = True) -> None:
        """Settle the slots of ended processes. Those of which resident bytes are known were there a moment ago; only a
        closer look shows one that has become another program."""
        found = processes_in(self._map)
        for index, each in list(found.items()):
            if (each.pid in resident and not closely) or not _is_over(each):
                self._most_resident[each.owner] = max(self._most_resident.get(each.owner, 0), resident.get(each.pid, 0))
            else:
                self._settle(index, found.pop(index))
        self.living = tuple(found.values())

    def _settle(self, index: int, ended: Guarded) -> None:
        """Nobody else writes here any more. Free last: whoever takes the slot finds it empty."""
        self._settled_net_bytes += ended.net_bytes
        self.untouched_bytes += max(0, ended.net_bytes - self._most_resident.pop(ended.owner, 0))
        at = SLOTS + index * SLOT_BYTES
        self._map[at + 8 : at + SLOT_BYTES] = bytes(SLOT_BYTES - 8)
        self._map[at : at + 8] = bytes(8)

    def touched_zero_bytes(self) -> int:
        """How much of the zeroes that take no disk space until they are touched has been touched."""
        sparse_bytes = sum(max(0, each.sparse_bytes) for each in self.living)
        if sparse_bytes == 0:
            return 0
        on_disk = 0
        for each in self.living:
            with suppress(OSError):
                on_disk += each.disk_bytes()
        dense_bytes = sum(each.dense_bytes for each in self.living)
        return max(0, min(sparse_bytes, on_disk - dense_bytes))


def _is_over(process: Guarded) -> bool:
    """Whether the process has ended or runs another program, in its place or in its number's."""
    if has_ended(process.pid):
        return True
    mark = program_mark(process.pid)
    return bool(mark and process.mark and mark != process.mark)
