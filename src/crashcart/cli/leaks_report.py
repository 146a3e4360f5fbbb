"""The report on a program's growth, its files and its exit code: shared by the command, the functions and the magics.

Covers: reading a recording, or growth that was measured in this process; JSON, page and TensorBoard; the exit code.
Does not cover: running and watching (`leaks.py`, `leaks_live.py`).
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from crashcart.cli.output import exit_code as found_code
from crashcart.cli.output import write_reports
from crashcart.errors import CannotCheckError
from crashcart.evidence import Evidence
from crashcart.finding import Report
from crashcart.growth import Growth


def examined(folder: Path, limit_bytes: int | None) -> tuple[Report, Evidence]:
    """The report on a recorded run."""
    from crashcart.leaks import examine_leaks
    from crashcart.leaks.collect import collect

    evidence = limited(collect(folder), limit_bytes)
    name = evidence.program.name if evidence.program is not None else folder.name
    report = examine_leaks(evidence, name)
    return replace(report, figures={**report.figures, "recording": folder.name}), evidence


def examined_live(
    growth: Growth | None, absent: str | None = None, limit_bytes: int | None = None
) -> tuple[Report, Evidence]:
    """The report on growth that was measured in this very process."""
    from crashcart.leaks import examine_leaks
    from crashcart.leaks.collect import judgeable

    reasons = {"growth": absent} if absent is not None else {}
    evidence = limited(judgeable(Evidence(growth=growth, absent=reasons)), limit_bytes)
    return examine_leaks(evidence, "this process"), evidence


def limited(evidence: Evidence, limit_bytes: int | None) -> Evidence:
    """The evidence with the limit that was given; else with the tightest that is known of the program and the machine."""
    growth, machine = evidence.growth, evidence.machine
    if growth is None:
        return evidence
    found = machine.memory_limit() if machine is not None else None
    known = [each for each in (growth.limit_bytes, found.bytes if found is not None else None) if each]
    return replace(evidence, growth=replace(growth, limit_bytes=limit_bytes or min(known, default=None)))


def write(report: Report, evidence: Evidence, arguments: argparse.Namespace) -> None:
    """The files that were asked for."""
    if arguments.json == "-":
        from crashcart.report.json import render_json

        sys.stdout.write(render_json(report, evidence))
    write_reports(report, evidence, None if arguments.json == "-" else arguments.json, arguments.html)
    if arguments.tensorboard and evidence.growth is not None:
        from crashcart.report.tensorboard import write_scalars

        try:
            write_scalars(evidence.growth, Path(arguments.tensorboard))
        except OSError as error:
            raise CannotCheckError(
                f"cannot write to {arguments.tensorboard}: {error.strerror}", "Name another directory."
            ) from error


def exit_code(report: Report) -> int:
    """1 for a leak, 3 where that could not be checked, 0 where none was seen."""
    return found_code(report) or (3 if report.figures.get("not_checked") else 0)
