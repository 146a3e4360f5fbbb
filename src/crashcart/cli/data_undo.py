"""`crashcart data --undo DIR`: moves the files of a quarantine back, and says what could not be.

Covers: the words on stderr, the document for `--json`, the exit code. Does not cover: moving (`data/quarantine_undo.py`).
"""

from __future__ import annotations

import argparse
import sys

from crashcart.cli.talk import say
from crashcart.errors import UsageError
from crashcart.units import plural


def undone(arguments: argparse.Namespace) -> int:
    """Move a quarantine back; 1 where something stayed, or is not there any more."""
    from crashcart.data.quarantine_undo import GONE, undo

    folder: str = arguments.undo
    if arguments.paths:
        raise UsageError(f"received {arguments.paths[0]} beside --undo {folder}; expected the folder alone")
    back, stayed = 0, []
    for now, was, reason in undo(folder):
        if reason is None:
            back += 1
            continue
        stayed.append({"path": now, "to": was, "reason": reason})
        say(f"{now} is gone, and {was} is not there either" if reason == GONE else f"{now} stays: {was}: {reason}")
    say(f"{plural(back, 'file')} moved back" + (f", {len(stayed)} not" if stayed else ""))
    if arguments.json:
        _print_document({"folder": folder, "files": back, "stayed_files": len(stayed), "stayed": stayed})
    return 1 if stayed else 0


def _print_document(figures: dict[str, object]) -> None:
    from crashcart.finding import Report
    from crashcart.report.json import render_json

    sys.stdout.write(render_json(Report(str(figures["folder"]), (), figures={"undo": figures}), None))
