"""A report as a JSON document for other programs, described by docs/schema-1.json.

Covers: findings, what was checked and what was not, the ending, the program, the room's own figures.
Does not cover: the evidence itself, which stays in the recording. Fields are added, never renamed.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from crashcart import __version__
from crashcart.evidence import Evidence
from crashcart.finding import Finding, Report, Unchecked
from crashcart.report import cells

SCHEMA = 1
# What json.dumps leaves as it is and a terminal may obey: DEL, C1 controls, and what turns the reading direction.
_OBEYED = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def render_json(report: Report, evidence: Evidence | None) -> str:
    """The document as text. It holds no raw control character, so that it may be shown on a terminal."""
    text = json.dumps(to_document(report, evidence), indent=2, ensure_ascii=False, allow_nan=False)
    return _OBEYED.sub(lambda match: f"\\u{ord(match.group()):04x}", text) + "\n"


def to_document(report: Report, evidence: Evidence | None) -> dict[str, Any]:
    """The document: `ending`, `program` and the room's figures are there where they are known."""
    evidence = evidence or Evidence()
    sections = {"ending": evidence.ending, "program": evidence.program}
    notebook = {"cell": cells.running(evidence), "cells": cells.rows(evidence)} if evidence.cells else {}
    known = {name: plain(section) for name, section in (sections | notebook).items() if section is not None}
    fixed = {
        "schema": SCHEMA,
        "crashcart": __version__,
        "subject": plain(report.subject),
        "findings": [_finding(each) for each in report.findings],
        "checked": plain(report.checked),
        "unchecked": [_unchecked(each) for each in report.unchecked],
        **known,
    }
    figures: dict[str, Any] = plain(report.figures)
    return fixed | {name: value for name, value in figures.items() if name not in fixed}


def _finding(finding: Finding) -> dict[str, Any]:
    order = (
        "code",
        "cause",
        "headline",
        "because",
        "remedy",
        "confidence",
        "where",
        "held",
        "level",
        "holder",
        "bytes_per_step",
    )
    return {name: plain(getattr(finding, name)) for name in order}


def _unchecked(unchecked: Unchecked) -> dict[str, Any]:
    return {"code": plain(unchecked.code), "name": plain(unchecked.name), "missing": plain(unchecked.missing)}


def plain(value: object) -> Any:
    """The value in JSON's own types: bytes in hexadecimal, sets in order, what is no finite number as null."""
    if isinstance(value, Enum):
        return plain(value.value)
    if isinstance(value, str):
        return _text(value)
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).hex()
    return _container(value)


def _container(value: object) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return {_text(str(key)): plain(each) for key, each in value.items()}
    if isinstance(value, AbstractSet):
        return sorted((plain(each) for each in value), key=str)
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return _text(str(value))


def _text(text: str) -> str:
    """The text with halves of surrogate pairs spelled out: no UTF-8 can carry them."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
