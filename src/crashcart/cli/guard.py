"""Say how far programs are protected from dying of memory here, and why not further.

`crashcart guard status` shows the level that `crashcart run` gives, the limits it keeps to, where the airbag would lie, and
the programs that are guarded now. In a notebook, `%guard` guards the running kernel, as well as that can still be done, and
says how well.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from crashcart.blackbox import store
from crashcart.cli.run import limit_size
from crashcart.cli.talk import say
from crashcart.errors import UsageError
from crashcart.guard import status


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "action",
        nargs="?",
        default="status",
        choices=["status", "attach"],
        metavar="status",
        help="show the level of protection",
    )
    parser.add_argument("--json", action="store_true", help="print it as JSON")
    parser.add_argument("--limit", metavar="SIZE", type=limit_size, help="in a notebook: guard at SIZE (4G, 512M)")
    parser.add_argument(
        "--gpu", metavar="SHARE", help="in a notebook: what TensorFlow may take of each GPU (80%%, 4G, growth)"
    )
    parser.add_argument("target", nargs="*", help=argparse.SUPPRESS)


def run(arguments: argparse.Namespace) -> int:
    """Print the status; or, for `cc.guard()`, guard the process that started us."""
    if arguments.action == "attach":
        if len(arguments.target) != 2 or not arguments.target[0].isdigit():
            raise UsageError(
                "`attach` is for `crashcart.guard()` inside of a program", "Call that, or use `crashcart run`."
            )
        return _attach(int(arguments.target[0]), Path(arguments.target[1]), arguments.limit)
    if arguments.limit is not None or arguments.gpu is not None:
        raise UsageError(
            "--limit and --gpu are for `%guard` in a notebook", "For a program: `crashcart run --limit 4G -- …`."
        )
    protection = status.expected(store.home(), os.environ)
    runs = status.running(store.recordings())
    if arguments.json:
        import json

        json.dump(_document(protection, runs), sys.stdout, indent=2)
        print()
        return 0
    print(protection)
    for each in runs:
        print(f"  running  {each.folder.name}: {'; '.join(status.words(process) for process in each.processes)}")
    return 0


def here(arguments: argparse.Namespace) -> object:
    """In a notebook: guard this kernel."""
    from crashcart.api import guard

    return guard(arguments.limit, arguments.gpu)


def _attach(pid: int, folder: Path, limit_bytes: int | None) -> int:
    from crashcart.guard.apply import Guard, Settings
    from crashcart.record import session

    guard = Guard(Settings(limit_bytes, attached=True), say)
    guard.prepare(os.environ, folder)
    session.attach(pid, folder, guard)
    return 0


def _document(protection: status.Protection, runs: list[status.GuardedRun]) -> dict[str, Any]:
    found = protection.airbag
    return {
        "schema": 1,
        "level": protection.level,
        "lacks": list(protection.lacks),
        "limits": [{"kind": each.kind, "bytes": each.bytes, "source": each.source} for each in protection.limits],
        "airbag": {"directory": found.directory or None, "bound_bytes": found.bound_bytes, "reason": found.reason},
        "running": [
            {"recording": each.folder.name, "processes": [status.words(process) for process in each.processes]}
            for each in runs
        ],
    }
