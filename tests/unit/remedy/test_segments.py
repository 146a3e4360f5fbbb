"""Where a chain is cut."""

from __future__ import annotations

from crashcart.remedy.segments import Step, parts


def chain(sizes: list[int]) -> list[Step]:
    return [Step(size, size, number + 1) for number, size in enumerate(sizes)]


def cost(steps: list[Step], found: list[tuple[int, int]]) -> int:
    kept = sum(each.out_bytes for _, end in found[:-1] for each in steps[end - 1 : end])
    return kept + max(sum(each.held_bytes for each in steps[begin:end]) for begin, end in found)


def test_equal_layers_are_cut_into_about_the_square_root_of_their_number() -> None:
    steps = chain([10] * 64)
    found = parts(steps)
    assert found[0][0] == 0
    assert found[-1][1] == 64
    assert [end for _, end in found[:-1]] == [begin for begin, _ in found[1:]]
    assert 6 <= len(found) <= 11
    assert cost(steps, found) <= 170


def test_cuts_are_where_little_crosses() -> None:
    steps = chain([100, 100, 1, 100, 100, 1, 100, 100, 1, 100])
    ends = {end for _, end in parts(steps)[:-1]}
    assert ends <= {3, 6, 9}
    assert ends


def test_a_tensor_that_is_read_far_behind_is_kept_once() -> None:
    plain = chain([10] * 30)
    plain[0] = Step(10, 10, 29)
    assert len(parts(plain)) > 2


def test_what_has_to_stay_alone_is_a_part_of_its_own() -> None:
    steps = chain([10] * 20)
    steps[7] = Step(10, 10, 8, alone=True)
    assert (7, 8) in parts(steps)


def test_what_saves_nothing_is_not_cut() -> None:
    assert parts(chain([10])) == [(0, 1)]
    assert parts(chain([10, 10])) == [(0, 2)]
    assert parts([]) == []
