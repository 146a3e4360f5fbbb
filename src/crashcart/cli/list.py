"""List the recorded runs, newest first: name, when, how it ended, and the verdict in a line."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from crashcart.blackbox import store
from crashcart.errors import UnreadableRecordingError, UsageError
from crashcart.evidence import Ending, Evidence
from crashcart.finding import Finding
from crashcart.report.safe import flat
from crashcart.why import explain
from crashcart.why.collect import collect


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--json", action="store_true", help="print the list as JSON")
    parser.add_argument("-n", type=int, default=20, metavar="N", help="at most N runs (default 20)")


def run(arguments: argparse.Namespace) -> int:
    """Print the list."""
    if arguments.n < 1:
        raise UsageError(f"received -n {arguments.n}; expected a number above 0")
    rows = [_row(folder) for folder in store.recordings()[: arguments.n]]
    if arguments.json:
        import json

        json.dump({"schema": 1, "recordings": rows}, sys.stdout, indent=2)
        print()
        return 0
    if not rows:
        print(f"no recordings yet (in {store.runs_folder()}); make one with `crashcart run -- python train.py`")
        return 0
    width = max(len(row["recording"]) for row in rows)
    for row in rows:
        print(f"{row['recording']:<{width}}  {row['started']}  {row['ended']:<12}  {flat(row['headline'])}")
    return 0


def _row(folder: Path) -> dict[str, Any]:
    try:
        evidence = collect(folder)
    except UnreadableRecordingError as error:
        return {
            "recording": folder.name,
            "started": " " * 16,
            "ended": "unreadable",
            "cause": None,
            "headline": str(error),
        }
    report = explain(evidence, folder.name)
    verdict = report.verdict
    return {
        "recording": folder.name,
        "started": _started(evidence),
        "ended": _ended(evidence.ending),
        "cause": verdict.cause.value if verdict else None,
        "headline": _headline(evidence, verdict),
    }


def _headline(evidence: Evidence, verdict: Finding | None) -> str:
    if evidence.ending is not None and evidence.ending.kind == "running":
        return f"{evidence.program.name if evidence.program else 'the program'} is still running"
    return verdict.headline if verdict else "nothing found"


def _started(evidence: Evidence) -> str:
    started = evidence.program.started_unix_s if evidence.program is not None else 0.0
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(started))


def _ended(ending: Ending | None) -> str:
    if ending is None:
        return "?"
    if ending.kind == "signal":
        return ending.signal_name or f"signal {ending.signal}"
    return f"exit {ending.exit_code}" if ending.kind == "exit" else ending.kind
