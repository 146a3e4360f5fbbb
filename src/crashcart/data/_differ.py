"""From drift to a finding: files that differ from the most of their family. Shared by the rules."""

from __future__ import annotations

from collections.abc import Iterator, Set

from crashcart.data._kinds import shown
from crashcart.finding import Cause, Confidence, Finding, Level
from crashcart.survey import Drift, Outlier, Survey
from crashcart.units import plural

_LISTS = ("features", "columns")
_MOST_CHARS = 160


def differing(survey: Survey, families: Set[str], remedy: str) -> Iterator[Finding]:
    """A finding for each aspect in which files of these families differ. It may be meant: it is a risk, and likely
    one.
    """
    for drift in survey.drifts:
        if drift.family in families:
            yield _finding(drift, remedy)


def _finding(drift: Drift, remedy: str) -> Finding:
    total = drift.usual_files + drift.other_files
    what = drift.family if drift.family in ("images", "arrays", "sound") else f"{drift.family} files"
    verb = "differs" if drift.other_files == 1 else "differ"
    return Finding(
        Cause.SHAPE_MISMATCH,
        f"{drift.other_files:,} of {total:,} {what} {verb} from the others in {drift.aspect}",
        (
            f"{drift.usual_files:,} have {_cut(drift.usual)}",
            *(each for one in drift.outliers for each in _told(drift, one)),
        ),
        (remedy,),
        Confidence.LIKELY,
        level=Level.RISK,
    )


def _told(drift: Drift, outlier: Outlier) -> Iterator[str]:
    how = _difference(drift.usual, outlier.value) if drift.aspect in _LISTS else f"has {_cut(outlier.value)}"
    yield f"{plural(outlier.files, 'file')} {how}: {', '.join(shown(outlier.examples, outlier.files))}"


def _difference(usual: str, value: str) -> str:
    """`lacks label; has label: float`: what the one has and the other has not, where both are known as a whole."""
    mine, theirs = usual.split(", "), value.split(", ")
    lacks, has = [each for each in mine if each not in theirs], [each for each in theirs if each not in mine]
    if "… #" in usual + value or not (lacks or has):
        return f"has {_cut(value)}"
    parts = [f"lacks {_cut(', '.join(lacks))}" if lacks else "", f"has {_cut(', '.join(has))}" if has else ""]
    return "; ".join(part for part in parts if part)


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_CHARS else f"{text[:_MOST_CHARS]}…"
