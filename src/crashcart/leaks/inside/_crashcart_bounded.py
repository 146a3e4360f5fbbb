"""What bounds a container's part in a growth: how many it will hold at most, and what of it others hold, too.

Covers: what a functools cache holds, keys and results, with a bound or without; of a list that was made as long as it will be
(`[None] * capacity`) and is filled in turn, how many of its slots are; members that something else refers to as well.
Does not cover: slots that are filled in no order, or that are empty by another value than None; deques and queues, which say
their bounds themselves (`_crashcart_kept`); who else refers to a member.

Of what it looks at, only the lengths of lists are kept, by their ids.
"""

from __future__ import annotations

import gc
import sys
from itertools import islice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LEAST_SLOTS = 8
AROUND = 8
"""So many slots before the first empty one, and after it, must be full and empty."""
CHECKED = 24
MOST_LISTS = 256
WALKED = 10_000
"""Of a cache without a bound, so many entries are read: 1 ms."""
LEAST_LEAF_BYTES, LEAST_LEAVES = 1024, 4
"""Short texts are shared by the interpreter itself; of a few members, one is the last that a step made."""
LAST = 16
"""The dictionary of a cache comes after its entries, among so many objects."""


class Bounded:
    """What is known of them from look to look."""

    def __init__(self, sizes: Any) -> None:
        self.sizes = sizes
        self.lengths: dict[int, int] = {}
        """Of the lists that were seen with empty slots, by id."""
        self.layout: tuple[int, int, int] | None = None

    def slots(self, value: Any, count: int) -> tuple[int, bool]:
        """How many of a list's members are there, and whether the rest are empty slots that will be filled. A list that is as
        long as when it was last seen with empty slots has them, or had them: one that `None` is appended to becomes longer."""
        used = _in_use(value, count) if count >= LEAST_SLOTS else count
        before = self.lengths.get(id(value))
        if used == count and before != count:
            self.lengths.pop(id(value), None)
            return count, False
        if len(self.lengths) >= MOST_LISTS and before is None:
            del self.lengths[next(iter(self.lengths))]
        self.lengths[id(value)] = count
        return used, before == count

    def others_have(self, sample: list[Any]) -> float:
        """Of the arrays, tensors and texts in a sample, the share that others have, too, than this list and the container. Views
        are left out: they share what they are cut from."""
        leaves = others = 0
        for each in sample:
            kind = type(each)
            if kind is int or kind is float or self.sizes.base_of(each) is not None:
                continue
            measured = self.sizes.of_array(each, kind)
            if measured is not None and measured[0] >= LEAST_LEAF_BYTES:
                leaves += 1
                others += sys.getrefcount(each) > _REFERENCES
        return others / leaves if leaves >= LEAST_LEAVES else 0.0

    def of_cache(self, walk: Any, value: Any) -> tuple[int, int, str | None]:
        """Results in a functools cache, the bytes of these with their keys, and what they are."""
        count = int(value.cache_info().currsize)
        known = gc.get_referents(value)
        own = vars(value)
        found = [each for each in known[-LAST:] if type(each) is dict and each is not own and len(each) == count]
        if not count or not found:
            return count, 0, None
        keys, results = self._entries(found[-1], known, count)
        seen: list[tuple[int, str | None]] = []

        def parts_of(place: int) -> dict[int, int]:
            walk.spend()
            parts: dict[int, int] = {}
            self.sizes.measure(keys[place], 1, parts)
            seen.append(self.sizes.measure(results[place], 1, parts))
            return parts

        places = range(len(keys))
        sample = self.sizes.stretches(places, range, None, len(keys))
        held = self.sizes.held_together(count, sample, parts_of)
        return count, sys.getsizeof(found[-1]) + held, self.sizes.words_of(seen)

    def _entries(self, held: dict[Any, Any], known: list[Any], count: int) -> tuple[list[Any], list[Any]]:
        """Keys and results, from the oldest to the newest. In the dictionary of a cache with a bound are links, which do not
        show what they hold; the wrapper refers to each key and each result itself."""
        if type(next(iter(dict.values(held)))).__name__ != "_lru_list_elem":
            oldest = min(count, WALKED) // 2
            newest = [*islice(reversed(dict.items(held)), min(count, WALKED) - oldest)]
            both = [*islice(dict.items(held), oldest), *reversed(newest)]
            return [key for key, _ in both], [result for _, result in both]
        if self.layout is None:
            self.layout = _layout()
        start, result, every = self.layout
        end = start + every * count
        return known[start:end:every], known[start + result : end : every]


def _references() -> int:
    """What Python counts for a member that only its container and a sample have; it differs between releases."""
    container = [bytearray(1)]
    for each in list(container):
        return sys.getrefcount(each)
    return 0


_REFERENCES = _references()


def _layout() -> tuple[int, int, int]:
    """Among what the wrapper of a cache with a bound refers to: where the first key is, its result after it, and the next key
    after it. Releases of Python differ in what else is there, so a cache of our own is asked."""
    from functools import lru_cache

    results = {"first": object(), "second": object()}
    cache: Any = lru_cache(maxsize=len(results))(results.__getitem__)
    for key in results:
        cache(key)
    known = [id(each) for each in gc.get_referents(cache)]
    first, second = (known.index(id(key)) for key in results)
    return first, known.index(id(results["first"])) - first, second - first


def _in_use(value: Any, count: int) -> int:
    """How many members a list has before the empty slots at its end; all where full and empty ones are mixed."""
    if list.__getitem__(value, -1) is not None:
        return count
    low, high = 0, count - 1  # the last one is empty
    while low < high:
        middle = (low + high) // 2
        if list.__getitem__(value, middle) is None:
            high = middle
        else:
            low = middle + 1
    around = range(max(0, low - AROUND), min(count, low + AROUND))
    for place in (*around, *range(0, count, max(1, count // CHECKED))):
        if (list.__getitem__(value, place) is None) != (place >= low):
            return count
    return low
