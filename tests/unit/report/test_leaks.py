"""A leak as text, page, JSON and scalars: the holder, the line, why and what to try; never an all-clear without its bound."""

from __future__ import annotations

import io
import json
import struct
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from crashcart.cli.leaks_live import Watched
from crashcart.cli.leaks_report import examined_live, exit_code, limited
from crashcart.evidence import Ending, Evidence, Frame
from crashcart.finding import Report
from crashcart.ground import Machine, MemoryLimit
from crashcart.growth import Growth, Retraced, Series, Steps
from crashcart.probe.file_crc import masked
from crashcart.report import leaks_words
from crashcart.report.html import render_html
from crashcart.report.json import to_document
from crashcart.report.leaks import print_leaks, render_leaks
from crashcart.report.tensorboard import write_scalars
from crashcart.report.wrap import cells
from crashcart.units import GIB, MIB
from tests.unit.leaks.grown import growth, kept, memory
from tests.unit.report.schema import faults

SCHEMA = json.loads((Path(__file__).parents[3] / "docs" / "schema-1.json").read_text(encoding="utf-8"))
LEAK = growth(
    memory(7.6 * MIB),
    Series("variables", "count", (1, 60, 120, 180, 236), (10, 60, 120, 180, 236)),
    kept=(kept(each=7.6 * MIB),),
)
QUIET = growth(
    Series("private", "bytes", memory().steps, tuple(600 * MIB + step % 7 * 50_000 for step in memory().steps))
)


def shown(made: Growth | None, width: int = 80, **options: bool) -> str:
    report, evidence = examined_live(made)
    return render_leaks(report, evidence, width, False, **options)


def test_a_leak_reads_as_it_should() -> None:
    lines = shown(LEAK, 200).splitlines()
    assert lines[0].startswith("leak: +7.60 MiB a step since step ")
    assert "(certain); at the limit of 3.00 GiB it dies in about " in lines[0]
    assert lines[1] == "  held by  history (list in train.py, main): 10 → 236 EagerTensors"
    assert lines[2] == "  grows at /home/ada/train.py:41  history.append(loss)"
    assert lines[3] == "  why      each `loss` keeps its tensor alive"
    assert "  try      history.append(float(tf.reduce_mean(loss)))" in lines


@pytest.mark.parametrize("width", [40, 80, 110, 200])
@pytest.mark.parametrize("made", [LEAK, QUIET, None], ids=["leak", "quiet", "nothing measured"])
def test_no_line_is_wider_than_the_terminal(made: Growth | None, width: int) -> None:
    text = shown(made, width)
    assert text.endswith("\n") and max(cells(line) for line in text.splitlines()) <= width


def test_a_plain_terminal_gets_plain_letters() -> None:
    assert shown(LEAK, ascii_only=True).isascii()
    stream = io.StringIO()
    print_leaks(*examined_live(LEAK), stream)
    assert "→" in stream.getvalue()


def test_no_leak_is_told_with_what_would_have_been_seen() -> None:
    text = " ".join(shown(QUIET).split())
    assert text.startswith("no leak was seen: over 240 steps (calls of train_step), a growth of ")
    assert "a step or more would have been seen" in text


def test_what_was_not_checked_is_no_all_clear() -> None:
    text = shown(None)
    assert text.startswith("not checked, because ") and "no leak" not in text and "cc.step()" in text
    forked = shown(replace(QUIET, lacking={"children": "it forked 2 processes, which were not watched"}))
    assert forked.startswith("not checked, because it forked 2 processes") and "in the process itself" in forked


def test_the_exit_code_tells_the_three_apart() -> None:
    assert exit_code(examined_live(LEAK)[0]) == 1
    assert exit_code(examined_live(QUIET)[0]) == 0
    assert exit_code(examined_live(None)[0]) == 3
    assert exit_code(examined_live(replace(QUIET, lacking={"children": "forked"}))[0]) == 3


def test_a_program_that_failed_is_told_beside_it() -> None:
    report, evidence = examined_live(QUIET)
    failed = replace(evidence, ending=Ending("exit", exit_code=3))
    assert "exited with code 3: `crashcart why` says why" in render_leaks(report, failed, 120, False)
    assert "why` says" not in render_leaks(report, replace(evidence, ending=Ending("exit", exit_code=0)), 120, False)


def test_the_limit_is_the_one_that_was_given_else_the_least_of_those_that_are_known() -> None:
    machine = Machine(*[None] * 9, limits=(MemoryLimit("container", 2 * GIB, "memory.max"),))

    def limit(made: Growth, given: int | None) -> int | None:
        found = limited(Evidence(growth=made, machine=machine), given).growth
        return None if found is None else found.limit_bytes

    assert limit(LEAK, None) == 2 * GIB
    assert limit(LEAK, GIB) == GIB
    assert limit(LEAK, 64 * GIB) == 64 * GIB, "it is asked about a larger machine"
    assert examined_live(LEAK, limit_bytes=64 * GIB)[0].figures["limit_bytes"] == 64 * GIB
    assert limit(replace(LEAK, limit_bytes=GIB), None) == GIB
    assert limited(Evidence(), GIB).growth is None


