"""`cc.data`: the command as a function, and what it returns.

Covers: the options of `crashcart data` as arguments; a result that shows itself as text and as a page.
Does not cover: the run itself (`data_run.py`).
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from crashcart.api import Explained
from crashcart.survey import Survey


@dataclass(frozen=True, slots=True)
class Surveyed(Explained):
    """What was learnt of a data set; shows itself as text in a terminal and as a page in a notebook."""

    @property
    def survey(self) -> Survey:
        """All that was found: `files`, `damaged_files`, `kinds` with examples, `drifts`, `duplicates`…"""
        assert self.evidence.survey is not None
        return self.evidence.survey

    @property
    def sound(self) -> bool:
        """Whether every file was checked as a whole, and none is damaged."""
        survey = self.survey
        return not survey.interrupted and survey.good_files + survey.foreign_files == survey.files

    def __str__(self) -> str:
        from crashcart.report.data import render_survey

        return render_survey(self.report, self.evidence, width=100, colour=False)

    __repr__ = __str__


def data(
    *paths: str | Path,
    out: str | Path | None = None,
    good: str | Path | None = None,
    quarantine: str | Path | None = None,
    classes: int | None = None,
    label: str | None = None,
    duplicates: bool = True,
    quick: bool = False,
    hidden: bool = False,
    workers: int | None = None,
    timeout: float = 60.0,
    memory: str | int | None = None,
    state: str | Path | None = None,
    fresh: bool = False,
    engine: str = "local",
    scheduler: str | None = None,
) -> Surveyed:
    """Open and decode every file of a data set, as training will, and say which are bad, and why.

    The paths and options are those of the command. Decoders run in processes of their own; what was checked is remembered.
    On a terminal, a bar shows how far it is. An interrupt (Ctrl-C) gives the report of what is done. CrashcartError where
    there is nothing to check.
    """
    from crashcart.cli.data_order import Order
    from crashcart.cli.data_progress import Progress, progress
    from crashcart.cli.data_run import carried_out
    from crashcart.sound import Wanted

    order = Order(
        tuple(str(each) for each in paths),
        Wanted(classes, label, duplicates, quick),
        out=_name(out),
        good=_name(good),
        quarantine=_name(quarantine),
        hidden=hidden,
        workers=workers,
        timeout_s=timeout,
        memory=memory,
        state=_name(state),
        fresh=fresh,
        engine=engine,
        scheduler=scheduler,
    )
    shown = progress(sys.stderr) if sys.stderr is not None and sys.stderr.isatty() else Progress()
    return Surveyed(*carried_out(order, shown))


def _name(path: str | Path | None) -> str | None:
    return None if path is None else str(path)
