"""Where the program was, and what held the memory: shared words for the rules about sudden ends.

Covers: the last own line seen before an end that nobody could catch, growth while that line ran, the largest holders.
Does not cover: exceptions, which carry their own place. No rule is declared here.
"""

from __future__ import annotations

from crashcart.evidence import Ending, Frame, HolderNote, Sample, Stack, StackDump, place
from crashcart.finding import Where
from crashcart.units import MIB, plural, size
from crashcart.why._kill import dumps_of

FRESH_S = 0.3
"""A stack seen this shortly before the end is as good as the end itself."""
STALE_HOLDERS_S = 30.0


def last_stack(stacks: tuple[StackDump, ...] | None, pid: int | None) -> tuple[StackDump, Stack] | None:
    """The last dump of a process in which the main thread, or failing that any thread, was in the user's own code."""
    for dump in reversed(dumps_of(stacks, pid)):
        main = dump.main_stack() or dump.current_stack()
        candidates = [main, *dump.stacks] if main is not None else list(dump.stacks)
        for stack in candidates:
            if stack is not None and stack.own_frame() is not None:
                return dump, stack
    return None


def last_place(stacks: tuple[StackDump, ...] | None, pid: int | None, ending: Ending | None) -> Where | None:
    """The user's line that was last seen running, with its age where that matters."""
    found = last_stack(stacks, pid)
    if found is None:
        return None
    dump, stack = found
    age_s = max(0.0, ending.at_s - dump.at_s) if ending is not None and ending.at_s is not None else None
    return place(stack.own_frame(), age_s if age_s is not None and age_s > FRESH_S else None)


def growth_at_place(
    stacks: tuple[StackDump, ...] | None, pid: int | None, samples: tuple[Sample, ...] | None
) -> tuple[Frame, int] | None:
    """The last own line and how much memory came while it was the line that ran."""
    dumps = dumps_of(stacks, pid)
    found = last_stack(stacks, pid)
    if found is None or not samples:
        return None
    frame = found[1].own_frame()
    assert frame is not None
    since_s = found[0].at_s
    for dump in reversed([each for each in dumps if each.at_s <= since_s]):
        main = dump.main_stack() or dump.current_stack()
        at = main.own_frame() if main is not None else None
        if at is None or (at.file, at.line) != (frame.file, frame.line):
            break
        since_s = dump.at_s
    before = [each.tree_rss_bytes for each in samples if each.at_s <= since_s and each.tree_rss_bytes is not None]
    after = [each.tree_rss_bytes for each in samples if each.at_s >= since_s and each.tree_rss_bytes is not None]
    if not before or not after:
        return None
    return frame, max(after) - before[-1]


def held_words(holders: tuple[HolderNote, ...] | None, ending: Ending | None) -> tuple[str, ...]:
    """The largest named objects of the last note, largest first."""
    if not holders:
        return ()
    note = holders[-1]
    if ending is not None and ending.at_s is not None and ending.at_s - note.at_s > STALE_HOLDERS_S:
        return ()
    large = [holder for holder in note.holders if holder.bytes >= 8 * MIB][:4]
    return tuple(f"{each.name} {size(each.bytes)} {each.kind} {each.detail}".strip() for each in large)


def growth_words(
    stacks: tuple[StackDump, ...] | None, pid: int | None, samples: tuple[Sample, ...] | None
) -> tuple[str, ...]:
    """`2.2 GiB came while line 5 ran`, where that is a notable amount."""
    found = growth_at_place(stacks, pid, samples)
    if found is None or found[1] < 32 * MIB:
        return ()
    frame, grown_bytes = found
    return (f"{size(grown_bytes)} came while {frame.spot} ran",)


def threads_words(count: int) -> str:
    """`1 thread`, `12 threads`."""
    return plural(count, "thread")
