"""What survives a window is told by the user's own line."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

from crashcart.blackbox.inside import load

INSIDE = Path(__file__).resolve().parents[4] / "src" / "crashcart" / "leaks" / "inside"
sites: Any = load(INSIDE / "_crashcart_sites.py")


def step(kept: list[bytes]) -> None:
    passing = [bytes(500) for _ in range(50)]
    del passing
    kept.append(bytes(5000))  # the line


LINE = next(number for number, line in enumerate(Path(__file__).read_text().splitlines(), 1) if "# the line" in line)


def test_the_line_that_keeps_is_named_and_the_one_that_passes_is_not() -> None:
    kept: list[bytes] = []
    window = sites.Window(lambda file: file == __file__)
    assert window.open()
    for _ in range(4):
        step(kept)
    window.begin([4])
    for _ in range(20):
        step(kept)
    found = window.grown()
    window.close()
    assert found[0][:2] == [__file__, LINE]
    assert 20 <= found[0][2] <= 60
    assert 20 * 5000 <= found[0][3] <= 20 * 5000 + 4000
    assert not [site for site in found[1:] if site[3] > 4000]
    assert not tracemalloc.is_tracing()


def test_what_the_program_follows_itself_is_left_alone() -> None:
    tracemalloc.start()
    try:
        window = sites.Window(lambda _: True)
        assert not window.open()
        assert "tracemalloc" in window.refused
        window.close()
        assert tracemalloc.is_tracing()
    finally:
        tracemalloc.stop()


def test_what_the_program_begins_to_follow_in_between_goes_on() -> None:
    window = sites.Window(lambda _: True)
    assert window.open()
    tracemalloc.start()
    try:
        window.close()
        assert tracemalloc.is_tracing()
        assert tracemalloc.start.__name__ == "start" and not hasattr(tracemalloc.start, "__closure__")
    finally:
        tracemalloc.stop()
