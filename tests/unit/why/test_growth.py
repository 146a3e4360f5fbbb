"""Whether memory went up step after step: the shape of the rise, and where the program was."""

from __future__ import annotations

from crashcart.evidence import Frame, Holder, HolderNote, Sample, Stack, StackDump
from crashcart.units import MIB
from crashcart.why._growth import ended_inside_loop, final_rise, growing_holder, is_stepping

STEP = (Frame("/home/ann/train.py", 9, "<module>", "time.sleep(0.1)", own=True, looped=True),)
CALL = (
    Frame("/home/ann/train.py", 8, "<module>", "total += embed(word)", own=True, looped=True),
    Frame("/home/ann/train.py", 5, "embed", "return np.random.rand(size)", own=True, looped=False),
)
JOIN = (Frame("/home/ann/train.py", 12, "<module>", "table = np.concatenate(parts)", own=True, looped=False),)


def dump(at_s: float, frames: tuple[Frame, ...]) -> StackDump:
    return StackDump(at_s, 7, (Stack("main", frames, main=True, current=True),))


def samples(*levels: int) -> tuple[Sample, ...]:
    return tuple(Sample(number / 10, tree_rss_bytes=level * MIB) for number, level in enumerate(levels))


EVEN = samples(*range(100, 292, 2))
JUMP = samples(*range(100, 286, 2), 340, 400, 480)


def inside(last: tuple[Frame, ...], levels: tuple[Sample, ...]) -> bool:
    rise = final_rise(levels)
    assert rise is not None
    dumps = [dump(at_s, STEP) for at_s in (4.0, 5.0, 6.0, 7.0, 8.0, 9.2)] + [dump(9.3, last)]
    return ended_inside_loop(dumps, rise, levels)


def test_a_line_of_the_same_loop_that_was_not_sampled_before_is_inside() -> None:
    assert inside(CALL, EVEN)
    assert inside(STEP, EVEN)


def test_joining_after_the_loop_is_not_inside() -> None:
    assert not inside(JOIN, EVEN)


def test_a_call_in_the_loop_that_brought_much_by_itself_is_not_inside() -> None:
    assert not inside(CALL, JUMP)


def note(at_s: float, *holders: Holder) -> HolderNote:
    return HolderNote(at_s, 7, holders)


def test_an_object_that_is_larger_at_each_look_is_built_up_in_steps() -> None:
    notes = tuple(note(at_s, Holder("log", "DataFrame", (30 + 10 * at_s) * MIB)) for at_s in range(6))
    grown = growing_holder(notes, 7)
    assert grown is not None and grown.in_steps
    assert grown.words() == "`log` (DataFrame) grew from 30.0 MiB to 80.0 MiB, look after look"
    assert growing_holder(notes[:4], 7) is None, "a few looks may have met it while it was filled once"
    assert growing_holder(tuple(reversed(notes)), 7) is None
    assert growing_holder(notes, 8) is None, "another process"


def test_a_container_speaks_before_a_single_object() -> None:
    notes = tuple(
        note(
            at_s,
            Holder("log", "DataFrame", (90 + 50 * at_s) * MIB),
            Holder("rows", "list", at_s * 9 * MIB, count=9 * at_s),
        )
        for at_s in range(6)
    )
    grown = growing_holder(notes, 7)
    assert grown is not None and grown.after.name == "rows" and grown.in_steps
    assert grown.words() == "`rows` (list) went from 0 to 45 elements, 45.0 MiB"


def test_a_line_that_sleeps_brought_no_memory_itself() -> None:
    call = (Frame("/home/ann/train.py", 9, "<module>", "x = np.ones(size)", own=True, looped=False),)
    assert is_stepping([dump(at_s, STEP) for at_s in (1.0, 2.0, 3.0)], 0.5, 3.5)
    assert not is_stepping([dump(at_s, call) for at_s in (1.0, 2.0, 3.0)], 0.5, 3.5)
