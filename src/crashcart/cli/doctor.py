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

from crashcart.cli.output import exit_code, write_reports
from crashcart.errors import UsageError
from crashcart.evidence import Evidence
from crashcart.finding import Report


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("files", nargs="*", metavar="FILE", help="a plan (requirements.txt…), or code (.py, .ipynb)")
    parser.add_argument("--python", metavar="PATH", help="judge the environment of this interpreter")
    parser.add_argument("--python-version", metavar="3.11", help="judge a plan for this Python instead of this one")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("--html", metavar="FILE", help="write the report as a page to FILE")


def run(arguments: argparse.Namespace) -> int:
    """Look and print."""
    report, evidence = _examined(arguments)
    if arguments.json:
        from crashcart.report.json import render_json

        sys.stdout.write(render_json(report, evidence))
    else:
        from crashcart.report.text import print_report

        print_report(report, evidence, sys.stdout, whole=True)
    write_reports(report, evidence, None, arguments.html)
    return exit_code(report)


def _examined(arguments: argparse.Namespace) -> tuple[Report, Evidence]:
    from crashcart.doctor import examine_ground
    from crashcart.doctor.collect import collect, collect_plan
    from crashcart.probe.plan import is_plan

    plans = [each for each in arguments.files if is_plan(each)]
    _check(arguments, plans)
    if plans:
        evidence = collect_plan(plans, arguments.python, arguments.python_version)
        return examine_ground(evidence, _planned_words(evidence)), evidence
    evidence = collect(arguments.python, arguments.files)
    return examine_ground(evidence), evidence


def _check(arguments: argparse.Namespace, plans: list[str]) -> None:
    version = arguments.python_version
    if version is not None and not plans:
        raise UsageError(
            "--python-version is for a plan, and none is named", "Name a requirements.txt, or use --python."
        )
    if version is not None and not re.fullmatch(r"3\.\d+(\.\d+)?", version):
        raise UsageError(f"--python-version {version} is no version of Python 3", "As in: --python-version 3.11.")
    others = [each for each in arguments.files if each not in plans and not each.endswith((".py", ".ipynb"))]
    if others:
        raise UsageError(
            f"{others[0]} is neither a plan nor code",
            "Expected requirements.txt, pyproject.toml, environment.yml, .py or .ipynb.",
        )


def _planned_words(evidence: Evidence) -> str:
    """What was judged: the plan, for which Python, with which TensorFlow."""
    from crashcart.doctor._facts import TENSORFLOW_NAMES

    installation = evidence.installation
    assert installation is not None
    found = installation.find(*TENSORFLOW_NAMES)
    version = f" {found.version}" if found is not None and found.version else ""
    tensorflow = f"with {found.name}{version}" if found is not None else "which has no TensorFlow"
    return f"{installation.plan} for Python {installation.interpreter.minor}, {tensorflow}"
