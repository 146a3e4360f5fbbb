"""Run a program and, if it dies, say why.

The program keeps its own stdin, stdout, stderr, terminal and exit status (128 + n for a signal); Ctrl-C and other
signals reach it. After an abnormal end the verdict is printed to stderr.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress
from pathlib import Path

from crashcart.cli.talk import say
from crashcart.errors import CrashcartError, UsageError
from crashcart.record import session


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--json", metavar="FILE", help="write the report as JSON to FILE")
    parser.add_argument("--html", metavar="FILE", help="write the report as a page to FILE")
    parser.add_argument("--quiet", action="store_true", help="print no verdict; record only")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="-- CMD …", help="the program and its arguments")


def run(arguments: argparse.Namespace) -> int:
    """Run the program; returns its own exit code."""
    command = arguments.command[1:] if arguments.command[:1] == ["--"] else arguments.command
    if not command:
        raise UsageError("no command was given", "Write it after `--`, as in `crashcart run -- python train.py`.")
    done = session.run(command, hold_signals=True)
    if done.unrecorded is not None:
        say(f"crashcart: the run was not recorded ({done.unrecorded}); the program ran as without crashcart")
    if done.folder is not None:
        _tell(done.folder, done.exit_code != 0, arguments)
    return done.exit_code


def _tell(folder: Path, abnormal: bool, arguments: argparse.Namespace) -> None:
    """Judge and print; a failure of ours is said, and changes nothing for the program."""
    if not (abnormal or arguments.json or arguments.html):
        return
    try:
        _report(folder, abnormal and not arguments.quiet, arguments)
    except CrashcartError as error:
        say(f"crashcart: {error}")
    except Exception as error:  # the program has ended; whatever goes wrong now must not hide its exit code
        say(f"crashcart: the verdict could not be made: {type(error).__name__}: {error}")


def _report(folder: Path, show: bool, arguments: argparse.Namespace) -> None:
    from crashcart.cli.output import write_reports
    from crashcart.report.text import print_report
    from crashcart.why import explain
    from crashcart.why.collect import collect

    evidence = collect(folder)
    report = explain(evidence, folder.name)
    if show and sys.stderr is not None:
        with suppress(OSError):
            print_report(report, evidence, sys.stderr)
    write_reports(report, evidence, arguments.json, arguments.html)
