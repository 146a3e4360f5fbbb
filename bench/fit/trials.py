"""The measured estimate (`--probe`) beside the truth: how far steps at small batches are from the step that was asked for.

    python -m bench.fit.trials [NAME…] [--phase train|predict] [--target device|host] [--write] [--stored]

Each model is tried at the larger of its batches in the zoo: at parts of it up to a quarter in one child, then at the batch itself in
another. The line through the small ones alone, and through all, is compared with the truth: that of `bench.fit.truth` on the
device; on the host, the growth of a child of its own that runs that batch alone. Points are kept in `trials.json`.
"""

from __future__ import annotations

import statistics
import sys
from pathlib import Path
from typing import Any

from bench.fit.asked import TIMEOUT_S, Store, chosen, parser, request, run
from bench.fit.manifest import Subject
from bench.fit.truth import key as truth_key
from bench.fit.truth import stored as truths
from bench.report import table, write_section
from crashcart.cli.fit_trial import tried
from crashcart.errors import CrashcartError
from crashcart.fit.measured import Line, Point
from crashcart.step import Bounds

STORE = Path(__file__).parent / "trials.json"
MOST_BYTES = 12 << 30
PARTS = (4, 1)


def main() -> int:
    arguments = parser("bench.fit.trials").parse_args()
    store = Store(STORE)
    rows = []
    for subject, phase, target in chosen(arguments):
        key = Store.key(subject.name, phase, target)
        if key not in store.rows and not arguments.stored:
            row = measured(subject, phase, target)
            if row is not None:
                store.keep(key, row)
        if key in store.rows:
            rows += judged(store.rows[key])
            for each in rows[-len(PARTS) :]:
                print(line(each), flush=True)
    print(summary(rows))
    if arguments.write:
        write_section("Measured estimate", "python -m bench.fit.trials", summary(rows))
    return 0


def measured(subject: Subject, phase: str, target: str) -> dict[str, Any] | None:
    """The points of one model, and its truth; None where either could not be had."""
    batch = max(subject.batches)
    asked = request(subject.name, phase, batch, target)
    try:
        found = tried(asked, target, MOST_BYTES, TIMEOUT_S)
    except CrashcartError as error:
        print(f"{subject.name} {phase} {target}: {error}", flush=True)
        return None
    if target == "device":
        truth = truths().get(truth_key(subject.name, phase, batch), {}).get("peak_bytes")
    else:
        truth = run(asked, batch, MOST_BYTES).peak_bytes
    if truth is None:
        return None
    points = found.device.points if target == "device" else found.host.points
    return {
        "name": subject.name,
        "phase": phase,
        "target": target,
        "batch": batch,
        "truth": truth,
        "floor": found.floor_bytes,
        "points": [[each.batch, each.peak_bytes, each.held_bytes] for each in points],
    }


def judged(row: dict[str, Any]) -> list[dict[str, Any]]:
    """The estimates from batches up to a part of the asked one."""
    found = []
    for part in PARTS:
        points = tuple(Point(*each) for each in row["points"] if each[0] <= max(1, -(-row["batch"] // part)))
        bounds = Line(points, row["phase"], row["target"]).at(row["batch"])
        if row["target"] == "host":
            bounds = Bounds(*(max(each, row["floor"]) for each in (bounds.bytes, bounds.low_bytes, bounds.high_bytes)))
        found.append(row | {"part": part, "bounds": bounds})
    return found


def error(row: dict[str, Any]) -> float:
    return float(row["bounds"].bytes / row["truth"] - 1)


def line(row: dict[str, Any]) -> str:
    bounds = row["bounds"]
    said = f"truth {row['truth'] / 1e6:8.1f} MB  estimate {bounds.bytes / 1e6:8.1f} MB {error(row):+7.1%}"
    spread = f"({bounds.low_bytes / row['truth']:.2f} … {bounds.high_bytes / row['truth']:.2f} of the truth)"
    return (
        f"{row['name']:<16} {row['phase']:<8} {row['target']:<6} {row['batch']:>5} by 1/{row['part']}  {said}  {spread}"
    )


def summary(rows: list[dict[str, Any]]) -> str:
    body = []
    for target, phase, part in sorted({(row["target"], row["phase"], -row["part"]) for row in rows}):
        each = [row for row in rows if (row["target"], row["phase"], -row["part"]) == (target, phase, part)]
        errors = sorted(abs(error(row)) for row in each)
        above = sum(row["truth"] > row["bounds"].high_bytes for row in each)
        width = statistics.median(
            (row["bounds"].high_bytes - row["bounds"].low_bytes) / row["truth"] / 2 for row in each
        )
        body.append(
            [target, phase, f"1/{-part}", str(len(each)), f"{statistics.median(errors):.1%}", f"{errors[-1]:.1%}"]
        )
        body[-1] += [f"± {width:.0%}", f"{above} of {len(each)}"]
    head = ["figure", "phase", "measured up to", "models", "median error", "largest", "half width"]
    return table([*head, "truth above the upper bound"], body)


if __name__ == "__main__":
    sys.exit(main())
