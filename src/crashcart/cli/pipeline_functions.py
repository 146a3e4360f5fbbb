"""`cc.pipeline`, `cc.bounded`, `cc.explain_errors`: what can be done with a tf.data dataset, as functions.

Covers: their arguments, and what `cc.pipeline` returns. Does not cover: the estimate (`pipeline_live.py`), the changed datasets
themselves (`pipeline/bounded.py`, `pipeline/faults.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crashcart.api import Explained
from crashcart.stages import Change, Held, PipelineMemory


@dataclass(frozen=True, slots=True)
class Piped(Explained):
    """What a tf.data pipeline holds; shows itself as text in a terminal, and as a page in a notebook."""

    @property
    def memory(self) -> PipelineMemory:
        """All that was found: `rows`, `pipeline`, `unknown`, `fill_s`…"""
        assert self.evidence.pipeline is not None
        return self.evidence.pipeline

    @property
    def held_bytes(self) -> int:
        """What the process grows by with a slow consumer, once all buffers are full, and with what was built before."""
        return self.memory.held_bytes

    @property
    def high_bytes(self) -> int:
        """The same at worst."""
        return self.memory.high_bytes

    @property
    def stages(self) -> tuple[Held, ...]:
        """A row for each stage that holds something, outermost first."""
        return self.memory.rows

    @property
    def fits(self) -> bool | None:
        """Whether even the worst case fits; None where that is not known, or lies between."""
        return self.memory.fits

    @property
    def changes(self) -> tuple[Change, ...]:
        """What would hold less, each estimated on the changed pipeline."""
        return self.memory.changes

    def __str__(self) -> str:
        from crashcart.report.pipeline import render_pipeline

        return render_pipeline(self.memory, self.report, width=100, colour=False)

    __repr__ = __str__


def pipeline(
    dataset: Any,
    *,
    memory: str | int | None = None,
    cores: int | None = None,
    steps: int | None = None,
    epochs: int | None = None,
    measure_s: float = 20.0,
) -> Piped:
    """Say what a tf.data pipeline holds in memory, stage by stage, before it runs.

    `dataset` is a tf.data.Dataset, several of them, or a function that returns one. A few elements are looked at, for
    at most `measure_s` seconds, where shapes are not known; no buffer is filled. `memory` (`"8G"`, or bytes) and
    `cores` name a machine that one does not have; `steps` and `epochs` say what will be asked of it. CrashcartError
    where it cannot be told.
    """
    from crashcart.cli.pipeline_live import Question, examined_live

    return Piped(*examined_live(dataset, Question(memory, cores, steps, epochs, measure_s)))


def bounded(dataset: Any, budget: str | int | None = None) -> Any:
    """The same elements as a tf.data dataset gives, from buffers that together stay within a budget.

    `budget` is a size (`"2GiB"`, or bytes); without one it is 80 % of what the container has left. `.report` of what is
    returned says what was changed. Put it last, behind batch and prefetch. CrashcartError where even the smallest buffers do
    not fit.
    """
    from crashcart.pipeline.bounded import bounded

    return bounded(dataset, budget)


def explain_errors(
    dataset: Any, policy: str = "raise", *, at_most: int | None = None, log: str | Path | list[Any] | None = None
) -> Any:
    """The same dataset, whose errors name the element and the file that they come from.

    `policy="skip"` leaves such elements out, at most `at_most` of them, and writes each to `log` (a file of JSON lines, or a
    list); `.skipped` of what is returned counts them.
    """
    from crashcart.pipeline.faults import explain_errors

    return explain_errors(dataset, policy, at_most=at_most, log=log)
