"""One run of `crashcart data`: finds, checks, counts, writes the lists, moves what is to be moved.

Covers: putting the parts of `data/` together, for the command and for `cc.data`; what an interrupt leaves.
Does not cover: options (`data.py`, `data_order.py`), the bar (`data_progress.py`), words (`report/data.py`).
"""

from __future__ import annotations

import hashlib
import os
import signal
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crashcart.blackbox.store import home
from crashcart.cli.data_engines import Engines, engines
from crashcart.cli.data_order import Order
from crashcart.cli.data_progress import Progress
from crashcart.data.chunk import DIGEST
from crashcart.data.duplicates import duplicates
from crashcart.data.engine import check_files
from crashcart.data.state import SUFFIX, State
from crashcart.data.tally import Tally
from crashcart.errors import CannotCheckError, StoppedError
from crashcart.probe.files_found import Aside, Found, find
from crashcart.probe.files_matched import HIDDEN
from crashcart.survey import Passed, Survey

if TYPE_CHECKING:
    from crashcart.data.quarantine import Moved, Quarantine
    from crashcart.evidence import Evidence
    from crashcart.finding import Report


@dataclass
class _Run:
    """A run on its way."""

    order: Order
    state: State
    progress: Progress
    tally: Tally = field(default_factory=Tally)
    aside: Aside = field(default_factory=Aside)
    restarts: list[Any] = field(default_factory=list)
    restarted: int = 0
    interrupted: bool = False
    stopped: str | None = None


def carried_out(order: Order, progress: Progress) -> tuple[Report, Evidence]:
    """Do it. CannotCheckError where there is nothing to check."""
    quarantine = _quarantine(order)
    began_s = time.monotonic()
    found = find(order.paths, aside := Aside(), order.hidden)
    state = _opened(order, progress)
    try:
        run = _Run(order, state, progress, aside=aside)
        for each in state.words:
            progress.say(each)
        with _interrupts_as_exceptions():
            survey = _surveyed(run, found)
        survey = replace(survey, seconds=time.monotonic() - began_s)
        return _reported(run, survey, quarantine)
    except sqlite3.Error as error:
        told = f"the state cannot be kept: {error}"
        raise CannotCheckError(told, "Make room on the disk, or name another file: --state FILE.") from error
    finally:
        progress.close()
        state.close()


def _quarantine(order: Order) -> Quarantine | None:
    if not order.quarantine:
        return None
    from crashcart.data.quarantine import Quarantine

    return Quarantine(order.quarantine, order.paths)


def _opened(order: Order, progress: Progress) -> State:
    """The state; where the cache cannot hold one (a home without room or locks), one for this run alone."""
    try:
        return State.open(_state_path(order), order.wanted, order.fresh, ours=order.state is None)
    except CannotCheckError as error:
        if order.state is not None:
            raise
        progress.say(f"{error}; what this run finds out is not remembered")
        return State.passing(order.wanted)


def _surveyed(run: _Run, found: Iterator[Found]) -> Survey:
    """Everything checked and counted, or as much as there was time for."""
    order, state = run.order, run.state
    same = None
    try:
        run.progress.begin(order.paths, order.hidden)
        with engines(order) as engine_for:
            _check_all(run, found, engine_for)
            if order.wanted.duplicates:
                run.progress.phase("comparing files of the same size")
                with engine_for(DIGEST) as engine:
                    same = duplicates(state, engine)
    except KeyboardInterrupt:
        _break_off(run, None)
    except StoppedError as error:
        _break_off(run, f"{error}. {error.help}")
        if not run.tally.files:
            raise
    state.commit()
    if not run.interrupted and not run.tally.files:
        raise _nothing_there(run)
    return replace(
        run.tally.survey(), duplicates=same, passed=tuple(_passed(run)), restarts=tuple(run.restarts), restarted=run.restarted,
        known_files=state.known, pending_files=state.pending(), interrupted=run.interrupted, stopped=run.stopped,
        workers=order.own_processes, paths=order.paths, quick=order.wanted.quick, options=order.options,
        results=order.results, classes=order.wanted.classes, label=order.wanted.label,
    )  # fmt: skip


