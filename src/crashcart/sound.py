"""Whether a file is sound: what was asked, what was learnt of one file, and each thing that is wrong with it.

Covers: the closed list of kinds of faults, and the frozen types that pass between the checks of files (`probe/file_check.py`),
the room that runs them (`data/`) and whatever carries them elsewhere (JSON, another process, another machine).
Does not cover: reading any file (`probe/file_*.py`), or what the faults of many files mean together (`data/`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Protocol, TypeAlias

JSON: TypeAlias = Any
"""Whatever `json.dumps` takes."""

DAMAGE = "damage"
"""Training would fail on this file, or read garbage."""
ODD = "odd"
"""It can be read, and may be meant so; a reader who expects the usual is surprised."""
UNCHECKED = "unchecked"
"""Nothing is known about this part of the file: it was not looked at, and is not called sound."""
WEIGHTS = (DAMAGE, ODD, UNCHECKED)

KINDS: Mapping[str, str] = {
    # Whether there is a file at all.
    "missing": "There is no file by this name.",
    "dangling-link": "A link that leads to no file.",
    "link-loop": "A link that leads back to itself.",
    "not-a-file": "A socket, a pipe or a device: nothing that can be read as a file. It was not opened.",
    "unreadable": "The file could not be opened or read.",
    "zero-bytes": "The file is empty.",
    "wrong-extension": "The content is of another format than the name says.",
    "unknown-format": "Neither the name nor the content says what this is.",
    "not-checked": "It was not checked: there is no check of its kind, it needs a key, or the process that checked it was ended.",
    "no-library": "It was not checked: the library that reads its format is not installed, or does not load.",
    "not-fetched": "The file could not be fetched: the connection failed, or the cluster that was to check it.",
    # Any format.
    "truncated": "The file ends before its content does.",
    "trailing-bytes": "Something follows after the end of the content.",
    "not-decodable": "The content breaks the rules of its format; a reader fails.",
    "crc-mismatch": "A checksum in the file does not fit the bytes that it protects.",
    "zero-filled": "A stretch of nothing but zeros, as a crash or an unfinished download leaves it.",
    "decoder-crashed": "The decoder itself crashed on this file.",
    "too-slow": "The check did not end in the time that it was given.",
    "too-large": "The file asks for more memory than a check may take.",
    # Images.
    "not-for-tensorflow": "The file is whole, but TensorFlow's own decoder does not read it.",
    "recovered": "The decoder met damage, and filled in what it could not read.",
    "odd-mode": "Colours or depth that readers of ordinary images do not expect.",
    "odd-size": "A size that ordinary images do not have.",
    "animated": "More than one frame: a decoder that gives frames gives one dimension more.",
    # Records, tables, arrays, sound.
    "not-an-example": "A record that does not parse as a tf.train.Example.",
    "schema-drift": "Records of one file differ in their features or types.",
    "label-out-of-range": "A label lies outside of the classes.",
    "nan": "NaN or infinite values.",
    "row-width": "Rows of one table differ in their number of columns.",
    "column-type": "A column of numbers holds something else, too.",
    "bad-json": "A line that is not JSON.",
    "empty-line": "An empty line between lines of content.",
    "encoding": "Text that is not UTF-8.",
    "byte-order-mark": "Text that begins with a byte order mark.",
    "nul-bytes": "NUL bytes inside of text.",
    "no-content": "Not empty as a file, but nothing is in it.",
    "needs-pickle": "An array of Python objects: loading it would run code from the file, so it was not loaded.",
    "silence": "Sound that is silent throughout.",
    # Archives.
    "unsafe-name": "A member whose name leads out of the folder that it is unpacked into.",
    "duplicate-member": "Two members of one name.",
    "encrypted": "A member that needs a password: it was not checked.",
}
"""Each kind of fault, in one plain sentence. The list is closed: rules and reports rely on it."""

FOREIGN = frozenset(("not-for-tensorflow",))
"""Kinds of files that are whole, and that TensorFlow cannot read. Other readers can: it is no damage; but they are not good."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong with one file; told once per kind, with the number of times that it was met."""

    kind: str
    detail: str
    """What was seen, with numbers, in one line."""
    where: str | None = None
    """The first place: `record 17`, `row 3`, `member a/b.jpg`, `byte 12034`."""
    weight: str = DAMAGE
    count: int = 1
    """How often it was met in this file."""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"received the kind {self.kind!r}; expected one of sound.KINDS")
        if self.weight not in WEIGHTS:
            raise ValueError(f"received the weight {self.weight!r}; expected one of {', '.join(WEIGHTS)}")

    def to_json(self) -> dict[str, Any]:
        """As a JSON object."""
        return {
            "kind": self.kind, "detail": self.detail, "where": self.where, "weight": self.weight, "count": self.count,
        }  # fmt: skip

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> Fault:
        """Back from `to_json`."""
        return cls(given["kind"], given["detail"], given["where"], given["weight"], given["count"])


