"""From counts of a kind of fault to a finding: shared by the rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from crashcart.finding import Cause, Confidence, Finding, Level
from crashcart.sound import DAMAGE, KINDS, ODD, UNCHECKED
from crashcart.survey import Example, KindCount, Survey
from crashcart.units import plural


@dataclass(frozen=True)
class Words:
    """What a rule says of one kind."""

    headline: str
    """What the files do: `end too early`; after `3 of 100 files`."""
    one: str
    """The same of a single file: `ends too early`."""
    remedies: tuple[str, ...]
    cause: Cause = Cause.DATA_CORRUPT


def found(survey: Survey, kinds: Mapping[str, Words]) -> Iterator[Finding]:
    """A finding for each of these kinds that was met, at each weight."""
    for count in survey.kinds:
        if count.kind in kinds:
            yield _finding(survey, count, kinds[count.kind])


def _finding(survey: Survey, count: KindCount, words: Words) -> Finding:
    return Finding(
        words.cause,
        f"{of_all(count.files, survey.files)} {words.one if count.files == 1 else words.headline}",
        (*_times(count), *shown(count.examples, count.files)) or (KINDS[count.kind].rstrip("."),),
        words.remedies,
        Confidence.CERTAIN,
        level=LEVELS.get(count.weight, Level.NOTE),
    )


LEVELS = {DAMAGE: Level.PROBLEM, ODD: Level.RISK}


def is_left_out(count: KindCount) -> bool:
    """Whether files of a kind that is checked were not: a library, a key, memory, time or a network was missing."""
    return count.weight == UNCHECKED and count.kind != "unknown-format"


def of_all(count: int, total: int) -> str:
    """`3 of 100 files`."""
    return f"{count:,} of {total:,} files" if total != 1 else "the file"


def _times(count: KindCount) -> Iterator[str]:
    if count.times > count.files:
        yield f"met {count.times:,} times in {plural(count.files, 'file')}"


def shown(examples: Sequence[Example], total: int) -> Iterator[str]:
    """The examples, each on a line, and how many there are besides."""
    for each in examples:
        named = each.where and each.detail.startswith((f"{each.where} ", f"{each.where}:"))  # `row 22 has 1 column`
        place = f", {each.where}" if each.where and not named else ""
        yield f"{each.path}{place}: {each.detail}" if each.detail else f"{each.path}{place}"
    if total > len(examples) > 0:
        yield f"and {total - len(examples):,} more"
