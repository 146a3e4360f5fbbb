"""The entry point: finds the command, imports it alone, and is the one place that makes exit codes of errors.

Covers: `crashcart COMMAND …`, `--help`, `--version`.
Does not cover: what the commands do. Nothing heavy is imported before a command needs it: `crashcart run` stays small
for as long as the program runs.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType

from crashcart.cli.commands import COMMANDS as COMMANDS
from crashcart.cli.talk import say
from crashcart.errors import CrashcartError


def main(argv: Sequence[str]) -> int:
    """Run a command line; returns the exit code."""
    if not argv or argv[0] in ("-h", "--help", "help"):
        print(overview())
        return 0 if argv else 2
    if argv[0] == "--version":
        from crashcart import __version__

        print(f"crashcart {__version__}")
        return 0
    if argv[0] not in COMMANDS:
        say(f"crashcart: no such command: {argv[0]}; expected one of {', '.join(COMMANDS)}")
        return 2
    module = import_module(f"crashcart.cli.{argv[0]}")
    arguments = command_parser(argv[0], module).parse_args(argv[1:])
    try:
        return int(module.run(arguments))
    except CrashcartError as error:
        say(f"crashcart: {error}\n  {error.help}")
        return error.exit_code
    except Exception as error:
        if os.environ.get("CRASHCART_DEBUG"):
            raise
        say(f"crashcart: a fault of its own: {type(error).__name__}: {error}\n  {CrashcartError.help}")
        return CrashcartError.exit_code


def command_parser(name: str, module: ModuleType) -> argparse.ArgumentParser:
    """The parser of one command; its description is the module's docstring."""
    parser = argparse.ArgumentParser(f"crashcart {name}", description=module.__doc__, formatter_class=_Formatter)
    module.configure(parser)
    return parser


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Help that is the same at any terminal width, since it is compared with the documentation."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=100, max_help_position=28)


def overview() -> str:
    """The commands, a line each."""
    lines = [f"  {name:<8} {what}" for name, what in COMMANDS.items()]
    return (
        "usage: crashcart COMMAND …\n\nNo kernel dies unexplained.\n\n"
        + "\n".join(lines)
        + (
            "\n\n`crashcart COMMAND --help` says more. Exit codes: 0 nothing found, 1 findings, 2 wrong usage,\n"
            "3 could not check, 4 a fault of crashcart; `crashcart run` passes the program's own code on."
        )
    )


def entry() -> None:
    """The console script."""
    try:
        code = main(sys.argv[1:])
        gc.freeze()  # at its end Python would look through all that is left for circles: 10 ms, and the process is gone anyway
        sys.exit(code)
    except BrokenPipeError:  # whoever read our report has gone; let Python not complain about it at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(141)
