"""The fold over all files: counts and a few examples of each kind, in memory that does not grow with their number.

Covers: adding one file (in any order: the result is the same), the whole as a `Survey`.
Does not cover: duplicates (`duplicates.py`), which need all files at once.
"""

from __future__ import annotations

from bisect import insort
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from crashcart.data.aspects import Aspect, aspects, image_key
from crashcart.data.drift import drifts
from crashcart.sound import JSON, Checked, Fault
from crashcart.survey import Example, KindCount, Survey

MOST_EXAMPLES = 3
# Values of one aspect, such as sizes of images, that are told apart. One that most files share is among the first.
MOST_VALUES = 4096
# The same over all aspects: files may have any number of features.
MOST_VALUES_IN_ALL = 50_000
_MOST_DETAIL_CHARS = 300
_IMAGE_ASPECTS = 2


@dataclass
class Seen:
    """A count, with the first few examples by name: the same whatever the order."""

    files: int = 0
    times: int = 0
    examples: list[Example] = field(default_factory=list)

    def add(self, example: Example, times: int = 1) -> None:
        """Count one file."""
        self.files += 1
        self.times += times
        self._keep(example)

    def add_path(self, path: str) -> None:
        """Count one file by its name alone. Most are not among the first few, and become no example at all."""
        self.files += 1
        self.times += 1
        if len(self.examples) < MOST_EXAMPLES or path < self.examples[-1].path:
            self._keep(Example(path))

    def _keep(self, example: Example) -> None:
        if len(self.examples) < MOST_EXAMPLES or example < self.examples[-1]:
            insort(self.examples, example)
            del self.examples[MOST_EXAMPLES:]


AspectKey = tuple[str, str, str]


class Tally:
    """What was learnt of the files so far."""

    def __init__(self) -> None:
        self.files = self.bytes = self.good = self.damaged = self.odd = self.unchecked = self.foreign = 0
        self.formats: Counter[str] = Counter()
        self.kinds: dict[tuple[str, str], Seen] = {}
        self.values: dict[AspectKey, dict[str, Seen]] = {}
        self.unnamed: Counter[AspectKey] = Counter()
        """Files whose value was one too many to be told apart."""
        self._values = 0
        self._alike: dict[tuple[object, ...], list[Seen]] = {}
        """Where pictures of one size and kind are counted: most are like others before them."""
        self._last_facts: Mapping[str, JSON] | None = None
        self._last_seen: list[Seen] = []
        self.label_low: float | None = None
        self.label_high: float | None = None
        self.label_files = 0

    def add(self, checked: Checked) -> None:
        """Count one file."""
        self.files += 1
        self.bytes += checked.bytes or 0
        self.formats[checked.format or "unknown"] += 1
        if checked.faults:
            self._add_faults(checked)
        else:
            self.good += 1
        if checked.facts:
            self._add_facts(checked)

    def _add_facts(self, checked: Checked) -> None:
        if checked.facts is self._last_facts and not checked.faults:
            for seen in self._last_seen:
                seen.add_path(checked.path)
            return
        alike = image_key(checked)
        if alike is None:
            for aspect in aspects(checked):
                self._add_aspect(checked.path, aspect)
            self._add_labels(checked)
            return
        known = self._alike.get(alike)
        if known is None:
            counted = (self._seen(aspect[:3], aspect.value, 0) for aspect in aspects(checked))
            known = [seen for seen in counted if seen is not None]
            if len(known) < _IMAGE_ASPECTS:  # one is counted without its name: each time anew
                for aspect in aspects(checked):
                    self._add_aspect(checked.path, aspect)
                return
            self._alike[alike] = known
        if not checked.faults:  # whoever shares these facts is a picture like this one
            self._last_facts, self._last_seen = checked.facts, known
        for seen in known:
            seen.add_path(checked.path)

    def _add_faults(self, checked: Checked) -> None:
        damaged, good, foreign = checked.damaged, checked.good, checked.foreign
        self.damaged += damaged
        self.foreign += foreign
        self.unchecked += not (damaged or good or foreign)
        self.good += good
        self.odd += good
        for fault in checked.faults:
            self._add_fault(checked.path, fault)

    def _add_fault(self, path: str, fault: Fault) -> None:
        seen = self.kinds.setdefault((fault.kind, fault.weight), Seen())
        seen.add(Example(path, fault.detail[:_MOST_DETAIL_CHARS], fault.where), fault.count)

    def _add_aspect(self, path: str, aspect: Aspect) -> None:
        seen = self._seen(aspect[:3], aspect.value, 1)
        if seen is not None:
            seen.add_path(path)

    def _seen(self, key: AspectKey, value: str, files: int) -> Seen | None:
        """Where a value is counted; None where it is one too many, and counted without its name."""
        values = self.values.get(key)
        if values is not None and value in values:
            return values[value]
        if self._values >= MOST_VALUES_IN_ALL or (values is not None and len(values) >= MOST_VALUES):
            if values is not None:
                self.unnamed[key] += files
            return None
        self._values += 1
        return self.values.setdefault(key, {}).setdefault(value, Seen())

    def _add_labels(self, checked: Checked) -> None:
        low, high = checked.facts.get("label_min"), checked.facts.get("label_max")
        if isinstance(low, (int, float)) and isinstance(high, (int, float)):
            self._widen(low, high)
            self.label_files += 1

    def _widen(self, low: float, high: float) -> None:
        self.label_low = low if self.label_low is None else min(self.label_low, low)
        self.label_high = high if self.label_high is None else max(self.label_high, high)

    def survey(self) -> Survey:
        """All of it, frozen."""
        kinds = (
            KindCount(kind, weight, seen.files, seen.times, tuple(seen.examples))
            for (kind, weight), seen in self.kinds.items()
        )
        return Survey(
            self.files, self.bytes, self.good, self.damaged, self.odd, self.unchecked,
            tuple(sorted(kinds, key=lambda each: (-each.files, each.kind, each.weight))),
            dict(sorted(self.formats.items(), key=lambda pair: (-pair[1], pair[0]))),
            tuple(drifts(self.values, self.unnamed)), foreign_files=self.foreign,
            label_low=self.label_low, label_high=self.label_high, label_files=self.label_files,
        )  # fmt: skip