@dataclass(frozen=True, slots=True)
class Checked:
    """What was learnt of one file."""

    path: str
    bytes: int | None = None
    modified_ns: int | None = None
    format: str | None = None
    """What the content is, by its first bytes: `jpeg`, `tfrecord`, `csv`… None where it is not known."""
    digest: str | None = None
    """A cheap mark of the content, where `Wanted.duplicates` asked for it: equal content has an equal mark. Different content
    may have an equal mark, too (once in 2**32 files of one size): `probe.file_digest.full` tells candidates apart."""
    faults: tuple[Fault, ...] = ()
    facts: Mapping[str, JSON] = field(default_factory=dict)
    """By format: width, height, channels, mode; records and features; columns and types; dtype and shape; rate…"""

    @property
    def damaged(self) -> bool:
        """Training would fail on it, or read garbage."""
        return any(fault.weight == DAMAGE for fault in self.faults)

    @property
    def unchecked(self) -> bool:
        """Something in it was not looked at."""
        return any(fault.weight == UNCHECKED for fault in self.faults)

    @property
    def foreign(self) -> bool:
        """Checked as a whole and not damaged, but nothing that TensorFlow reads."""
        return not self.damaged and not self.unchecked and any(fault.kind in FOREIGN for fault in self.faults)

    @property
    def good(self) -> bool:
        """Checked as a whole, and training can read it (it may be odd)."""
        return not self.damaged and not self.unchecked and not self.foreign

    def to_json(self) -> dict[str, Any]:
        """As a JSON object."""
        return {
            "path": self.path, "bytes": self.bytes, "modified_ns": self.modified_ns, "format": self.format,
            "digest": self.digest, "faults": [fault.to_json() for fault in self.faults], "facts": dict(self.facts),
        }  # fmt: skip

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> Checked:
        """Back from `to_json`."""
        return cls(
            given["path"], given["bytes"], given["modified_ns"], given["format"], given["digest"],
            tuple(Fault.from_json(fault) for fault in given["faults"]), given["facts"],
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the user asked to be checked."""

    classes: int | None = None
    """How many classes there are: labels are 0 … classes - 1."""
    label: str | None = None
    """The feature, column, key or array that holds the label; None tries the usual names."""
    duplicates: bool = False
    """Whether `Checked.digest` is wanted."""
    quick: bool = False
    """Headers, lengths and ends alone; nothing is decoded as a whole."""
    members: bool = True
    """Whether the members of archives are checked, too."""
    tensorflow: tuple[int, int] | None = None
    """The release of TensorFlow that is to read the files, (2, 21); None takes the newest."""
    most_pixels: int = 256 * 1024**2
    """Images that claim more pixels are told as too large, and not decoded. Counted over all frames.

    A quarter of a gigapixel is three quarters of a gigabyte in RGB: more than the largest photographs of usual cameras
    (150 megapixels), and what a worker can hold for a moment."""


class Source(Protocol):
    """A file wherever it lies."""

    @property
    def path(self) -> str:
        """The name by which the user knows it."""

    @property
    def local(self) -> str | None:
        """Its path on this machine, where it has one: it can be mapped into memory then."""

    def size(self) -> int | None:
        """Its size in bytes; None where that is not known."""

    def open(self) -> BinaryIO:
        """Open it for reading; raises OSError where that fails."""
