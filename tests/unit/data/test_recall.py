"""The judge of the data bench: what counts as recalled, and what as a false alarm."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bench.data.recall import accused, missed
from bench.data.sample import Sample


def sample(kinds: str = "", odd: str = "") -> Sample:
    return Sample("a", "b", ".c", lambda path, seed: None, frozenset(kinds.split()), frozenset(odd.split()))


def told(kind: str, weight: str) -> list[dict[str, Any]]:
    return [{"kind": kind, "weight": weight, "detail": "words"}]


@pytest.mark.parametrize(
    ("said", "good", "right"),
    [
        (told("truncated", "damage"), False, True),
        (told("truncated", "unchecked"), False, True),
        (told("truncated", "odd"), True, True),
        (told("not-decodable", "damage"), False, False),
        ([], True, False),
    ],
)
def test_a_damaged_file_is_recalled_by_a_right_name(said: list[dict[str, Any]], good: bool, right: bool) -> None:
    assert (missed(sample("truncated crc-mismatch"), said) is None) is right


@pytest.mark.parametrize(
    ("said", "good", "right"),
    [
        ([], True, True),
        (told("odd-mode", "odd"), True, True),
        (told("odd-size", "odd"), True, False),
        (told("odd-mode", "damage"), False, False),
        (told("not-checked", "unchecked"), False, False),
        ([], False, False),
    ],
)
def test_a_clean_file_is_right_where_it_is_good(said: list[dict[str, Any]], good: bool, right: bool) -> None:
    assert (accused(sample(odd="odd-mode"), said, good) is None) is right


@pytest.mark.parametrize(
    ("said", "good", "right"),
    [
        (told("not-checked", "unchecked"), False, True),
        (told("unknown-format", "unchecked"), False, False),
        (told("not-decodable", "damage"), False, False),
        ([], True, False),
        ([], False, False),
    ],
)
def test_a_clean_file_that_nobody_here_reads_is_right_where_that_is_told(
    said: list[dict[str, Any]], good: bool, right: bool
) -> None:
    assert (accused(replace(sample(), unread=True), said, good) is None) is right


def test_a_clean_file_that_tensorflow_does_not_read_is_right_where_it_is_not_among_the_good() -> None:
    foreign = sample(odd="not-for-tensorflow")
    assert accused(foreign, told("not-for-tensorflow", "odd"), False) is None
    assert accused(foreign, told("not-for-tensorflow", "odd"), True) == "among the good files"
    assert accused(foreign, [], True) is None
