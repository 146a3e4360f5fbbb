"""JSON: one document, or one per line, whatever the name says.

Covers: every line parsed, with its number where it does not; keys and their types; labels outside of the classes; a
last line that was cut. Lines are held one at a time.
Does not cover: schemas.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

from crashcart.probe.file_content import MOST_WHOLE_BYTES, Faults, TooLargeError
from crashcart.probe.file_schema import label_among
from crashcart.probe.file_table import Labels
from crashcart.sound import ODD, Wanted

_TYPES = {dict: "object", list: "array", str: "string", int: "int", float: "float", bool: "bool", type(None): "null"}
MOST_KEYS = 1000
_BEYOND = 10**20
"""In place of an integer of hundreds of digits, whose value nobody needs: beyond all that a label may be."""
_OPEN = "Unterminated string"
"""What the parser says of a string that does not end; it gives the place where that begins."""


def lines_of(pieces: Iterator[str]) -> Iterator[tuple[str, bool]]:
    """Lines without their ends, and whether an end followed."""
    rest = ""
    for piece in pieces:
        if len(rest) > MOST_WHOLE_BYTES:
            raise TooLargeError(len(rest))
        first, *others = piece.split("\n")
        rest += first
        for line in others:
            yield rest, True
            rest = line
    if rest:
        yield rest, False


def check_json_lines(pieces: Iterator[str], faults: Faults, wanted: Wanted) -> dict[str, Any]:
    """Every line parsed; keys with the types of their values."""
    keys: dict[str, Counter[str]] = {}
    labels = Labels(wanted, "line")
    number = rows = 0
    blank: int | None = None
    for line, ended in lines_of(pieces):
        number += 1
        if not line.strip():
            blank = blank or number
            continue
        if blank is not None:
            faults.add("empty-line", f"line {blank} is empty", f"line {blank}", ODD)
            blank = None
        try:
            value = _parsed(line.lstrip("\ufeff") if number == 1 else line)
        except json.JSONDecodeError as error:
            if not (wanted.quick and not ended):
                _bad(line, ended, number, error, faults)
            continue
        rows += 1
        if isinstance(value, dict):
            _note(value, keys, labels, number)
    labels.judge(faults)
    return {"rows": rows, "columns": {key: "/".join(sorted(kinds)) for key, kinds in keys.items()}, **labels.facts()}


def _parsed(text: str) -> Any:
    """The value; raises JSONDecodeError for what is no JSON, and for nothing else."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise
    except (
        ValueError
    ):  # a number of more digits than Python converts: right as JSON. A function of ours takes twice as long.
        return json.loads(text, parse_int=_whole)


def _whole(digits: str) -> int:
    if len(digits) <= sys.int_info.str_digits_check_threshold:
        return int(digits)
    return -_BEYOND if digits.startswith("-") else _BEYOND


def _bad(line: str, ended: bool, number: int, error: json.JSONDecodeError, faults: Faults) -> None:
    reason, column = error.msg, error.colno
    if not ended and (column >= len(line.rstrip()) or _OPEN in reason):
        faults.add("truncated", f"the last line ends inside of its JSON: {reason}", f"line {number}")
    else:
        faults.add("bad-json", f"line {number}: {reason} at column {column}", f"line {number}")


def _note(value: dict[str, Any], keys: dict[str, Counter[str]], labels: Labels, number: int) -> None:
    known = len(keys)
    for key, item in value.items():
        if key in keys or len(keys) < MOST_KEYS:
            keys.setdefault(key, Counter())[_TYPES.get(type(item), "?")] += 1
    if labels.name is None and len(keys) > known:
        labels.name = label_among(keys, labels.wished)
    if labels.name is not None and labels.name in value:
        labels.see(value[labels.name], number)


def check_json(pieces: Iterator[str], faults: Faults, wanted: Wanted) -> dict[str, Any]:
    """The document as a whole; one on each line where they are so many, as Spark and BigQuery write them under this name."""
    parts: list[str] = []
    length, ended, lines = 0, False, None
    for piece in pieces:
        length += len(piece)
        if length > MOST_WHOLE_BYTES:
            raise TooLargeError(length)
        parts.append(piece)
        ended = ended or "\n" in piece
        if ended and lines is None and (lines := _are_lines("".join(parts))):
            return {"format": "jsonl", **check_json_lines(itertools.chain(parts, pieces), faults, wanted)}
    text = "".join(parts).lstrip("\ufeff")
    return {} if wanted.quick or not text.strip() else _document(text, faults)


def _are_lines(text: str) -> bool | None:
    """Whether a document ends with the first line and something follows, which no single document has; None: too early to say."""
    first, _, rest = text.lstrip("\ufeff \t\r\n").partition("\n")
    if not rest.strip():
        return None
    try:
        _parsed(first)
    except json.JSONDecodeError:
        return False
    return True


def _document(text: str, faults: Faults) -> dict[str, Any]:
    try:
        value = _parsed(text)
    except json.JSONDecodeError as error:
        reason, line = error.msg, error.lineno
        if error.pos >= len(text.rstrip()) or _OPEN in reason:
            faults.add("truncated", f"the file ends inside of its JSON: {reason}", f"line {line}")
        else:
            faults.add("bad-json", f"line {line}: {reason} at column {error.colno}", f"line {line}")
        return {}
    return {"kind": _TYPES.get(type(value), "?"), **({"rows": len(value)} if isinstance(value, list) else {})}
