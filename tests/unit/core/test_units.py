from __future__ import annotations

import pytest

from crashcart.units import GIB, MIB, duration, parse_size, plural, size


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.00 KiB"),
        (98 * MIB, "98.0 MiB"),
        (int(2.235 * GIB), "2.23 GiB"),
        (200 * GIB, "200 GiB"),
    ],
)
def test_size(count: int, words: str) -> None:
    assert size(count) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.04, "0.0 s"),
        (9.94, "9.9 s"),
        (12.4, "12 s"),
        (119.0, "119 s"),
        (125, "2 min 5 s"),
        (7500, "2 h 5 min"),
        (7200, "2 h"),
    ],
)
def test_duration(seconds: float, words: str) -> None:
    assert duration(seconds) == words


@pytest.mark.parametrize(
    ("text", "count"), [("4G", 4 * GIB), ("512 MiB", 512 * MIB), ("1.5g", 3 * GIB // 2), ("100", 100), ("2KB", 2048)]
)
def test_parse_size(text: str, count: int) -> None:
    assert parse_size(text) == count


@pytest.mark.parametrize("text", ["", "G", "-1G", "4 apples", "1e3"])
def test_parse_size_says_what_it_received_and_expected(text: str) -> None:
    with pytest.raises(ValueError, match="expected a number"):
        parse_size(text)


def test_plural() -> None:
    assert [plural(1, "thread"), plural(2, "process", "processes")] == ["1 thread", "2 processes"]
