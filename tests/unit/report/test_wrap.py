from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from crashcart.report.wrap import cells, cut, wrap

LINES = st.text(st.sampled_from("ab/.,()= 中é0123456789GiB"), max_size=200)


@settings(deadline=None)
@given(LINES, st.integers(12, 60), st.sampled_from([0, 2, 4]))
def test_no_line_is_wider_and_no_letter_is_lost(text: str, width: int, hang: int) -> None:
    lines = wrap(text, width, hang)
    assert all(cells(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


def test_words_stay_whole_where_they_fit() -> None:
    assert wrap("alpha beta gamma", 11) == ["alpha beta", "gamma"]
    assert wrap("alpha beta gamma", 11, 2) == ["alpha beta", "  gamma"]


def test_a_number_stays_with_its_unit() -> None:
    assert wrap("it grew to 2.79 GiB at last", 17) == ["it grew to", "2.79 GiB at last"]


def test_a_long_word_breaks_after_a_separator() -> None:
    assert wrap("/data/first/second/third.tfrecord", 20) == ["/data/first/second/", "third.tfrecord"]


def test_spaces_inside_source_stay() -> None:
    assert wrap("x  =  1", 20) == ["x  =  1"]


def test_a_width_smaller_than_the_indent_ends() -> None:
    assert "".join("".join(wrap("abcdefghijklmnop", 3, 4)).split()) == "abcdefghijklmnop"


def test_cells() -> None:
    assert cells("中文") == 4
    assert cells("e\u0301") == 1


def test_cut() -> None:
    assert cut("abcdef", 6) == "abcdef"
    assert cut("abcdefg", 6) == "abcde…"
    assert cut("中文中文", 5, "...") == "中..."
