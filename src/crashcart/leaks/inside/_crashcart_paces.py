"""Which of the kinds of steps that are counted is the program's own step, as far as the run has come.

Covers: the same choice that `blackbox/growth_steps.py` makes at the end of a run, so that a window over some steps is one over
the steps that the report speaks of, and not over the turns of the fastest inner loop.
Does not cover: counting (`_crashcart_steps`).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:  # `typing` itself costs 5 ms
    from typing import Any

ORDER = (
    "marked",
    "keras batch",
    "tf.function call",
    "optimizer step",
    "session run",
    "loop",
    "dataset element",
    "cell",
)
LEAST_COVERED = 0.5
LEAST = 3
"""The report asks for more of them, but it has the whole run."""
NOTED_EVERY_S = 0.02


class Paces:
    """How fast each kind of step comes, and since when."""

    def __init__(self, counts: Any) -> None:
        self.counts = counts
        self.seen: list[list[float]] = []
        """By index: how many there were when it was last noted, and when the first and the last came."""
        self._next_s = 0.0

    def note(self, now_s: float) -> None:
        """Look which counts have moved."""
        if now_s < self._next_s:
            return
        self._next_s = now_s + NOTED_EVERY_S
        for index, count in enumerate(self.counts.counts):
            if index == len(self.seen):
                self.seen.append([0, now_s, now_s])
            seen = self.seen[index]
            if count > seen[0]:
                seen[:] = [count, seen[1] if seen[0] else now_s, now_s]

    def count(self, index: int) -> int:
        """How many steps of a kind there were."""
        return int(self.counts.counts[index]) if 0 <= index < len(self.counts.counts) else 0

    def step_s(self, index: int) -> float:
        """How long a step of a kind takes."""
        if not 0 <= index < len(self.seen):
            return 0.0
        count, first_s, last_s = self.seen[index]
        return (last_s - first_s) / (count - 1) if count > 1 else 0.0

    def best(self, longest_s: float) -> int:
        """The kind that is the program's step; of loops the outermost of those whose turns take no longer than that. -1 where
        nothing came often enough."""
        often = [index for index, seen in enumerate(self.seen) if seen[0] >= LEAST]
        if not often:
            return max(range(len(self.counts.counts)), key=lambda index: self.count(index), default=-1)
        covered = {index: self.seen[index][2] - self.seen[index][1] for index in often}
        longest = max(covered.values())
        often = [index for index in often if covered[index] >= LEAST_COVERED * longest]
        quick = [index for index in often if self.step_s(index) <= longest_s] or often
        return min(quick, key=self._rank)

    def _rank(self, index: int) -> tuple[int, bool, int]:
        kind, _, own = self.counts.keys[index]
        count = self.count(index)
        return ORDER.index(kind) if kind in ORDER else len(ORDER), not own, count if kind == "loop" else -count
