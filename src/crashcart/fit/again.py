"""A step that was walked, once more on the same allocator, without a walk.

The first step finds an empty allocator, so that only the next one counts. Where a step is long, as one with loops is, that one is
had by asking for the same blocks in the same order again.
Covers: the second step's journal and tape. Does not cover: steps that change which blocks variables hold, and other orders.
"""

from __future__ import annotations

from itertools import accumulate

from crashcart.fit.journal import Journal, chunks_in
from crashcart.fit.tape import Tape
from crashcart.fit.values import Buffer
from crashcart.fit.walk import Walk


def again(walk: Walk) -> Journal | None:
    """The walk's first step once more, less what it made to stay (constants); None where it gave variables other blocks, or freed
    what was there before. FullError where the allocator's limit is too low."""
    done, tape = walk.journal, walk.tapes[-1]
    blocks = list(chunks_in(done.entries))
    freed = {id(each[3]) for each in blocks if each[2] < 0}
    made = {id(each[3]) for each in blocks if each[2] > 0}
    if (
        tape.touched
        or len(blocks) != len(tape.entries)
        or not freed <= made
        or 2 * len(made) != len(blocks) + len(made - freed)
    ):
        return None
    stay = made - freed
    found, fresh = Journal(walk.live, walk.chunks), Tape(tape.first + len(made))
    held: dict[int, tuple[int, int, int]] = {}
    for entry in done.entries:
        if isinstance(entry, str):
            found.entries.append(entry)
        elif id(entry[3]) not in stay:
            _again(walk, entry[3], entry[2] > 0, found, fresh, held)
    fresh.operations = tape.operations
    _besides(tape, fresh, [id(each[3]) not in stay for each in blocks])
    walk.done(fresh, len(held))
    return found


def _again(
    walk: Walk, buffer: Buffer, takes: bool, found: Journal, fresh: Tape, held: dict[int, tuple[int, int, int]]
) -> None:
    """One block is taken or given back."""
    chunks = walk.chunks
    if takes:
        address = chunks.allocate(buffer.bytes)
        count_bytes = chunks.held_bytes(address)
        held[id(buffer)] = address, count_bytes, fresh.first + len(held)
        fresh.entries.append(buffer.bytes)
        found.made(buffer, count_bytes, chunks.used_bytes)
        return
    address, count_bytes, number = held[id(buffer)]
    fresh.given_back(number)
    chunks.free(address)
    found.freed(buffer, count_bytes)


def _besides(tape: Tape, fresh: Tape, kept: list[bool]) -> None:
    """What the first step's tape says of places, for a tape with those of its entries that are kept."""
    place_of = [0, *accumulate(kept)]
    fresh.scratch = [place_of[place] for place in tape.scratch if kept[place]]
    fresh.packed = [(place_of[place], count_bytes) for place, count_bytes in tape.packed]