def test_near_and_far_deaths_are_told_with_care() -> None:
    def death(**figures: object) -> str:
        return leaks_words.death(Report("x", (), figures={"limit_bytes": 2 * GIB, **figures}))

    assert death(steps_to_limit=283, seconds_to_limit=250.0) == (
        "at the limit of 2.00 GiB it dies in about 280 steps (4 min)"
    )
    assert death(steps_to_limit=0) == "it is at its limit of 2.00 GiB now"
    assert death(steps_to_limit=10_000_000) == ""
    assert death(steps_to_limit=None) == ""
    killed = Report("x", (), figures={"limit_bytes": GIB, "steps_to_limit": 14, "steps": {"count": 300}})
    assert leaks_words.death(killed, Ending("signal", signal=9)) == "it died at its limit of 1.00 GiB"
    assert "it dies in about 14 steps" in leaks_words.death(killed, Ending("exit", exit_code=0))


def test_the_page_has_the_plot_and_the_holder() -> None:
    page = render_html(*examined_live(LEAK))
    assert "<svg" in page and "Memory over the steps" in page and 'class="slope"' in page
    assert "history" in page and "variables: 10 → 236" in page
    assert "<script" not in page
    quiet = render_html(*examined_live(QUIET))
    assert 'class="slope"' not in quiet and "No leak was seen" in quiet
    assert "Not checked, because" in render_html(*examined_live(None))


def test_names_are_escaped() -> None:
    bad = growth(memory(), kept=(kept("<b>x", scope="\x1b[31m"),))
    assert "<b>x" not in render_html(*examined_live(bad))
    assert "\x1b" not in shown(bad)


@pytest.mark.parametrize("made", [LEAK, QUIET, None], ids=["leak", "quiet", "nothing measured"])
def test_the_document_follows_the_schema(made: Growth | None) -> None:
    document = to_document(*examined_live(made))
    assert faults(json.loads(json.dumps(document)), SCHEMA) == []


def test_the_document_has_the_figures_that_others_build_on() -> None:
    document = to_document(*examined_live(LEAK))
    finding = document["findings"][0]
    assert finding["cause"] == "memory-leak" and finding["holder"] == "history"
    assert finding["bytes_per_step"] == pytest.approx(7.6 * MIB, rel=0.02)
    assert finding["where"]["line"] == 41
    assert document["steps"]["count"] == 240 and document["not_checked"] == []


def test_scalars_are_framed_as_tensorboard_reads_them(tmp_path: Path) -> None:
    path = write_scalars(LEAK, tmp_path / "logs")
    data, events = path.read_bytes(), []
    while data:
        (length,) = struct.unpack("<Q", data[:8])
        assert struct.unpack("<I", data[8:12])[0] == masked(data[:8])
        event = data[12 : 12 + length]
        assert struct.unpack("<I", data[12 + length : 16 + length])[0] == masked(event)
        events.append(event)
        data = data[16 + length :]
    assert b"brain.Event:2" in events[0]
    assert len(events) == 1 + sum(len(each.steps) for each in LEAK.series)
    assert b"crashcart/private_bytes" in events[1] and b"crashcart/variables" in events[-1]


def test_tensorflow_reads_the_scalars(tmp_path: Path) -> None:
    pytest.importorskip("tensorflow")
    path = write_scalars(LEAK, tmp_path)
    code = """
import sys, tensorflow as tf
for event in tf.compat.v1.train.summary_iterator(sys.argv[1]):
    for value in event.summary.value:
        print(event.step, value.tag, int(value.simple_value))
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, timeout=300, check=True
    )
    read = done.stdout.splitlines()
    assert "60 crashcart/variables 60" in read
    assert {line.split()[1] for line in read} == {"crashcart/private_bytes", "crashcart/variables"}


def test_scalars_carry_the_time_at_which_each_was_seen(tmp_path: Path) -> None:
    timed = replace(memory(), at_s=tuple(step / 10 for step in memory().steps))
    data = write_scalars(growth(timed, began_unix_s=5000.0), tmp_path).read_bytes()
    times = []
    while data:
        (length,) = struct.unpack("<Q", data[:8])
        times.append(struct.unpack("<d", data[13:21])[0])
        data = data[16 + length :]
    assert times[:3] == [5000.0, 5000.1, 5000.6] and times[-1] == pytest.approx(5023.6)


def test_a_line_that_only_takes_the_steps_is_told_as_that() -> None:
    steps = Steps("loop", "passes", 240, 0.1, Frame("/home/ada/train.py", 5, "main", "for i in range(240):", own=True))
    lines = shown(growth(memory(), steps=steps), 200).splitlines()
    assert "  steps at /home/ada/train.py:5  for i in range(240):" in lines
    assert not any(line.startswith("  grows at") for line in lines)
    assert to_document(*examined_live(growth(memory(), steps=steps)))["findings"][0]["where"] is None


def test_a_risk_means_the_same_to_the_command_and_to_python() -> None:
    retraced = replace(
        QUIET,
        series=(*QUIET.series, Series("traces", "count", (1, 60, 120, 180, 236), (1, 60, 120, 180, 236))),
        retraced=(Retraced("step", None, 1, 200, 230),),
    )
    threads = replace(
        QUIET, series=(*QUIET.series, Series("threads", "count", (1, 60, 120, 180, 236), (1, 60, 120, 180, 236)))
    )
    for made, leaks in ((retraced, True), (threads, False), (LEAK, True), (QUIET, False)):
        found = Watched(*examined_live(made))
        assert (found.leaks, exit_code(found.report)) == (leaks, int(leaks))
    assert "threads pile up" in shown(threads)


def test_a_holder_beyond_the_growth_is_not_told_as_all_of_it() -> None:
    most = growth(memory(), kept=(kept(each=1.4 * MIB),))
    assert "140 % of the growth" in " ".join(shown(most).split())
