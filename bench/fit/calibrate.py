"""Fit the coefficients of the host's estimate to real growths, and tell how well they do on families they were not fitted on.

    make calibrate    (python -m bench.fit.host --calibrate --write)

Least squares on the relative error, by phase, with no coefficient below zero. Each family is left out in turn: the errors that
are told, and the bounds, are those on the family left out. The facts are written beside the estimate (`fit/host.json`).
"""

from __future__ import annotations

import json
import os
import pickle
import statistics
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from bench.fit.children import versions
from bench.fit.host import key, machine, stored, traced
from bench.fit.manifest import PHASES, Subject
from bench.report import table, write_section
from crashcart.fit import host

FACTS = Path(host.__file__).with_name("host.json")
# Truth may lie above the upper bound in 2 of 100 runs.
COVERED = 0.98
# Growth below the lower bound does no harm; 10 of 100 runs may have it.
COVERED_BELOW = 0.9
# Elsewhere (other kernels, another allocator, many more cores) nothing was measured: a guess, on each side.
ELSEWHERE = 0.25
MOST_TIMES_CORES = 4
NOTE = f"""What a process grows by on the host, over the moment before the model is built, within {host.STEPS} steps (VmHWM). "Family
left out" is judged by the coefficients and bounds of the other families alone. These are the rows that the estimate is fitted to now;
the rows of "Will it fit" are those of the facts at that time."""
Row = dict[str, Any]


def calibrate(subjects: Sequence[Subject], folder: Path, write: bool) -> None:
    """Fit, tell, and keep."""
    rows = [row for subject in subjects for row in described(subject, folder)]
    judge(rows)
    print(summary(rows))
    for row in sorted(rows, key=lambda row: row["left_out"] / row["truth"]):
        print(line(row))
    if write:
        FACTS.write_text(json.dumps(facts(rows), indent=1) + "\n", encoding="utf-8")
        write_section("Growth on the host", "make calibrate", f"{summary(rows)}\n\n{NOTE}")


def described(subject: Subject, folder: Path) -> list[Row]:
    """What the estimate knows of each measured row, beside the truth."""
    known, cores = stored(), os.cpu_count() or 1
    graphs, others = pickle.loads(traced(subject, folder).read_bytes())
    found = []
    for (phase, batch), graph in graphs.items():
        truth = known.get(key(subject.name, phase, batch))
        if truth is None:
            continue
        of = host.parts(graph, phase, cores)
        row = {"name": subject.name, "family": subject.family, "phase": phase, "batch": batch}
        row |= {"parts": of, "terms": host.terms(of)}
        found.append(row | {"truth": truth["growth_bytes"], "runs": truth["runs"], **others[phase, batch]})
    return found


def fitted(rows: Sequence[Row]) -> dict[str, float]:
    """Least squares on the relative error; a coefficient that would be negative is left out."""
    names = list(rows[0]["terms"])
    while True:
        matrix = np.array([[row["terms"][name] / row["truth"] for name in names] for row in rows])
        wanted = np.array([1 - row["parts"].live_bytes / row["truth"] for row in rows])
        solved = np.linalg.lstsq(matrix, wanted, rcond=None)[0]
        if (solved >= 0).all():
            break
        names.pop(int(np.argmin(solved * np.abs(matrix).mean(0))))
    return dict.fromkeys(rows[0]["terms"], 0.0) | dict(zip(names, map(float, solved), strict=True))


def predicted(row: Row, coefficients: dict[str, float]) -> float:
    return host.grown_bytes(row["parts"], coefficients)


def misses(rows: Sequence[Row]) -> list[float]:
    """How far above the figure each single run lies, in parts of what is unsure of it: the bounds are for one run, not for the
    middle of several."""
    return [(run - row["left_out"]) / row["unsure"] for row in rows for run in row["runs"]]


def bounds(found: Sequence[float]) -> tuple[float, float]:
    """How far below and above the figure the truth may lie, from the misses on families left out."""
    below, above = np.quantile(found, (1 - COVERED_BELOW, COVERED))
    return max(0.0, -float(below)), max(0.0, float(above))


