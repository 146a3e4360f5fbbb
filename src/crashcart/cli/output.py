"""Reports into files, and exit codes from reports: shared by the commands that judge."""

from __future__ import annotations

from pathlib import Path

from crashcart.errors import CannotCheckError
from crashcart.evidence import Evidence
from crashcart.finding import Cause, Report


def write_reports(report: Report, evidence: Evidence | None, json_file: str | None, html_file: str | None) -> None:
    """Write the report as JSON and as a page where a file is named."""
    if json_file:
        from crashcart.report.json import render_json

        _write(json_file, render_json(report, evidence))
    if html_file:
        from crashcart.report.html import render_html
        from crashcart.why import rules

        _write(html_file, render_html(report, evidence, {each.code: each.name for each in rules()}))


def _write(name: str, text: str) -> None:
    try:
        Path(name).write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise CannotCheckError(f"cannot write {name}: {error.strerror}", "Name another file.") from error


def exit_code(report: Report) -> int:
    """0 where nothing is wrong, 1 where there are findings."""
    wrong = [finding for finding in report.findings if finding.cause is not Cause.CLEAN_EXIT]
    return 1 if wrong else 0
