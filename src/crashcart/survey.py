"""What was learnt of all files of a data set together: counts, examples, what differs from the rest, what was not
looked at.

Covers: the frozen section of `Evidence` that the rules of `data/` read.
Does not cover: what is learnt of one file (`sound.py`), or the fold that counts (`data/tally.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, order=True)
class Example:
    """One file that shows what is meant."""

    path: str
    detail: str = ""
    where: str | None = None


@dataclass(frozen=True, slots=True)
class KindCount:
    """How many files have one kind of fault at one weight."""

    kind: str
    weight: str
    files: int
    times: int
    """How often it was met, over all these files."""
    examples: tuple[Example, ...] = ()
    """The first few by name."""


@dataclass(frozen=True, slots=True)
class Outlier:
    """One way in which some files differ from the most."""

    value: str
    files: int
    examples: tuple[Example, ...] = ()


@dataclass(frozen=True, slots=True)
class Drift:
    """A property that most files of a family share, and some do not."""

    family: str
    """images, tfrecord, csv…"""
    aspect: str
    """channels, size, features, columns…"""
    usual: str
    usual_files: int
    other_files: int
    outliers: tuple[Outlier, ...] = ()
    """The most frequent first."""


@dataclass(frozen=True, slots=True)
class SameContent:
    """Files whose content is the same."""

    bytes: int
    files: int
    examples: tuple[Example, ...] = ()
    splits: tuple[str, ...] = ()
    """The parts of the data set that it lies in, where these are named as such: test, train, val."""
    plain: bool = False
    """Text, or a few bytes: labels and notes are alike without being one example twice."""


@dataclass(frozen=True, slots=True)
class Duplicates:
    """All groups of files with the same content."""

    groups: int = 0
    spare_files: int = 0
    """How many files could be missed: all but one of each group."""
    spare_bytes: int = 0
    leaking_groups: int = 0
    """Groups that lie in more than one part of the data set, such as train and test; not those that are plain."""
    examples: tuple[SameContent, ...] = ()
    unread_files: int = 0
    """Files that were the same at the first look and could not be read again to make sure."""
    plain_groups: int = 0
    """Groups of text, or of a few bytes."""


@dataclass(frozen=True, slots=True)
class Passed:
    """Something that was not looked into, and why."""

    reason: str
    count: int
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Restart:
    """A process that ended while it checked a file which, checked again alone, did it no harm."""

    path: str
    how: str


@dataclass(frozen=True, slots=True)
class Survey:
    """All files of a data set."""

    files: int
    bytes: int
    good_files: int
    """Checked as a whole, and training can read them; they may be odd. These are what a list of good files holds."""
    damaged_files: int = 0
    odd_files: int = 0
    """Good, with something odd about them."""
    unchecked_files: int = 0
    """Not damaged as far as is known, but not checked as a whole."""
    kinds: tuple[KindCount, ...] = ()
    formats: Mapping[str, int] = field(default_factory=dict)
    """Files by format; `unknown` for those whose format is not known."""
    drifts: tuple[Drift, ...] = ()
    duplicates: Duplicates | None = None
    """None where it was not asked for."""
    passed: tuple[Passed, ...] = ()
    restarts: tuple[Restart, ...] = ()
    restarted: int = 0
    foreign_files: int = 0
    """Whole, but nothing that TensorFlow reads: neither damaged nor good."""
    label_low: float | None = None
    label_high: float | None = None
    label_files: int = 0
    known_files: int = 0
    """Not read again, since nothing changed after an earlier run."""
    pending_files: int = 0
    """Found, and not checked before the run was interrupted."""
    interrupted: bool = False
    """The run ended before all files were found and checked."""
    quick: bool = False
    """Structure alone was looked at; nothing was decoded. Files that are known from a whole check are known from that."""
    stopped: str | None = None
    """Why it ended before that by itself, where nobody interrupted it."""
    seconds: float | None = None
    workers: int | None = None
    paths: tuple[str, ...] = ()
    """What the user named."""
    options: tuple[str, ...] = ()
    """How the files were to be checked, as words of the command."""
    results: tuple[str, ...] = ()
    """What was to be written and moved, as words of the command."""
    classes: int | None = None
    """How many classes the labels were to be held against."""
    label: str | None = None
    """Which feature, column, key or array was said to hold them."""

    @property
    def labels_missed(self) -> bool:
        """Whether labels were to be checked, and none were met: nobody knows whether they are right."""
        return (self.classes is not None or self.label is not None) and not self.label_files and not self.interrupted
