"""Look for what will fail here before it does: packages, Python, processor, GPUs, limits, settings.

Nothing is imported and nothing is changed. FILE may be a plan of an environment that is not installed yet
(requirements.txt, pyproject.toml, environment.yml), which is judged instead of the installed one; or the user's own code
(.py, .ipynb), whose devices are looked for here. With --import, TensorFlow is imported in a child process as well, and
if that dies, the death is explained.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from dataclasses import replace

from crashcart.cli.output import given_out, write_reports
from crashcart.errors import UsageError
from crashcart.evidence import Evidence
from crashcart.finding import Report


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("files", nargs="*", metavar="FILE", help="a plan (requirements.txt…), or code (.py, .ipynb)")
    parser.add_argument("--python", metavar="PATH", help="judge the environment of this interpreter")
    parser.add_argument("--python-version", metavar="3.11", help="judge a plan for this Python instead of this one")
    parser.add_argument(
        "--import", dest="attempt", action="store_true", help="import the frameworks in a child as well"
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("--html", metavar="FILE", help="write the report as a page to FILE")


def run(arguments: argparse.Namespace) -> int:
    """Look and print."""
    report, evidence = examined(arguments.files, arguments.python, arguments.attempt, arguments.python_version)

    def show() -> None:
        from crashcart.report.text import print_report

        print_report(report, evidence, sys.stdout, whole=True)

    return given_out(report, evidence, arguments, show)


def here(arguments: argparse.Namespace) -> object:
    """In a notebook: the page."""
    from crashcart.api import Explained

    report, evidence = examined(arguments.files, arguments.python, arguments.attempt, arguments.python_version)
    write_reports(report, evidence, None, arguments.html)
    return Explained(report, evidence, whole=True)


def examined(
    files: Sequence[str], python: str | None, attempt: bool, python_version: str | None = None
) -> tuple[Report, Evidence]:
    """The report on the environment, and the evidence it rests on."""
    from crashcart.doctor import examine_ground
    from crashcart.doctor.collect import collect, collect_plan
    from crashcart.probe.plan import is_plan

    plans = [each for each in files if is_plan(each)]
    _check(files, plans, python_version)
    _check_what_goes_together(files, plans, attempt)
    if plans:
        evidence = collect_plan(plans, python, python_version)
        return examine_ground(evidence), evidence
    evidence = collect(python, files)
    if attempt:
        from crashcart.cli.attempts import with_attempts

        evidence = with_attempts(evidence)
    else:
        evidence = replace(evidence, absent={**evidence.absent, "attempts": "not asked for: --import"})
    return examine_ground(evidence), evidence


def _check(files: Sequence[str], plans: Sequence[str], version: str | None) -> None:
    if version is not None and not plans:
        raise UsageError(
            "--python-version is for a plan, and none is named", "Name a requirements.txt, or use --python."
        )
    if version is not None and not re.fullmatch(r"3\.\d+(\.\d+)?", version):
        raise UsageError(f"--python-version {version} is no version of Python 3", "As in: --python-version 3.11.")
    others = [each for each in files if each not in plans and not each.endswith((".py", ".ipynb"))]
    if others:
        raise UsageError(
            f"{others[0]} is neither a plan nor code",
            "Expected requirements.txt, pyproject.toml, environment.yml, .py or .ipynb.",
        )


def _check_what_goes_together(files: Sequence[str], plans: Sequence[str], attempt: bool) -> None:
    """A plan is judged for any machine, and nothing of it is installed."""
    code = [each for each in files if each not in plans]
    if plans and code:
        raise UsageError(
            f"{plans[0]} is a plan and {code[0]} is code: they are judged apart",
            f"Ask twice: `crashcart doctor {plans[0]}`, `crashcart doctor {code[0]}`.",
        )
    if plans and attempt:
        raise UsageError(
            f"--import needs what is installed, and {plans[0]} is a plan",
            "Install it, then: `crashcart doctor --import --python PATH`.",
        )
