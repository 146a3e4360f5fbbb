"""Explain a death: the last recorded run, a given one, or any log.

RECORD is a name from `crashcart list` (a part is enough) or a folder. With --log, a file or `-` for standard input is
read instead: any output, traceback or log, from any machine and of any size. Quoted lines carry their numbers in it, and
notices that look alarming and end nothing are named as noise.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from crashcart.blackbox import store
from crashcart.blackbox.kernels import KERNEL_VARIABLE, ended_lives
from crashcart.cli.output import given_out, write_reports
from crashcart.errors import CannotCheckError, NoRecordingError, UsageError
from crashcart.evidence import Evidence
from crashcart.finding import Report
from crashcart.why import ended_unasked, explain


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("record", nargs="?", metavar="RECORD", help="a recording; without it, the last one")
    parser.add_argument("--kernel", metavar="ID", help="the last death of this Jupyter kernel")
    parser.add_argument("--log", metavar="FILE", help="explain a log instead; - is standard input")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("--html", metavar="FILE", help="write the report as a page to FILE")


def run(arguments: argparse.Namespace) -> int:
    """Explain and print."""
    report, evidence = _explained(arguments)

    def show() -> None:
        from crashcart.report.text import print_report

        print_report(report, evidence, sys.stdout)

    return given_out(report, evidence, arguments, show)


def here(arguments: argparse.Namespace) -> object:
    """In a notebook: the page."""
    from crashcart.api import Explained

    report, evidence = _explained(arguments)
    write_reports(report, evidence, None, arguments.html)
    return Explained(report, evidence)


def _explained(arguments: argparse.Namespace) -> tuple[Report, Evidence]:
    given = [name for name in ("record", "kernel", "log") if getattr(arguments, name) is not None]
    if len(given) > 1:
        raise UsageError(f"received {' and '.join(given)}; expected one of them")
    if arguments.log is not None:
        evidence, name = _from_log(arguments.log), None
    else:
        from crashcart.why.collect import collect

        kernel = arguments.kernel if given else os.environ.get(KERNEL_VARIABLE)
        folder = _last_death(kernel) if kernel is not None else store.find(arguments.record)
        evidence, name = collect(folder), folder.name
    return explain(evidence, name), evidence


def _last_death(kernel_id: str) -> Path:
    """The kernel's last death; where it always ended as it was asked to, its last end."""
    from crashcart.why.collect import collect

    ended = list(ended_lives(kernel_id))
    if not ended:
        raise NoRecordingError(f"kernel {kernel_id} has not died, as far as is recorded", "`crashcart list` shows all.")
    return next((folder for folder in ended if ended_unasked(collect(folder))), ended[0])


def _from_log(name: str) -> Evidence:
    from crashcart.why.collect_log import collect_log

    if name == "-":
        return collect_log(sys.stdin.buffer, "standard input")
    try:
        with Path(name).open("rb") as file:
            return collect_log(file, name)
    except OSError as error:
        raise CannotCheckError(
            f"cannot read {name}: {error.strerror}", "Give a file, or - and paste the log."
        ) from error
