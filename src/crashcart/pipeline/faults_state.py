"""What is known of the elements that failed: counted, logged, and raised when there are too many.

Covers: one explained dataset over all its epochs and iterators; safe between threads. Does not cover: finding out
(`faults_find`).
"""

from __future__ import annotations

import json
import logging
import re
import threading
from collections import deque
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from crashcart.errors import CrashcartError
from crashcart.units import plural

_LONE = re.compile("[\ud800-\udfff]")


class ElementError(CrashcartError):
    """An element failed in a pipeline. `fault` has the parts of the message; `__cause__` is TensorFlow's own error."""

    exit_code = 1
    help = (
        "Repair or remove the file, or leave such elements out: cc.explain_errors(dataset, policy='skip', at_most=10)."
    )

    def __init__(self, message: str, fault: Fault | None = None) -> None:
        super().__init__(message)
        self.fault = fault


def spelled(text: str) -> str:
    """A text without characters that break a line, or that TensorFlow cannot make an error of: bytes that are no UTF-8."""
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode("ascii") for each in text)


@dataclass(frozen=True, slots=True)
class Fault:
    """One element that failed."""

    stage: str
    """As it was written: `map(decode)`."""
    line: str | None
    """Where the function of the stage is: `train.py:12`."""
    position: int | None
    """Which element of the stage's input it was, in the order in which it came, from 0."""
    index: int | None
    """Which element of the source it is, whatever was shuffled since, from 0; None where that was not found."""
    file: str | None
    record: int | None
    """Which record of the file it is, from 0, where the file has records."""
    error: str
    value: str | None = None
    """What went into the stage, where there is no file: shapes, and small values."""

    def __str__(self) -> str:
        known = [] if self.index is None else [f"element {self.index}"]
        if self.file:
            known.append(f"file {spelled(self.file)}")
            known += [] if self.record is None else [f"record {self.record}"]
        elif self.value:
            known.append(self.value)
        if self.index is None and self.record is None and self.position is not None:
            known.insert(0, f"the element at position {self.position}")
        where = f" ({self.line})" if self.line else ""
        return f"{', '.join(known) or 'an element'}: failed in {self.stage}{where}: {self.error}"

    @property
    def identity(self) -> tuple[Any, ...]:
        """The same for the same element in each epoch, as far as it is known."""
        own = (
            (self.file, self.record, self.index) if self.file or self.index is not None else (self.position, self.value)
        )
        return (self.stage, *own)


class Faults:
    """The count of one explained dataset."""

    KEPT = 1000
    """Faults that are kept in memory; all are counted, and logged."""
    RAISED = 256
    """Errors that wait for the iterator that meets them: TensorFlow reads ahead, so several may, of one iterator or more."""

    def __init__(self, skips: bool, at_most: int | None, log: str | Path | list[Any] | None) -> None:
        self.skips = skips
        self.at_most = at_most
        self._log = log
        self._lock = threading.Lock()
        self._seen: list[Fault] = []
        self._identities: set[tuple[Any, ...]] = set()
        self._raised: deque[ElementError] = deque(maxlen=self.RAISED)
        self.skipped = 0
        self.epoch = 1
        self._epoch_skipped = 0

    @property
    def seen(self) -> tuple[Fault, ...]:
        """The faults so far, in the order of their coming; the first thousand."""
        with self._lock:
            return tuple(self._seen)

    def add(self, fault: Fault, cause: BaseException | None) -> None:
        """Count and log it; ElementError where it is not to be skipped, or one too many."""
        with self._lock:
            if len(self._seen) < self.KEPT:
                self._seen.append(fault)
            self._identities.add(fault.identity)
            if self.skips:
                self.skipped += 1
                self._epoch_skipped += 1
                self._write({**asdict(fault), "epoch": self.epoch})
            many = self.at_most is not None and len(self._identities) > self.at_most
            if self.skips and not many:
                return
            said = str(fault)
            if self.skips:
                failed = plural(len(self._identities), "element")
                said = f"{failed} failed, and at most {self.at_most} may be skipped; the last: {said}"
            raised = ElementError(said, fault)
            raised.__cause__ = cause.with_traceback(None) if cause is not None else None  # its frames are ours
            self._raised.append(raised)
            raise raised

    def take_raised(self, text: str) -> ElementError | None:
        """What `add` raised and TensorFlow has made `text` of on its way, once. None where the text is of something else."""
        with self._lock:
            raised = next((each for each in self._raised if str(each) in text), None)
            if raised is not None:
                self._raised.remove(raised)
            return raised

    def end_of_epoch(self) -> bool:
        """Tell the summary, and begin to count the next epoch. False, as no element comes of it."""
        with self._lock:
            row = {"epoch": self.epoch, "skipped_in_epoch": self._epoch_skipped, "skipped": self.skipped}
            row["distinct"] = len(self._identities)
            self._write({"summary": row})
            if self._epoch_skipped:
                logging.getLogger("crashcart").warning(
                    "crashcart: epoch %d: %s skipped, %d in all",
                    self.epoch,
                    plural(self._epoch_skipped, "element"),
                    self.skipped,
                )
            self.epoch += 1
            self._epoch_skipped = 0
        return False

    def summary(self) -> str:
        """The count in words."""
        with self._lock:
            distinct = len(self._identities)
            return f"{plural(self.skipped, 'element')} skipped ({distinct} different) in {plural(self.epoch - 1, 'whole epoch')}"

    def _write(self, row: dict[str, Any]) -> None:
        if isinstance(self._log, list):
            self._log.append(row)
        elif self._log is not None:
            with Path(self._log).open("a", encoding="utf-8") as file:
                file.write(_line(row) + "\n")


def _line(row: dict[str, Any]) -> str:
    """As JSON. A name that is no UTF-8 is spelled with escapes, which Python's own reader takes back without loss."""
    text = json.dumps(row, ensure_ascii=False)
    return json.dumps(row) if _LONE.search(text) else text
