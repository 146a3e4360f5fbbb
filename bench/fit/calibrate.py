"""Fit the coefficients of the host's estimate to real growths, and tell how well they do on families they were not fitted on.

    make calibrate    (python -m bench.fit.host --calibrate --write)

The kernels are those that TensorFlow takes here; TF_ENABLE_ONEDNN_OPTS=0 makes them Eigen's.
Least squares on the relative error, by phase, with no coefficient below zero. Then the spread: by what part of itself each part of
the figure is off, the likeliest for the errors on families left out. Each family is judged by coefficients and spread of the
others alone, which know nothing of it. The truth of a row is the middle of its runs; the bounds are for a single run, and
each row counts once however often it ran. The facts are written beside the estimate (`fit/host.json`).
"""

from __future__ import annotations

import json
import os
import pickle
import statistics
from collections.abc import Iterator, Sequence
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
# How many standard deviations the bounds lie below and above the figure. Of what is distributed normally 90 % stays above the first
# and 99 % below the second. Growth below the lower bound does no harm; above the upper one it may be in 2 of 100 runs, and the
# errors have somewhat longer tails than the normal distribution: where more than half of that lie above it, by the figures and the
# spread of the other families, it is raised until they do not. Half of it, since a row with few runs does not show its worst: of four
# runs of one convolution net the first two were 2 % apart, and the other two 38 %.
DEVIATIONS = (1.28, 2.33)
MOST_ABOVE = 0.01
# Spreads that are not fitted.
SET = {"loops": host.SPREAD_IN_FUNCTIONS}
# So many rounds change no spread by more than a hundredth of it.
ROUNDS = 100
# Elsewhere (other kernels, another allocator, many more cores) nothing was measured: a guess, on each side.
ELSEWHERE = 0.25
MOST_TIMES_CORES = 4
NOTE = f"""What a process grows by on the host, over the moment before the model is built, within {host.STEPS} steps (VmHWM). "Family
left out" is judged by the coefficients and the spread of the other families alone; how many deviations the upper bound lies above the
figure is set on all rows, so that at most 1 of 100 is beyond it, each row counted once. Runs of one program differ, since it is chance which threads
do its work and so whose heaps grow: {{spread}}. These are the rows that the estimate is fitted to now; the rows of "Will it fit" are those of
the facts at that time."""
Row = dict[str, Any]
Coefficients = dict[str, dict[str, float]]
Miss = tuple[dict[str, float], list[float]]
"""What is unsure of a row, and by how much each of its runs lies above the figure."""


def calibrate(subjects: Sequence[Subject], folder: Path, write: bool) -> None:
    """Fit, tell, and keep."""
    rows = [row for subject in subjects for row in described(subject, folder)]
    judge(rows)
    print(summary(rows))
    print(apart(rows))
    for row in sorted(rows, key=lambda row: row["left_out"] / row["truth"]):
        print(line(row))
    if write:
        found, known = facts(rows), json.loads(FACTS.read_text(encoding="utf-8"))
        own = found["machine"]["kind"]
        FACTS.write_text(json.dumps(known | {own: found}, indent=1) + "\n", encoding="utf-8")
        title = f"Growth on the host with {own.partition(',')[0]}"
        write_section(title, "make calibrate", f"{summary(rows)}\n\n{NOTE.format(spread=apart(rows))}")


def described(subject: Subject, folder: Path) -> list[Row]:
    """What the estimate knows of each measured row, beside the truth."""
    known, cores, onednn = stored(), os.cpu_count() or 1, host.has_onednn(kind())
    graphs, others = pickle.loads(traced(subject, folder).read_bytes())
    found = []
    for (phase, batch), graph in graphs.items():
        truth = known.get(key(subject.name, phase, batch))
        if truth is None:
            continue
        of = host.parts(graph, phase, cores, onednn=onednn)
        row = {"name": subject.name, "family": subject.family, "phase": phase, "batch": batch}
        row |= {"parts": of, "terms": host.terms(of)}
        found.append(row | {"truth": truth["growth_bytes"], "runs": truth["runs"], **others[phase, batch]})
    return found


def kind() -> str:
    """Of this machine: its kernels and its allocator."""
    return machine().partition(" cores, ")[2]


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


def by_phase(rows: Sequence[Row]) -> Coefficients:
    return {phase: fitted([row for row in rows if row["phase"] == phase]) for phase in PHASES}


def families(rows: Sequence[Row]) -> Iterator[tuple[list[Row], list[Row]]]:
    """The rows of each family, and all others."""
    for family in sorted({row["family"] for row in rows}):
        yield (
            [row for row in rows if row["family"] == family],
            [row for row in rows if row["family"] != family],
        )


def misses(rows: Sequence[Row]) -> list[Miss]:
    """How far the runs of each family are from the figures that the others give."""
    found = []
    for own, others in families(rows):
        coefficients = by_phase(others)
        for row in own:
            figure = predicted(row, coefficients[row["phase"]])
            unsure = host.unsure_bytes(row["parts"], coefficients[row["phase"]])
            found.append((unsure, [run - figure for run in row["runs"]]))
    return found


