from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crashcart.report import safe


@pytest.mark.parametrize(
    ("given_text", "shown"),
    [
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;https://example.org\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bc", "\\x1bc"),
        ("bell \x07", "bell \\x07"),
        ("\x9b2Jgone", "gone"),
        ("\x85", "\\x85"),
        ("\u202eexe.gpj", "\\u202eexe.gpj"),
        ("\udce9t\udce9", "\\udce9t\\udce9"),
        ("\U000e0041", "\\U000e0041"),
        ("a\r\nb\tc", "a\nb\tc"),
        ("Ω 中 👩‍💻", "Ω 中 👩‍💻"),
    ],
)
def test_visible(given_text: str, shown: str) -> None:
    assert safe.visible(given_text) == shown


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=())))
def test_nothing_unseen_is_left(text: str) -> None:
    shown = safe.visible(text)
    left = {
        char
        for char in shown
        if unicodedata.category(char) in ("Cc", "Cs") or unicodedata.bidirectional(char) in _TURNS
    }
    assert left <= {"\n", "\t"}
    shown.encode("utf-8")


_TURNS = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")


def test_a_sequence_that_is_left_over_by_dropping_another_is_spelled() -> None:
    assert safe.visible("\x1b\x1b[0m[31m") == "\\x1b[31m"


def test_flat_is_one_line() -> None:
    assert safe.flat("  a\n  b\r\n\tc ") == "a b c"


def test_bounded_keeps_both_ends_and_says_what_is_missing() -> None:
    text = "head" + "x" * 1000 + "tail"
    short = safe.bounded(text, 100)
    assert short.startswith("head") and short.endswith("tail")
    assert "(908 characters left out)" in short
    assert safe.bounded("short", 100) == "short"


def test_last_state_of_a_progress_bar() -> None:
    assert safe.last_state("1/4\r2/4\r4/4 done\r\n") == "4/4 done"
    assert safe.last_state("no bar") == "no bar"


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=())))
def test_ascii_only(text: str) -> None:
    assert safe.ascii_only(text).isascii()


def test_ascii_look_alikes() -> None:
    assert safe.ascii_only("“2 × 3” … 中") == '"2 x 3" ... \\u4e2d'
