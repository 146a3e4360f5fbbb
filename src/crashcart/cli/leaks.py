"""Run a program and say whether it leaks: growth over its steps, the line that causes it, the name that holds it.

Steps are found without changes to the program: batches of Keras, calls of tf.functions, optimizer steps, session runs, passes of
the outermost loop; or they are marked with `cc.step()`. The program keeps its own stdin, stdout, stderr and terminal, and signals
reach it; its own exit status is in the report. RECORD judges a run that was watched before.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

from crashcart.cli.leaks_report import examined, exit_code, write
from crashcart.cli.run import limit_size
from crashcart.errors import CannotCheckError, NoRecordingError, UsageError

HELP = "Write the program after `--`, as in `crashcart leaks -- python train.py`."


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--json", metavar="FILE", help="write the report as JSON to FILE; - is standard output")
    parser.add_argument("--html", metavar="FILE", help="write the report as a page, with the plot, to FILE")
    parser.add_argument(
        "--precise",
        action="store_true",
        help="follow every allocation from the first step on; slower, names more lines",
    )
    parser.add_argument("--tensorboard", metavar="DIR", help="write the series as scalars for TensorBoard to DIR")
    parser.add_argument(
        "--limit", metavar="SIZE", type=limit_size, help="the memory it may take (4G, 512M), for the time that is left"
    )
    parser.add_argument(
        "command", nargs=argparse.REMAINDER, metavar="RECORD | -- CMD …", help="a recording, or a program to run"
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the program, or read the recording, and print the report."""
    folder, ran = _folder(arguments)
    return _tell(folder, arguments, sys.stderr if ran else sys.stdout)


def here(arguments: argparse.Namespace) -> object:
    """In a notebook: `%leaks on` and `%leaks off` around cells, or the page of a recording."""
    from crashcart.cli.leaks_live import Watched, between_cells

    if arguments.command in (["on"], ["off"]):
        watched = between_cells(arguments.command == ["on"], arguments.precise, arguments.limit)
    else:
        folder, _ = _folder(arguments)
        watched = Watched(*examined(folder, arguments.limit))
    if watched is not None:
        write(watched.report, watched.evidence, arguments)
    return watched


def cell(arguments: argparse.Namespace, code: str, shell: Any) -> object:
    """In a notebook, `%%leaks`: run the cell, and say whether it leaks."""
    from crashcart.cli.leaks_live import leaks

    with leaks(precise=arguments.precise, quiet=True, limit_bytes=arguments.limit) as watch:
        ran = shell.run_cell(code)
    assert watch.result is not None
    write(watch.result.report, watch.result.evidence, arguments)
    if not ran.success:  # a notebook that is run as a whole must stop here
        watch.show()
        ran.raise_error()
    return watch.result


def _folder(arguments: argparse.Namespace) -> tuple[Path, bool]:
    """The recording, and whether the program was run for it."""
    command: list[str] = arguments.command
    if not command or command == ["--"]:
        raise UsageError("no command was given", HELP)
    if command[0] != "--" and (len(command) == 1 or command[1].startswith("-")):
        _take_options(arguments, command[1:])
        return _recorded(command[0]), False
    return _run(command[1:] if command[0] == "--" else command, arguments.precise), True


def _take_options(arguments: argparse.Namespace, words: list[str]) -> None:
    """The options that stand behind the recording's name."""
    from crashcart.cli.main import command_parser

    command_parser("leaks", sys.modules[__name__]).parse_args(words, namespace=arguments)


def _recorded(name: str) -> Path:
    from crashcart.blackbox import store

    try:
        return store.find(name)
    except NoRecordingError as error:
        raise NoRecordingError(str(error), f"`crashcart list` shows all recordings. {HELP}") from None


def _run(command: list[str], precise: bool) -> Path:
    from crashcart.cli.leaks_attend import LeakWatch
    from crashcart.record import session
    from crashcart.record.spawn import CannotStartError

    try:
        done = session.run(command, hold_signals=True, attendant=LeakWatch(precise))
    except CannotStartError as error:
        error.help = HELP
        raise
    if done.folder is None:
        raise CannotCheckError(f"the run was not recorded: {done.unrecorded}", "The program ran as without crashcart.")
    return done.folder


def _tell(folder: Path, arguments: argparse.Namespace, stream: TextIO | None) -> int:
    from crashcart.report.leaks import print_leaks

    report, evidence = examined(folder, arguments.limit)
    if arguments.json != "-" and stream is not None:
        with suppress(OSError):
            print_leaks(report, evidence, stream)
    write(report, evidence, arguments)
    return exit_code(report)
