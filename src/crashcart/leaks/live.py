"""Watching the growth of the process that this runs in: `with cc.leaks():`, the Keras callback, cells of a notebook.

Covers: the same looks as in a watched program, kept in memory; steps marked by the program.
Does not cover: judging what is found, or saying it (the shells do that with the rules).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from crashcart.blackbox.growth import growth_of
from crashcart.blackbox.growth_places import Places
from crashcart.blackbox.inside import load
from crashcart.growth import Growth
from crashcart.probe.memory import memory_limits

MOST_LOOKS, MOST_OTHERS = 4096, 512
_INSIDE = Path(__file__).parent / "inside" / "_crashcart_leaks.py"


class _Memory:
    """Records in memory; looks grow sparser when there are many."""

    def __init__(self) -> None:
        self.looks: list[dict[str, Any]] = []
        self._others: dict[str, list[dict[str, Any]]] = {}
        self.every = 1
        self._since = 0

    def look(self, record: dict[str, Any]) -> None:
        """Keep a look."""
        self._since += 1
        if self._since < self.every:
            return
        self._since = 0
        self.looks.append(record)
        if len(self.looks) >= MOST_LOOKS:
            self.looks = self.looks[::2]
            self.every *= 2

    def append(self, record: dict[str, Any]) -> None:
        """Keep anything else; of each kind, every second one goes when there are many."""
        kept = self._others.setdefault(record["kind"], [])
        kept.append(record)
        if len(kept) > MOST_OTHERS:
            kept[:] = [kept[0], *kept[2::2]]

    @property
    def others(self) -> list[dict[str, Any]]:
        """All but the looks."""
        return [record for kept in self._others.values() for record in kept]


class Watching:
    """A watch over this process, from `start` to `stop`."""

    def __init__(self, precise: bool = False) -> None:
        self._memory = _Memory()
        self._inside: Any = load(_INSIDE)
        self._watch: Any = self._inside.Watch(self._memory, precise)

    def start(self) -> Watching:
        """Begin to count steps and to look."""
        self._watch.start()
        return self

    def mark(self) -> None:
        """A step is done."""
        self._watch.counts.step("marked", "steps marked by cc.step()")

    def stop(self) -> Growth:
        """End, take every hook out again, and say what was measured."""
        self._watch.stop()
        return self.growth()

    def growth(self) -> Growth:
        """What was measured so far."""
        limit_bytes = min((each.bytes for each in memory_limits(os.getpid())), default=None)
        return growth_of([*self._memory.others, *self._memory.looks], Places(), limit_bytes)


def mark() -> None:
    """A step of this program is done, for every watch that is on."""
    inside: Any = sys.modules.get(_INSIDE.stem)
    if inside is not None:
        inside.mark()
