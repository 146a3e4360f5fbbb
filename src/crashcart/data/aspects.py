"""What the files of one family usually share: the values in which one file can differ from the others.

Covers: images (channels, size), tf.train.Examples (features, their types and lengths), tables (columns and their types),
arrays (type, number of dimensions), sound (rate, channels).
Does not cover: counting (`tally.py`), or what is odd (`drift.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Any, NamedTuple

from crashcart.sound import Checked
from crashcart.units import plural

IMAGES, EXAMPLES, TABLES, ARRAYS, SOUND = "images", "records", "tables", "arrays", "sound"
_FAMILIES = {
    **dict.fromkeys(("jpeg", "png", "gif", "bmp", "webp"), IMAGES),
    "tfrecord": EXAMPLES,
    **dict.fromkeys(("csv", "tsv", "jsonl", "parquet", "arrow", "feather"), TABLES),
    **dict.fromkeys(("npy",), ARRAYS),
    **dict.fromkeys(("wav", "flac"), SOUND),
}
_MOST_CHARS = 400
# Types and lengths are compared one by one; more features or columns than this are compared by their names alone.
_MOST_FEATURES = 64


class Aspect(NamedTuple):
    """A value that files of a family may share."""

    family: str
    format: str
    """Tables and sound of different formats are not compared; images are."""
    name: str
    value: str


def aspects(checked: Checked) -> Iterator[Aspect]:
    """The values of one file; none where it is damaged: what can be read of it may not be what it was."""
    family = _FAMILIES.get(checked.format or "")
    if family is None or checked.damaged or not checked.facts:
        return
    read = _READERS[family]
    form = "" if family == IMAGES else checked.format or ""
    for name, value in read(checked.facts):
        yield Aspect(family, form, name, _bounded(value))


def image_key(checked: Checked) -> tuple[object, ...] | None:
    """What all aspects of a picture follow from; None for other files, and where one of these is not known."""
    facts = checked.facts
    if _FAMILIES.get(checked.format or "") != IMAGES or (checked.faults and checked.damaged):
        return None
    key = (facts.get("channels"), facts.get("width"), facts.get("height"))
    return None if None in key else key


def _bounded(value: str) -> str:
    """The value, or its beginning with a mark of the whole."""
    if len(value) <= _MOST_CHARS:
        return value
    return f"{value[:_MOST_CHARS]}… #{blake2b(value.encode('utf-8', 'replace'), digest_size=6).hexdigest()}"


Facts = Mapping[str, Any]
Values = Iterator[tuple[str, str]]


def _of_image(facts: Facts) -> Values:
    if facts.get("channels") is not None:
        yield "channels", plural(facts["channels"], "channel")
    if facts.get("width") is not None and facts.get("height") is not None:
        yield "size", f"{facts['width']} × {facts['height']}"


def _of_examples(facts: Facts) -> Values:
    """Names of features; then type and length of each, where a file shows them."""
    features = facts.get("features")
    if not isinstance(features, Mapping) or not features:
        return
    yield "features", ", ".join(sorted(features))
    if len(features) > _MOST_FEATURES:
        return
    for name in sorted(features):
        kind, least, most = features[name]
        if kind != "empty":
            yield f"type of {name}", str(kind)
            yield f"length of {name}", str(most) if least == most else VARIES


VARIES = "varies"


def _of_table(facts: Facts) -> Values:
    """Names of columns; then the type of each. Text does not tell 1 from 1.0: both are numbers."""
    columns = facts.get("columns")
    if not isinstance(columns, Mapping) or not columns:
        return
    names = list(columns) if "delimiter" in facts else sorted(columns)  # in text, a column is known by its place
    yield "columns", ", ".join(names)
    if len(columns) > _MOST_FEATURES:
        return
    for name, kinds in columns.items():
        known = {_COARSE.get(kind, kind) for kind in str(kinds).split("/")} - _NOTHING
        if known:
            yield f"type of {name}", "/".join(sorted(known))


_COARSE = {"int": "number", "float": "number", "integer": "number"}
_NOTHING = {"null", "empty", "none", ""}


def _of_array(facts: Facts) -> Values:
    if facts.get("dtype") is not None:
        yield "type", str(facts["dtype"])
    shape = facts.get("shape")
    if isinstance(shape, (list, tuple)):
        yield "dimensions", plural(len(shape), "dimension")


def _of_sound(facts: Facts) -> Values:
    if facts.get("rate_hz") is not None:
        yield "rate", f"{facts['rate_hz']} Hz"
    if facts.get("channels") is not None:
        yield "channels", plural(facts["channels"], "channel")


_READERS = {IMAGES: _of_image, EXAMPLES: _of_examples, TABLES: _of_table, ARRAYS: _of_array, SOUND: _of_sound}