def judge(rows: Sequence[Row]) -> None:
    """Add to each row: the figure in sample, the figure without the own family, and bounds without it. Coefficients are those of
    one phase; the bounds are fitted to both phases together, since a hundredth of one phase is less than a run."""
    for phase in PHASES:
        _figures([row for row in rows if row["phase"] == phase])
    for row in rows:
        below, above = bounds(misses([each for each in rows if each["family"] != row["family"]]))
        share = row["unsure"] / row["left_out"]
        row["below"], row["above"] = below * share, above * share


def _figures(rows: Sequence[Row]) -> None:
    everywhere = fitted(rows)
    for family in sorted({row["family"] for row in rows}):
        coefficients = fitted([row for row in rows if row["family"] != family])
        for row in rows:
            if row["family"] == family:
                row["figure"], row["left_out"] = predicted(row, everywhere), predicted(row, coefficients)
                row["unsure"] = host.unsure_bytes(row["parts"], row["left_out"])


def facts(rows: Sequence[Row]) -> dict[str, Any]:
    """What the estimate reads, with where it comes from and how well it does."""
    found = {phase: [row for row in rows if row["phase"] == phase] for phase in PHASES}
    return {
        "measured": date.today().isoformat(),
        "versions": versions(),
        "machine": {"cores": os.cpu_count(), "kind": machine().partition(" cores, ")[2]},
        "rows": len(rows),
        "runs": sum(len(row["runs"]) for row in rows),
        "coefficients": {phase: fitted(each) for phase, each in found.items()},
        "bounds": [round(each, 4) for each in bounds(misses(rows))],
        "elsewhere": ELSEWHERE,
        "most_times_cores": MOST_TIMES_CORES,
        "residuals": {
            phase: {f"{row['name']} at {row['batch']}": round(row["left_out"] / row["truth"] - 1, 4) for row in each}
            for phase, each in found.items()
        },
    }


def summary(rows: Sequence[Row]) -> str:
    """Errors in sample and on the family left out, the bounds, and what people use today."""
    head = ["rows", "number", "in sample", "90 of 100", "family left out", "90 of 100"]
    head += ["runs above the upper bound", "below the lower", "width", "4 × weights", "layer outputs"]
    body = []
    for title in (*PHASES, "all"):
        chosen = [row for row in rows if title in ("all", row["phase"])]
        if not chosen:
            continue
        runs = [(run / row["left_out"] - 1, row) for row in chosen for run in row["runs"]]
        above = sum(off > row["above"] for off, row in runs)
        below = sum(off < -row["below"] for off, row in runs)
        width = statistics.median((row["below"] + row["above"]) / 2 for row in chosen)
        body.append([title, str(len(chosen)), *_spread(chosen, "figure"), *_spread(chosen, "left_out")])
        body[-1] += [f"{above} of {len(runs)}", f"{below} of {len(runs)}", f"±{width:.1%}"]
        body[-1] += [_spread(chosen, "times_four")[0], _spread(chosen, "outputs")[0]]
    return table(head, body)


def _spread(rows: Sequence[Row], what: str) -> list[str]:
    errors = sorted(abs(row[what] / row["truth"] - 1) for row in rows)
    return [f"{statistics.median(errors):.1%}", f"{errors[min(len(errors) - 1, int(0.9 * len(errors)))]:.1%}"]


def line(row: Row) -> str:
    of: host.Parts = row["parts"]
    parts = f"live {of.live_bytes / 1e6:.1f}  slack {of.slack_bytes / 1e6:.1f}  operations {of.operations}"
    return (
        f"{row['name']:<15} {row['phase']:<8} {row['batch']:>5}  truth {row['truth'] / 1e6:7.1f} MB  "
        f"left out {row['left_out'] / row['truth'] - 1:+7.1%}  in sample {row['figure'] / row['truth'] - 1:+7.1%}  {parts}"
    )
