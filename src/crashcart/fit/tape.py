"""What a walk asks of its allocator, written down, so that another allocator can be asked the same without a walk.

A walk goes the same way on every allocator that has room for it: only one that is full makes operations wait. What was walked
once can therefore be played on the C library's heap, and on an allocator with a limit as long as that lasts.
Covers: blocks that are taken and given back, step by step.
Does not cover: the walk (`walk.py`), the allocators (`chunks.py`, `heap.py`).
"""

from __future__ import annotations

from array import array

from crashcart.fit.chunks import Chunks

# Entries below this give back blocks from before the step; no step takes as many blocks.
_BEFORE = -(1 << 40)


class Tape:
    """One step, or what comes before the first. Blocks have numbers, in the order in which the walk takes them; `first` is the
    number of the first that is taken here."""

    __slots__ = ("_closed", "entries", "first", "operations", "packed", "scratch", "touched")

    def __init__(self, first: int) -> None:
        self.first = first
        self.entries = array("q")
        """The bytes of a block that is taken; of one that is given back a negative number (`given_back`)."""
        self.touched: dict[int, int] = {}
        """What of a block is written to, where that is less than was asked for; by the place of the entry."""
        self.scratch: list[int] = []
        """The places of the entries that are scratch of Eigen's kernels, which others do without."""
        self.packed: list[tuple[int, int]] = []
        """Places before which oneDNN's kernels take memory past TensorFlow's allocator while they run, and how many bytes."""
        self.operations = 0
        """How many were run."""
        self._closed: bool | None = None

    def given_back(self, number: int) -> None:
        """A block by its number: counted from the first of this step, so that steps which do the same have the same entries."""
        own = number - self.first
        self.entries.append(~own if own >= 0 else _BEFORE - number)

    def scratched(self, touched_bytes: int, asked_bytes: int) -> None:
        """The last block that was taken is scratch of Eigen's kernels, of which so much is written to."""
        self.scratch.append(len(self.entries) - 1)
        if touched_bytes < asked_bytes:
            self.touched[len(self.entries) - 1] = touched_bytes

    def packs(self, count_bytes: int) -> None:
        """The kernel that begins here takes so much past TensorFlow's allocator where it is oneDNN's."""
        self.packed.append((len(self.entries), count_bytes))

    @property
    def closed(self) -> bool:
        """Whether a step that is over gave back what it took, and nothing else, so that it can be played again."""
        if self._closed is None:
            balance = sum(1 if each >= 0 else -1 for each in self.entries)
            self._closed = not balance and min(self.entries, default=0) > _BEFORE
        return self._closed


class Player:
    """Tapes of one walk on another allocator, in their order; one that is closed may be played again behind them."""

    def __init__(self, chunks: Chunks) -> None:
        self._chunks = chunks
        self._addresses: list[int] = []
        self._late: list[int] = []

    def play(self, tape: Tape) -> None:
        """All blocks as they were asked for. FullError where the allocator's limit is too low."""
        self._play(tape.entries, len(self._addresses))

    def touch(self, tape: Tape, onednn: bool = False, late: int = 0) -> None:
        """Of each block what is written to. oneDNN's kernels do without the scratch of Eigen's, and take memory of their own.
        `late`: so many blocks, the first ones, are given back when the next step has taken its own."""
        changes = dict.fromkeys(tape.scratch, 0) if onednn else tape.touched
        entries = array("q", tape.entries) if changes else tape.entries
        for place, count_bytes in changes.items():
            entries[place] = count_bytes
        first, begun = len(self._addresses), late
        self._play(entries[:begun], first)
        for address in self._late:
            self._chunks.free(address)
        self._late = self._addresses[first : first + late]
        if late:
            entries = array("q", (each for each in entries if not ~late < each < 0))
        for place, count_bytes in tape.packed if onednn else ():
            self._play(entries[begun:place], first)
            self._chunks.free(self._chunks.outside(count_bytes))
            begun = place
        self._play(entries[begun:] if begun else entries, first)

    def _play(self, entries: array[int], first: int) -> None:
        allocate, free, addresses = self._chunks.allocate, self._chunks.free, self._addresses
        for each in entries:
            if each >= 0:
                addresses.append(allocate(each))
            elif each > _BEFORE:
                free(addresses[first + ~each])
            else:
                free(addresses[_BEFORE - each])
