"""What a package rule concludes before remedies are chosen: a finding with the changes that could cure it."""

from __future__ import annotations

from dataclasses import dataclass

from crashcart.doctor._change import Change
from crashcart.finding import Cause, Confidence, Level


@dataclass(frozen=True, slots=True)
class Trouble:
    """A conclusion about an environment. Two states have the same trouble where the keys are the same."""

    key: str
    headline: str
    because: tuple[str, ...]
    level: Level
    confidence: Confidence
    cures: tuple[Change, ...] = ()
    """Alternatives, the best first; the one that fits the rest of the environment is chosen."""
    advice: tuple[str, ...] = ()
    """What else can be done, in words."""
    about: frozenset[str] = frozenset()
    """The distributions that it speaks of; what they merely declare of each other needs no second word."""
    cause: Cause = Cause.LIBRARY_CONFLICT
