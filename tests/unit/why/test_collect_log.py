"""A log as evidence, from its bytes to the report: any bytes, any text, in bounded time."""

from __future__ import annotations

import io
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crashcart.errors import CannotCheckError
from crashcart.probe.log import parse_log
from crashcart.why import explain
from crashcart.why.collect_log import collect_log, evidence_of
from tests.unit.why.families import FAMILIES

PIECES = [
    *(text for text, _ in FAMILIES),
    "Traceback (most recent call last):", '  File "a.py", line 1, in f', "----> 3 f(x)", "In [3]:", "\x1b[31m", "10%\r", "E ", "[[node a]]", "(0) ", "  + Exception Group",
]  # fmt: skip


def faults(raw: bytes) -> list[str]:
    """What is wrong with the report: no verdict, rules that failed. A log that is refused has no report."""
    try:
        report = explain(collect_log(io.BytesIO(raw), "x"))
    except CannotCheckError:
        return []
    failed = [missing for each in report.unchecked for missing in each.missing if "failed" in missing]
    return failed if report.verdict is not None else ["no verdict", *failed]


@settings(max_examples=120, deadline=None)
@given(
    st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=60)), max_size=40),
    st.sampled_from(["utf-8", "utf-16", "cp1252"]),
)
def test_any_text_is_explained(pieces: list[str], encoding: str) -> None:
    assert faults("\n".join(pieces).encode(encoding, "replace")) == []


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=5000))
def test_any_bytes_are_explained_or_refused(raw: bytes) -> None:
    assert faults(raw) == []


@pytest.mark.parametrize(
    "line",
    [
        "error: cannot read shape (3, 4) of tensor {n} from file",
        "Killed {n}",
        '  File "a{n}.py", line 3, in f',
        "ValueError: x{n} must be in [0, 4)",
        "\x1b[3{n}m\r",
    ],
)
def test_a_megabyte_of_lines_that_all_speak_of_failures_takes_less_than_its_time(line: str) -> None:
    words = ["".join("abcdefghij"[int(digit)] for digit in str(number)) for number in range(20_000)]
    text = "\n".join(line.replace("{n}", word) for word in words)
    raw = (text * (1_000_000 // len(text) + 1))[:1_000_000].encode()
    began = time.process_time()
    assert faults(raw) == []
    assert time.process_time() - began < 2.5, "measured: up to 0.8 s on an idle machine; four times that under load"


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"", "empty"),
        (b"\n \t\n", "empty"),
        (b"\x7fELF" + bytes(range(32)) * 99, "no text"),
        (b"\x1f\x8b\x08\x00abc", "packed (gzip)"),
    ],
)
def test_what_cannot_be_read_is_said(raw: bytes, words: str) -> None:
    with pytest.raises(CannotCheckError) as error:
        collect_log(io.BytesIO(raw), "x.log")
    assert words in str(error.value) and error.value.help


def test_an_interrupt_in_the_middle_is_not_the_end() -> None:
    text = 'KeyboardInterrupt\n\nTraceback (most recent call last):\n  File "a.py", line 2, in f\nValueError: x\n'
    assert evidence_of(parse_log(text)).ending is None


def test_quotes_carry_the_numbers_of_their_lines_in_the_whole() -> None:
    lines = [f"step {number}" for number in range(30_000)] + ["RuntimeError: can't start new thread"]
    report = explain(collect_log(io.BytesIO("\n".join(lines).encode()), "x"))
    assert report.verdict is not None and report.verdict.because[0].startswith("line 30001: ")
