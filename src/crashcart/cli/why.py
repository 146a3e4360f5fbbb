"""Explain a death: the last recorded run, a given one, or any log.

RECORD is a name from `crashcart list` (a part is enough) or a folder. With --log, a file or `-` for standard input is
read instead: a traceback or the output of a program with an error in it, from any machine.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from crashcart.blackbox import store
from crashcart.blackbox.kernels import last_ended
from crashcart.cli.output import exit_code, write_reports
from crashcart.errors import CannotCheckError, UsageError
from crashcart.evidence import Evidence
from crashcart.finding import Report
from crashcart.why import explain

LARGEST_LOG_BYTES = 256 * 1024 * 1024


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
    if arguments.json:
        from crashcart.report.json import render_json

        sys.stdout.write(render_json(report, evidence))
    else:
        from crashcart.report.text import print_report

        print_report(report, evidence, sys.stdout)
    write_reports(report, evidence, None, arguments.html)
    return exit_code(report)


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

        folder = last_ended(arguments.kernel) if arguments.kernel is not None else store.find(arguments.record)
        evidence, name = collect(folder), folder.name
    return explain(evidence, name), evidence


def _from_log(name: str) -> Evidence:
    from crashcart.probe.log import find_errors, parse_log
    from crashcart.probe.source import OwnCode

    try:
        raw = sys.stdin.buffer.read(LARGEST_LOG_BYTES) if name == "-" else Path(name).read_bytes()[:LARGEST_LOG_BYTES]
    except OSError as error:
        raise CannotCheckError(
            f"cannot read {name}: {error.strerror}", "Give a file, or - and paste the log."
        ) from error
    log = parse_log(raw.decode("utf-8", "replace"))
    if not any(line.text.strip() for line in log.lines):
        raise CannotCheckError("the log is empty", "Paste the output of the program, from its start to its end.")
    return Evidence(log=log, errors=find_errors(log, OwnCode(()).is_own))
