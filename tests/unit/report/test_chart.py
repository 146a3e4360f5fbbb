from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from crashcart.evidence import Ending, Event, Evidence, Sample
from crashcart.report.chart import memory_chart
from crashcart.units import GIB

from . import examples

NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def svg(evidence: Evidence, width: int = 920, height: int = 340) -> ElementTree.Element:
    chart = memory_chart(evidence, width, height)
    assert chart is not None
    return ElementTree.fromstring(chart)


def having(root: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    return [each for each in root.iter() if name in each.get("class", "").split()]


def test_it_is_titled_and_described() -> None:
    root = svg(examples.oom_evidence())
    assert root.get("role") == "img"
    named = [each for each in root.iter() if each.get("id") in (root.get("aria-labelledby") or "").split()]
    title, description = (each.text or "" for each in named)
    assert title == "Memory over time"
    assert "SIGKILL" in description


def test_everything_marked_is_there() -> None:
    root = svg(examples.oom_evidence())
    counts = {name: len(having(root, name)) for name in ("resident", "tree", "limit", "event", "beat", "words", "end")}
    assert counts == {"resident": 1, "tree": 1, "limit": 1, "event": 5, "beat": 11, "words": 2, "end": 1}
    assert [each.text for each in having(root, "end-label")] == ["SIGKILL"]
    assert [each.text for each in having(root, "limit-label")] == ["limit 2.79 GiB (memory.limit_in_bytes)"]


def test_each_sample_is_a_point_of_the_curve() -> None:
    path = having(svg(examples.oom_evidence()), "resident")[0].get("d", "")
    assert path.count("L") == 119


@pytest.mark.parametrize("name", [name for name in examples.EXAMPLES if name != "shape_error"])
@pytest.mark.parametrize("width", [400, 920])
def test_the_drawing_stays_on_its_sheet(name: str, width: int) -> None:
    root = svg(examples.EXAMPLES[name]()[1], width, 320)
    for each in root.iter():
        for key, most in (("x", width), ("x1", width), ("x2", width), ("y", 320), ("y1", 320), ("y2", 320)):
            assert 0 <= float(each.get(key, "0")) <= most
        places = [float(number) for number in NUMBER.findall(each.get("d", "") + each.get("points", ""))]
        assert all(0 <= place <= width for place in places)


def test_labels_do_not_cover_each_other() -> None:
    events = tuple(Event(at / 10, "step", f"step number {at}") for at in range(100))
    root = svg(replace(examples.oom_evidence(), events=events))
    labels = having(root, "event-label")
    assert 3 <= len(labels) < 60
    rows: dict[str, list[tuple[float, float]]] = {}
    for label in labels:
        x, length = float(label.get("x", "0")), 6.0 * len(label.text or "")
        span = (x - length, x) if label.get("text-anchor") == "end" else (x, x + length)
        assert all(span[1] < left or span[0] > right for left, right in rows.get(label.get("y", ""), []))
        rows.setdefault(label.get("y", ""), []).append(span)


def test_an_orderly_end_is_not_drawn_as_an_alarm() -> None:
    samples = (Sample(0.0, GIB), Sample(1.0, GIB))
    assert having(svg(Evidence(samples=samples, ending=Ending("exit", 1.0, exit_code=0))), "calm")
    assert not having(svg(Evidence(samples=samples, ending=Ending("exit", 1.0, exit_code=1))), "calm")


def test_one_sample_is_a_dot() -> None:
    assert len(having(svg(Evidence(samples=(Sample(1.0, GIB),))), "dot")) == 1


def test_nothing_to_draw() -> None:
    assert memory_chart(Evidence()) is None


def test_hostile_labels_are_text() -> None:
    chart = memory_chart(examples.hostile()[1])
    assert chart is not None
    assert "<script" not in chart and "\x1b" not in chart and "\u202e" not in chart
    assert len(chart) < 20_000
    ElementTree.fromstring(chart)
