"""One environment of the bench: what is in it, what is wrong with it, and what doctor has to say.

Covers: the `Environment` type. Does not cover: making it (`build.py`), judging it (`judge.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Environment:
    """An environment, made of recorded metadata."""

    name: str
    says: str
    """What is wrong, or what makes it a trap, in a few words."""
    python: str = "3.11"
    base: tuple[str, ...] = ()
    """What pip was asked for; the whole result was recorded."""
    put: Mapping[str, str] = field(default_factory=dict)
    """Packages put there afterwards without asking the others, as `pip install --no-deps` or another project's pins do."""
    without: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    damage: tuple[str, ...] = ()
    """What was done to the files, by the names in `damage.py`."""
    limits: Mapping[str, int] = field(default_factory=dict)
    """Limits of the process that doctor runs in, by the names of `resource` (NOFILE, AS…)."""
    code: str = ""
    """A program of the user, which is named to doctor."""
    plan: tuple[str, str] | None = None
    """A file's name and text: nothing is installed, the plan is judged."""
    expect: Mapping[str, str] = field(default_factory=dict)
    """The rules that have to speak, each with its level; none where the environment is right."""
    also: frozenset[str] = frozenset()
    """Rules that may speak as well, since they are right too."""

    @property
    def right(self) -> bool:
        """Whether nothing may be found in it."""
        return not self.expect
