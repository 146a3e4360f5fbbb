"""What the records of a TFRecord file hold together: features, their kinds and ranges; and the usual names of labels.

Covers: the summary that both walks over records make (`file_tfrecord.py`, `file_example.py`), as facts.
Does not cover: comparing files with each other (`data/`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from crashcart.probe.file_native import Walk
from crashcart.sound import Wanted

EMPTY, BYTES, FLOAT, INT, LIST = 1, 2, 4, 8, 16
_NAMES = {BYTES: "bytes", FLOAT: "float", INT: "int64"}
LABELS = (
    "label",
    "labels",
    "class",
    "target",
    "y",
    "image/class/label",
    "class_id",
    "category",
    "image/object/class/label",
)
"""Names that hold labels in most data sets; the first that is there is taken where the user names none."""
MOST_FEATURES_TOLD = 256


@dataclass(slots=True)
class FeatureSeen:
    """One feature over all records."""

    name: str
    bits: int = 0
    records: int = 0
    least: int | None = None
    most: int = 0
    low: int | None = None
    high: int | None = None
    not_finite: int = 0
    first_not_finite: int = 0
    outside: int = 0
    first_outside: int = 0
    first_other_kind: int | None = None
    filled: int = 0
    """Values of bytes that are not empty."""
    pictures: int = 0
    """Those that begin as a picture does."""
    first_plain: int | None = None
    """The record of the first that does not."""
    last_record: int = -1

    @property
    def kinds(self) -> list[str]:
        """What its values are; one kind where records agree."""
        return [name for bit, name in _NAMES.items() if self.bits & bit] or ["empty"]


@dataclass(slots=True)
class Schema:
    """All records of a file."""

    records: int = 0
    empty: int = 0
    data_bytes: int = 0
    least_bytes: int | None = None
    most_bytes: int = 0
    bad_data: int = 0
    first_bad_data: int = 0
    examples: int = 0
    sequences: int = 0
    others: int = 0
    first_other: int = 0
    too_many: bool = False
    features: list[FeatureSeen] = field(default_factory=list)

    @classmethod
    def of_walk(cls, walk: Walk) -> Schema:
        """From the C structure."""
        schema = cls(
            walk.records, walk.empty, walk.data_bytes, walk.least_bytes if walk.records else None, walk.most_bytes, walk.bad_data,
            walk.first_bad_data, walk.examples, walk.sequences, walk.others, walk.first_other, bool(walk.too_many),
        )  # fmt: skip
        for at in range(walk.features_count):
            given = walk.features[at]
            name = bytes(given.name[: given.name_bytes]).decode("utf-8", "backslashreplace")
            whole = given.low <= given.high
            feature = FeatureSeen(
                name, given.kinds, given.records, given.least, given.most, given.low if whole else None,
                given.high if whole else None, given.not_finite, given.first_not_finite, given.outside, given.first_outside,
                given.first_other_kind - 1 if given.first_other_kind else None, given.filled, given.pictures,
                given.first_plain - 1 if given.first_plain else None,
            )  # fmt: skip
            schema.features.append(feature)
        return schema

    def label(self, wanted: Wanted) -> FeatureSeen | None:
        """The feature that holds the label: the one that was named, or the first of a usual name that holds integers."""
        known = {feature.name: feature for feature in self.features if feature.bits & INT}
        name = label_among(known, wanted.label)
        return None if name is None else known[name]


def feature_facts(schema: Schema, wanted: Wanted) -> dict[str, Any]:
    """As facts: the number of records, and {name: [kind, least, most values]}."""
    facts: dict[str, Any] = {"records": schema.records}
    if schema.records:
        facts.update(
            record_min_bytes=schema.least_bytes, record_max_bytes=schema.most_bytes, data_bytes=schema.data_bytes
        )
    if schema.examples + schema.sequences - schema.empty <= 0:
        return facts
    facts["payload"] = "SequenceExample" if schema.sequences else "Example"
    ordered = sorted(schema.features, key=lambda feature: feature.name)[:MOST_FEATURES_TOLD]
    facts["features"] = {
        f.name: ["/".join(f.kinds) + (" list" if f.bits & LIST else ""), f.least, f.most] for f in ordered
    }
    pictures = {f.name: f.pictures for f in ordered if f.pictures}
    if pictures:
        facts["pictures"] = pictures
    some = {f.name: f.records for f in ordered if f.records < schema.examples + schema.sequences}
    if some:
        facts["features_in_some"] = some
    if schema.too_many:
        facts["features_left_out"] = True
    label = schema.label(wanted)
    if label is not None:
        facts.update(label=label.name, label_min=label.low, label_max=label.high)
    return facts


def label_among(names: Iterable[str], wished: str | None) -> str | None:
    """The name that holds the label: the one that was wished for, or the first usual one; large letters or small ones."""
    there = list(names)
    folded = {name.lower(): name for name in reversed(there)}
    for want in (wished,) if wished is not None else LABELS:
        if want in there:
            return want
        if want.lower() in folded:
            return folded[want.lower()]
    return None


def widen(known: dict[str, Any], found: Mapping[str, Any]) -> None:
    """Take the labels of one part of a file into what is known of all its parts."""
    for name, choose in (("label_min", min), ("label_max", max)):
        if found.get(name) is not None:
            known[name] = choose(known.get(name, found[name]), found[name])
            known.setdefault("label", found.get("label"))


def outside_words(count: int, name: str | None, classes: int | None, low: int | None, high: int | None) -> str:
    """Labels outside of the classes, in one line."""
    return f"{count} labels in {name!r} lie outside of 0 … {(classes or 0) - 1} (they are {low} … {high})"
