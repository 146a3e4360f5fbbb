"""Whether memory went up step after step: the shape of the rise, and where the program was."""

from __future__ import annotations

from crashcart.evidence import Frame, Sample, Stack, StackDump
from crashcart.units import MIB
from crashcart.why._growth import ended_inside_loop, final_rise

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
