"""Where most files agree and a few do not.

Covers: choosing what is usual, and how few the others must be to be called odd; which files they are.
Does not cover: which values are compared (`aspects.py`).

A data set of photographs has as many sizes as files, and a folder may hold two kinds of tables: there is nothing
usual then, and nothing is said. Only where nearly all files agree does one that differs tell something.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from crashcart.data.aspects import ARRAYS, EXAMPLES, IMAGES, SOUND, TABLES, VARIES, aspects
from crashcart.sound import Checked
from crashcart.survey import Drift, Outlier

if TYPE_CHECKING:
    from crashcart.data.tally import AspectKey, Seen

_MOST_OUTLIERS = 5
# How many files must agree, and the most of all that may differ. Shards are written by one program: three that agree tell more
# than eight photographs do.
_AGREED = {EXAMPLES: (3, 0.25), TABLES: (3, 0.25), IMAGES: (8, 0.1), ARRAYS: (8, 0.1), SOUND: (8, 0.1)}


def drifts(values: Mapping[AspectKey, Mapping[str, Seen]], unnamed: Mapping[AspectKey, int]) -> Iterator[Drift]:
    """Each aspect in which a few files differ from the most, by family and name."""
    for key in sorted(values):
        found = _drift(key, values[key], unnamed.get(key, 0))
        if found is not None:
            yield found


def _drift(key: AspectKey, values: Mapping[str, Seen], unnamed: int) -> Drift | None:
    family, form, name = key
    ranked = sorted(values.items(), key=lambda pair: (-pair[1].files, pair[0]))
    usual, seen = ranked[0]
    others = sum(each.files for _, each in ranked[1:]) + unnamed
    least, most_fraction = _AGREED[family]
    if not others or usual == VARIES or seen.files < least or others > most_fraction * (others + seen.files):
        return None
    outliers = tuple(Outlier(value, each.files, tuple(each.examples)) for value, each in ranked[1 : 1 + _MOST_OUTLIERS])
    return Drift(form or family, name, usual, seen.files, others, outliers)


def differing(checked: Checked, drifts: Sequence[Drift]) -> list[tuple[Drift, str]]:
    """In what one file differs from the most: the drift, and its own value."""
    known = {(drift.family, drift.aspect): drift for drift in drifts}
    found = []
    for aspect in aspects(checked):
        drift = known.get((aspect.format or aspect.family, aspect.name))
        if drift is not None and drift.usual != aspect.value:
            found.append((drift, aspect.value))
    return found
