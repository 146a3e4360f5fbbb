"""Show what a run holds in memory: its use against the limit, its largest named objects, what each cell added.

RECORD is a name from `crashcart list` (a part is enough) or a folder; without it, the newest recording, also of a program that
still runs. In a notebook, `%memory` looks at the running kernel's variables as they are now.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from crashcart.blackbox import store
from crashcart.blackbox.kernels import KERNEL_VARIABLE, recordings_of
from crashcart.errors import NoRecordingError, UsageError
from crashcart.report.holdings import Holdings, from_evidence


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("record", nargs="?", metavar="RECORD", help="a recording; without it, the newest")
    parser.add_argument("--kernel", metavar="ID", help="the newest recording of this Jupyter kernel")
    parser.add_argument("--json", action="store_true", help="print it as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Print it."""
    holdings = _recorded(arguments)
    if arguments.json:
        import json

        json.dump(holdings.to_document(), sys.stdout, indent=2)
        print()
    else:
        print(holdings)
    return 0


def here(arguments: argparse.Namespace) -> Holdings:
    """In a notebook: this kernel now, unless a recording is named."""
    if arguments.record is None and arguments.kernel is None:
        from crashcart.jupyter.live import holdings

        return holdings()
    return _recorded(arguments)


def _recorded(arguments: argparse.Namespace) -> Holdings:
    from crashcart.blackbox.read import read_recording

    return from_evidence(read_recording(_folder(arguments)))


def _folder(arguments: argparse.Namespace) -> Path:
    if arguments.kernel is not None and arguments.record is not None:
        raise UsageError("received a recording and --kernel; expected one of them")
    kernel = arguments.kernel or os.environ.get(KERNEL_VARIABLE)
    if arguments.record is not None:
        found: Path | None = store.find(arguments.record)
    elif kernel is not None:
        found = next(recordings_of(kernel), None)
    else:
        found = next(iter(store.recordings()), None)
    if found is None:
        raise NoRecordingError("there is no such recording", "`crashcart list` shows them.")
    return found
