"""Reports on stdout and into files, and exit codes from reports: shared by the commands that judge."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from crashcart.errors import CannotCheckError
from crashcart.evidence import Evidence
from crashcart.finding import Cause, Level, Report


def given_out(report: Report, evidence: Evidence, arguments: argparse.Namespace, show: Callable[[], None]) -> int:
    """As JSON where that was asked for, else as `show` prints it, and into the files that were named; the exit code."""
    if arguments.json:
        from crashcart.report.json import render_json

        sys.stdout.write(render_json(report, evidence))
    else:
        show()
    write_reports(report, evidence, None, arguments.html)
    return exit_code(report)


def write_reports(report: Report, evidence: Evidence | None, json_file: str | None, html_file: str | None) -> None:
    """Write the report as JSON and as a page where a file is named."""
    if json_file:
        from crashcart.report.json import render_json

        _write(json_file, render_json(report, evidence))
    if html_file:
        from crashcart.cli.rooms import rule_names
        from crashcart.report.html import render_html

        _write(html_file, render_html(report, evidence, rule_names()))


def _write(name: str, text: str) -> None:
    try:
        Path(name).write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise CannotCheckError(f"cannot write {name}: {error.strerror}", "Name another file.") from error


def exit_code(report: Report) -> int:
    """0 where nothing is wrong, 1 where there are findings; a note is none."""
    wrong = [each for each in report.findings if each.cause is not Cause.CLEAN_EXIT and each.level is not Level.NOTE]
    return 1 if wrong else 0