def spread_of(found: Sequence[Miss]) -> dict[str, float]:
    """By what part of itself each unsure part is off: the likeliest, if errors are normal and the parts do not depend on each
    other; what is set is taken as it is. Each round moves the variances to where the likelihood's slope is zero."""
    names = [name for name in found[0][0] if name not in SET and any(unsure[name] for unsure, _ in found)]
    squares = np.array([[unsure[name] ** 2 for name in names] for unsure, _ in found])
    known = np.array([sum((SET[name] * unsure[name]) ** 2 for name in SET if name in unsure) for unsure, _ in found])
    errors = np.array([np.mean(np.square(off)) for _, off in found])
    variances = np.full(len(names), 0.01)
    for _ in range(ROUNDS):
        expected = squares @ variances + known
        variances *= np.sqrt((squares.T @ (errors / expected**2)) / (squares.T @ (1 / expected)))
    return dict(zip(names, map(float, np.sqrt(variances)), strict=True)) | SET


def judge(rows: Sequence[Row]) -> None:
    """Add to each row: the figure in sample, the figure without the own family, and bounds without it."""
    everywhere = by_phase(rows)
    for own, others in families(rows):
        coefficients, spread = by_phase(others), spread_of(misses(others))
        for row in own:
            left_out = coefficients[row["phase"]]
            row["figure"], row["left_out"] = predicted(row, everywhere[row["phase"]]), predicted(row, left_out)
            unsure = host.unsure_bytes(row["parts"], left_out)
            row["deviation"] = host.deviation_bytes(unsure, spread) / row["left_out"]
    for row in rows:
        row["below"], row["above"] = (each * row["deviation"] for each in deviations(rows))


def deviations(rows: Sequence[Row]) -> tuple[float, float]:
    """How many of them the bounds lie below and above."""
    below, above = DEVIATIONS
    runs = sorted(
        ((run / row["left_out"] - 1) / row["deviation"], 1 / len(row["runs"])) for row in rows for run in row["runs"]
    )
    share = 0.0
    for off, weight in reversed(runs):
        share += weight / len(rows)
        if share > MOST_ABOVE:
            return below, max(above, round(off + 0.005, 2))
    return DEVIATIONS


def facts(rows: Sequence[Row]) -> dict[str, Any]:
    """What the estimate reads, with where it comes from and how well it does."""
    found = {phase: [row for row in rows if row["phase"] == phase] for phase in PHASES}
    return {
        "measured": date.today().isoformat(),
        "versions": versions(),
        "machine": {"cores": os.cpu_count(), "kind": kind()},
        "rows": len(rows),
        "runs": sum(len(row["runs"]) for row in rows),
        "coefficients": by_phase(rows),
        "spread": {name: round(each, 4) for name, each in spread_of(misses(rows)).items()},
        "deviations": deviations(rows),
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
    head += ["runs above the upper bound", "each row once", "below the lower", "bounds", "width"]
    head += ["4 × weights", "layer outputs"]
    body = []
    for title in (*PHASES, "all"):
        chosen = [row for row in rows if title in ("all", row["phase"])]
        if not chosen:
            continue
        runs = [(run / row["left_out"] - 1, row) for row in chosen for run in row["runs"]]
        above = [row for off, row in runs if off > row["above"]]
        below = sum(off < -row["below"] for off, row in runs)
        share = sum(1 / len(row["runs"]) for row in above) / len(chosen)
        low, high = (statistics.median(row[side] for row in chosen) for side in ("below", "above"))
        width = statistics.median((row["below"] + row["above"]) / 2 for row in chosen)
        body.append([title, str(len(chosen)), *_spread(chosen, "figure"), *_spread(chosen, "left_out")])
        body[-1] += [f"{len(above)} of {len(runs)}", f"{share:.1%}", f"{below} of {len(runs)}"]
        body[-1] += [f"−{low:.1%} … +{high:.1%}", f"±{width:.1%}"]
        body[-1] += [_spread(chosen, "times_four")[0], _spread(chosen, "outputs")[0]]
    return table(head, body)


def _spread(rows: Sequence[Row], what: str) -> list[str]:
    errors = sorted(abs(row[what] / row["truth"] - 1) for row in rows)
    return [f"{statistics.median(errors):.1%}", f"{errors[min(len(errors) - 1, int(0.9 * len(errors)))]:.1%}"]


def apart(rows: Sequence[Row]) -> str:
    """How far runs of the same row are apart."""
    several = [row["runs"] for row in rows if len(row["runs"]) > 1]
    if not several:
        return "each row ran once"
    ranges = sorted((max(runs) - min(runs)) / statistics.median(runs) for runs in several)
    middle = statistics.median(ranges)
    return f"of {len(several)} rows with several runs, these are {middle:.0%} apart on median, and {ranges[-1]:.0%} at most"


def line(row: Row) -> str:
    of: host.Parts = row["parts"]
    parts = f"live {of.live_bytes / 1e6:.1f}  slack {of.slack_bytes / 1e6:.1f}  operations {of.operations}"
    return (
        f"{row['name']:<15} {row['phase']:<8} {row['batch']:>5}  truth {row['truth'] / 1e6:7.1f} MB  "
        f"left out {row['left_out'] / row['truth'] - 1:+7.1%}  in sample {row['figure'] / row['truth'] - 1:+7.1%}  "
        f"upper {row['left_out'] * (1 + row['above']) / 1e6:7.1f} MB of runs {[round(run / 1e6) for run in row['runs']]}  {parts}"
    )
