"""What a line puts into a container, and how it is written instead."""

from __future__ import annotations

import pytest

from crashcart.leaks._fill import Fill, fill_of
from tests.unit.leaks.grown import frame


@pytest.mark.parametrize(
    ("source", "container", "value", "changed"),
    [
        ("history.append(loss)", "history", "loss", "history.append(float(loss))"),
        ("    self.losses.append(loss)  # kept", "self.losses", "loss", "self.losses.append(float(loss))"),
        ("rows.append(model(x)[0])", "rows", "model(x)[0]", "rows.append(float(model(x)[0]))"),
        ("cache[key] = value", "cache", "value", "cache[key] = float(value)"),
        ("seen.add(item)", "seen", "item", "seen.add(float(item))"),
        ("total += loss", "total", "loss", "total += float(loss)"),
        ("total = total + loss", "total", "loss", "total += float(loss)"),
    ],
)
def test_a_line_tells_what_it_puts_where(source: str, container: str, value: str, changed: str) -> None:
    fill = fill_of(frame(1, source))
    assert fill is not None and (fill.container, fill.value) == (container, value)
    assert fill.changed("float({})") == changed


@pytest.mark.parametrize("source", [None, "", "def embed(key):", "history.append()", "x = 3", "history.append(make("])
def test_a_line_that_does_not_tell_says_nothing(source: str | None) -> None:
    assert fill_of(frame(1, source)) is None
    assert fill_of(None) is None


def test_a_plain_name_is_told_from_a_call() -> None:
    assert Fill("a", "loss", "a.append({})").is_name
    assert not Fill("a", "f(loss)", "a.append({})").is_name
