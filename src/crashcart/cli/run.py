"""Run a program, keep it from dying of memory, and if it dies all the same, say why.

The program keeps its own stdin, stdout, stderr, terminal and exit status (128 + n for a signal); Ctrl-C and other
signals reach it. When memory runs out, an allocation fails as MemoryGuardError (a MemoryError) in the program's own line,
or what native code asks for is kept on disk for the time being (the airbag), with a warning on stderr. After an abnormal
end the verdict is printed to stderr.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress
from pathlib import Path

from crashcart.cli.talk import say
from crashcart.errors import CrashcartError, UsageError
from crashcart.guard.policy import LEAST_LIMIT_BYTES
from crashcart.record import session
from crashcart.record.attend import Attendant
from crashcart.units import parse_size, size


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--json", metavar="FILE", help="write the report as JSON to FILE")
    parser.add_argument("--html", metavar="FILE", help="write the report as a page to FILE")
    parser.add_argument("--no-guard", action="store_true", help="only record: let the program die of memory")
    parser.add_argument(
        "--limit", metavar="SIZE", type=limit_size, help="guard at SIZE (4G, 512M) if the machine allows more"
    )
    parser.add_argument(
        "--airbag",
        metavar="DIR",
        help="keep the airbag in DIR, on a real disk (default: beside the recording); `off` for none",
    )
    parser.add_argument("--stop", action="store_true", help="end a program that does not give way when memory is full")
    parser.add_argument("--quiet", action="store_true", help="print no verdict; record only")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="-- CMD …", help="the program and its arguments")


def run(arguments: argparse.Namespace) -> int:
    """Run the program; returns its own exit code."""
    command = arguments.command[1:] if arguments.command[:1] == ["--"] else arguments.command
    if not command:
        raise UsageError("no command was given", "Write it after `--`, as in `crashcart run -- python train.py`.")
    done = session.run(command, hold_signals=True, attendant=_guard(arguments))
    if done.unrecorded is not None:
        say(f"crashcart: the run was not recorded ({done.unrecorded}); the program ran as without crashcart")
    if done.folder is not None:
        _tell(done.folder, done.exit_code != 0, arguments)
    return done.exit_code


def limit_size(text: str) -> int:
    """A limit for the guard, as an option's type."""
    try:
        found = parse_size(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if found < LEAST_LIMIT_BYTES:
        raise argparse.ArgumentTypeError(f"received {text}; expected at least {size(LEAST_LIMIT_BYTES)}")
    return found


def _guard(arguments: argparse.Namespace) -> Attendant | None:
    if arguments.no_guard:
        return None
    from crashcart.guard.apply import Guard, Settings

    return Guard(Settings(arguments.limit, arguments.stop, arguments.airbag), say)


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
