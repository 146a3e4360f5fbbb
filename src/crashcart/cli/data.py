"""Open and decode every file of a data set, as training will, and say which are bad, and why.

PATH is a folder (looked at with all its sub-folders), a file, a pattern in quotes ('images/*/*.jpg'), @list.txt, a
file with a name on each line, or an address (s3://bucket/train, gs://…, https://…). Decoders run in processes of their
own: a file that crashes one is a finding. What was checked is remembered: the same command again looks only at what is
new or has changed, and goes on where an interrupted one ended. Nothing is changed unless --quarantine asks for it, and
that moves, and never deletes.
"""

from __future__ import annotations

import argparse
import gc
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from crashcart.cli.data_undo import undone

if TYPE_CHECKING:
    from crashcart.evidence import Evidence
    from crashcart.finding import Report
    from crashcart.survey import Survey

# Objects that Python makes before it looks for circles among them; 700 without this. What is learnt of files has none.
_COLLECT_EVERY = 20_000
NOT_CHECKED = 3
"""Exit code where nothing was found, and not everything was checked: an interrupt, a library that is missing, a limit, a network,
labels that were to be checked and are nowhere.
Files of unknown formats do not count beside others: notes and programs lie in most data sets."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "paths", nargs="*", metavar="PATH", help="a folder, a file, a pattern, an address, or @list.txt"
    )
    parser.add_argument("--out", metavar="FILE", help="write every fault to FILE, as JSON lines")
    parser.add_argument("--good", metavar="FILE", help="write the names of the good files to FILE (.jsonl: as JSON)")
    parser.add_argument("--quarantine", metavar="DIR", help="move the damaged files to DIR, with a list of the moves")
    parser.add_argument("--undo", metavar="DIR", help="move the files of a quarantine back to where they were")
    _configure_checks(parser)
    _configure_run(parser)


def _configure_checks(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--classes", type=int, metavar="N", help="labels are 0 … N-1: tell those that are not")
    parser.add_argument(
        "--label", metavar="NAME", help="the feature, column or key that holds the label; a column by number, too"
    )
    parser.add_argument(
        "--duplicates", action=argparse.BooleanOptionalAction, default=True, help="look for files of the same content"
    )
    parser.add_argument("--quick", action="store_true", help="look at structure and checksums alone; decode nothing")
    parser.add_argument("--hidden", action="store_true", help="look into hidden folders (.name), too")


def _configure_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--workers", type=int, metavar="N", help="processes that check (one for each core)")
    parser.add_argument("--timeout", type=float, default=60.0, metavar="S", help="seconds for a small file (60)")
    parser.add_argument("--memory", metavar="SIZE", help="memory for one process, such as 2G")
    parser.add_argument(
        "--engine", choices=("local", "dask"), default="local", help="who checks: this machine (local), or Dask"
    )
    parser.add_argument(
        "--scheduler", metavar="ADDR", help="the scheduler of a cluster of Dask; without it, one on this machine"
    )
    kept = parser.add_mutually_exclusive_group()
    kept.add_argument("--state", metavar="FILE", help="remember what was checked in FILE (.sqlite)")
    kept.add_argument("--fresh", action="store_true", help="forget what was checked before")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("--html", metavar="FILE", help="write the report as a page to FILE")


def run(arguments: argparse.Namespace) -> int:
    """Check and print."""
    if arguments.undo:
        return undone(arguments)
    gc.set_threshold(_COLLECT_EVERY)
    report, evidence = examined(arguments, may_fork=True)
    from crashcart.cli.output import write_reports

    if arguments.json:
        from crashcart.report.json import render_json

        sys.stdout.write(render_json(report, evidence))
    else:
        from crashcart.report.data import print_survey

        print_survey(report, evidence, sys.stdout)
    write_reports(report, evidence, None, arguments.html)
    assert evidence.survey is not None
    return _code(report, evidence.survey)


def _code(report: Report, survey: Survey) -> int:
    from crashcart.cli.output import exit_code
    from crashcart.data._kinds import is_left_out
    from crashcart.finding import Cause

    found = tuple(each for each in report.findings if each.cause not in (Cause.INTERRUPTED, Cause.UNKNOWN))
    read = survey.good_files + survey.foreign_files
    whole = read and not survey.interrupted and not survey.labels_missed and not any(map(is_left_out, survey.kinds))
    return exit_code(replace(report, findings=found)) or (0 if whole else NOT_CHECKED)


def here(arguments: argparse.Namespace) -> object:
    """In a notebook: the page."""
    from crashcart.cli.data_live import Surveyed
    from crashcart.cli.output import write_reports

    if arguments.undo:
        undone(arguments)
        return None
    report, evidence = examined(arguments)
    write_reports(report, evidence, None, arguments.html)
    return Surveyed(report, evidence)


def examined(arguments: argparse.Namespace, may_fork: bool = False) -> tuple[Report, Evidence]:
    """The report on the data set, and the evidence it rests on."""
    from crashcart.cli.data_order import Order
    from crashcart.cli.data_progress import progress
    from crashcart.cli.data_run import carried_out
    from crashcart.sound import Wanted

    wanted = Wanted(arguments.classes, arguments.label, arguments.duplicates, arguments.quick)
    order = Order(
        tuple(arguments.paths), wanted, arguments.out, arguments.good, arguments.quarantine, arguments.hidden,
        arguments.workers, arguments.timeout, arguments.memory, arguments.state, arguments.fresh,
        arguments.engine, arguments.scheduler, arguments.html, may_fork,
    )  # fmt: skip
    return carried_out(order, progress(sys.stderr))
