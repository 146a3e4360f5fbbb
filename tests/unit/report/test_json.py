from __future__ import annotations

import json
import math
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from crashcart.finding import Cause, Confidence, Report
from crashcart.report.json import plain, render_json, to_document

from . import examples
from .schema import faults

SCHEMA = json.loads((Path(__file__).parents[3] / "docs" / "schema-1.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", [name for name in examples.EXAMPLES if name != "hostile"])
def test_documents_follow_the_schema(name: str) -> None:
    assert faults(json.loads(render_json(*examples.EXAMPLES[name]())), SCHEMA) == []


def test_a_report_without_evidence_follows_the_schema() -> None:
    document = json.loads(render_json(Report("x", ()), None))
    assert faults(document, SCHEMA) == []
    assert "ending" not in document and "program" not in document


def broken(path: tuple[str | int, ...], value: Any) -> Any:
    document: Any = json.loads(render_json(*examples.oom()))
    part = document
    for step in path[:-1]:
        part = part[step]
    part[path[-1]] = value
    return document


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("schema",), 2),
        (("findings", 0, "cause"), "bad-luck"),
        (("findings", 0, "because"), []),
        (("findings", 0, "where"), "train.py"),
        (("findings", 0, "where", "line"), "5"),
        (("unchecked", 0), {"code": "W1"}),
        (("ending", "at_s"), "soon"),
    ],
)
def test_the_schema_refuses(path: tuple[str | int, ...], value: Any) -> None:
    assert faults(broken(path, value), SCHEMA)


def test_the_schema_knows_every_cause_and_confidence() -> None:
    finding = SCHEMA["$defs"]["finding"]["properties"]
    assert finding["cause"]["enum"] == [cause.value for cause in Cause]
    assert finding["confidence"]["enum"] == [confidence.value for confidence in Confidence]


def test_the_document() -> None:
    document = to_document(*examples.oom())
    assert list(document)[:6] == ["schema", "crashcart", "subject", "findings", "checked", "unchecked"]
    assert document["schema"] == 1
    finding = document["findings"][0]
    assert finding["code"] == "W101"
    assert finding["cause"] == "container-memory"
    assert finding["confidence"] == "certain"
    assert finding["where"] == {
        "file": f"{examples.CWD}/train.py",
        "line": 5,
        "function": "load",
        "source": examples.SOURCE,
        "cell": None,
        "op": None,
        "age_s": 0.3,
        "cell_id": None,
    }
    assert document["findings"][2]["where"] is None
    assert document["unchecked"] == [{"code": "W301", "name": "native-crash-in-library", "missing": ["crash"]}]
    assert document["ending"]["signal_name"] == "SIGKILL"
    assert document["program"]["argv"] == ["python", "train.py", "--epochs", "20"]
    assert document["recording"] == "20240916-120301-4711"


def test_figures_stand_at_the_top_and_replace_nothing() -> None:
    report = Report(
        "x", (), figures={"device_peak_bytes": 12, "stages": ({"bytes": 1},), "schema": 7, "findings": "none"}
    )
    document = to_document(report, None)
    assert document["device_peak_bytes"] == 12
    assert document["stages"] == [{"bytes": 1}]
    assert document["schema"] == 1
    assert document["findings"] == []


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (b"\xff\x00", "ff00"),
        (frozenset({"b", "a"}), ["a", "b"]),
        ((1, (2,)), [1, [2]]),
        ({1: math.inf, "n": math.nan}, {"1": None, "n": None}),
        (Cause.HANG, "hang"),
        (Path("a/b"), "a/b"),
        ("\udce9", "\\udce9"),
        (True, True),
    ],
)
def test_plain(value: object, expected: object) -> None:
    assert plain(value) == expected


def test_text_ends_with_a_newline_and_keeps_letters() -> None:
    rendered = render_json(*examples.oom())
    assert rendered.endswith("}\n")
    assert "340 EagerTensor" in rendered and "docker run --memory 5g …" in rendered


def test_a_hostile_document_is_harmless_on_a_terminal_and_loses_nothing() -> None:
    rendered = render_json(*examples.hostile())
    rendered.encode("utf-8")
    assert not {char for char in rendered if unicodedata.category(char) in ("Cc", "Cf", "Cs")} - {"\n"}
    document = json.loads(rendered)
    assert document["findings"][0]["headline"] == examples.HOSTILE.replace("\udce9", "\\udce9")
    assert len(document["findings"][0]["because"][1]) == 1_000_000
    assert document["schema"] == 1
    assert document["figure"] is None