def _check_all(run: _Run, found: Iterator[Found], engine_for: Engines) -> None:
    with engine_for() as engine:
        try:
            for checked in check_files(found, run.state, engine):
                if not run.tally.files:
                    _import_what_comes_after()  # the processes have work, and we have none yet
                run.tally.add(checked)
                run.progress.add(checked)
        finally:
            run.restarts, run.restarted = engine.restarts, engine.restarted


def _import_what_comes_after() -> None:
    from crashcart.data import rules
    from crashcart.report import data_words, json

    _ = rules(), data_words, json


def _break_off(run: _Run, why: str | None) -> None:
    """An interrupt may come between what is recorded and what is counted: the state knows."""
    run.interrupted, run.stopped = True, why
    run.tally = Tally()
    for checked in run.state.all():
        run.tally.add(checked)


def _passed(run: _Run) -> Iterator[Passed]:
    for reason, count in sorted(run.aside.counts.items()):
        yield Passed(reason, count, tuple(run.aside.examples[reason]))
    if run.state.repeated:
        yield Passed("files that were named more than once", run.state.repeated)


def _nothing_there(run: _Run) -> CannotCheckError:
    names = ", ".join(run.order.paths)
    hidden = run.aside.counts[HIDDEN]
    more = "There are hidden folders in it: --hidden looks into them." if hidden else "Name a folder with files in it."
    return CannotCheckError(f"there are no files in {names}", more)


def _reported(run: _Run, survey: Survey, quarantine: Quarantine | None) -> tuple[Report, Evidence]:
    """The lists first: they are what a long run was for."""
    from crashcart.data import examine_files
    from crashcart.data.lists import write_faults, write_good
    from crashcart.evidence import Evidence

    order, figures = run.order, dict[str, Any]()
    if order.out:
        figures["out"] = _of_list(order.out, survey) | {"lines": write_faults(order.out, run.state, survey)}
    if order.good:
        count, left_out = write_good(order.good, run.state, partial=survey.interrupted)
        figures["good"] = _of_list(order.good, survey) | {"lines": count, "left_out": left_out}
    if quarantine is not None:
        figures["quarantine"] = _moved(order, quarantine.move(run.state.damaged_files()))
    if order.state is None and not survey.interrupted:
        run.state.forget_what_is_gone()
    evidence = Evidence(survey=survey)
    report = examine_files(evidence, " ".join(order.paths))
    return replace(report, figures={**_figures(survey), **figures}), evidence


def _of_list(name: str, survey: Survey) -> dict[str, Any]:
    from crashcart.data.lists import place_of

    return {"file": place_of(name, survey.interrupted), "partial": survey.interrupted}


def _moved(order: Order, moved: Moved) -> dict[str, Any]:
    stayed = [{"path": path, "reason": reason} for path, reason in moved.stayed]
    return {"folder": order.quarantine, "files": moved.files, "stayed_files": moved.stayed_files, "stayed": stayed}


_NOT_FIGURES = frozenset(("paths", "options", "results"))


def _figures(survey: Survey) -> dict[str, Any]:
    """At the top level of the JSON document."""
    from crashcart.report.data_words import not_decoded
    from crashcart.report.json import plain

    figures: dict[str, Any] = {name: value for name, value in plain(survey).items() if name not in _NOT_FIGURES}
    figures["complete"] = not survey.interrupted
    figures["not_decoded"] = not_decoded(survey)
    return figures


def _state_path(order: Order) -> Path:
    """The file that was named; else one in the cache for each set of paths, since these are mostly asked for again."""
    if order.state is not None:
        return Path(order.state)
    names = "\0".join(sorted(os.path.abspath(each) for each in order.paths))
    mark = hashlib.blake2b(os.fsencode(names), digest_size=8).hexdigest()
    return home() / "data" / f"{mark}{SUFFIX}"


@contextmanager
def _interrupts_as_exceptions() -> Iterator[None]:
    """SIGTERM, by which schedulers end a job, ends the run as Ctrl-C does: with a report of what is done."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
