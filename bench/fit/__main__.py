"""Compare estimates with true peaks, and write the rows to docs/benchmarks.md.

    python -m bench.fit [NAME…] [--write]

Truths that are not in `truths.json` for these versions are measured first (`bench.fit.truth`). Each model is traced in a child
of its own and estimated at each batch; beside the estimate stand what people use today: four times the weights, and the sum of
the layers' outputs (with weights; three times the weights more to train). The constants of the estimate were set with
the families of `TUNED` in sight; the others were not.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from typing import Any

from bench.fit.manifest import PHASES, SUBJECTS, TUNED, Subject
from bench.fit.truth import keep, key, measured, missing, stored
from bench.report import table, write_section

MARK = "estimate "


def main() -> int:
    parser = argparse.ArgumentParser("bench.fit")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    rows = []
    for subject in SUBJECTS:
        if arguments.names and subject.name not in arguments.names:
            continue
        if missing(subject):
            for batch in subject.batches:
                keep(measured(subject, batch))
        rows += judged(subject)
        for row in rows[-2 * len(subject.batches) :]:
            print(line(row), flush=True)
    body = "\n\n".join([summary(rows), detail(rows)])
    print(summary(rows))
    if arguments.write:
        write_section("Will it fit", "make bench-fit", body)
    return 0


def judged(subject: Subject) -> list[dict[str, Any]]:
    """The estimates of a model beside its truths."""
    truths = stored()
    found = []
    for row in estimated(subject):
        truth = truths.get(key(subject.name, row["phase"], row["batch"]))
        if truth is not None:
            found.append(row | {"truth": truth["peak_bytes"], "name": subject.name, "family": subject.family})
    return found


def estimated(subject: Subject) -> list[dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, "-c", f"from bench.fit.__main__ import child; child({subject.name!r})"],
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2"},
        stdout=subprocess.PIPE,
        text=True,
        timeout=1800,
    )
    return [json.loads(line.removeprefix(MARK)) for line in done.stdout.splitlines() if line.startswith(MARK)]


def child(name: str) -> None:
    """In the child: trace once for each phase, estimate at each batch."""
    from bench.fit import zoo
    from crashcart.fit.estimate import estimate
    from crashcart.probe.tensorflow_specs import batch_specs
    from crashcart.probe.tensorflow_trace import Trace

    subject = next(each for each in SUBJECTS if each.name == name)
    for phase in PHASES:
        made = getattr(zoo, name)()
        model, given = made if isinstance(made, tuple) else (made, None)
        trace = Trace(model, batch_specs(model, given, phase), phase)
        for batch in subject.batches:
            found = estimate(trace.at(batch), phase, batch, os.cpu_count() or 1)
            row = {"phase": phase, "batch": batch, "estimate": found.peak_bytes}
            row |= {"low": found.low_bytes, "high": found.high_bytes}
            print(MARK + json.dumps(row | naive(model, phase, batch)), flush=True)


def naive(model: Any, phase: str, batch: int) -> dict[str, int]:
    """Four times the weights; the sum of the layers' outputs, with the weights (four times to train)."""
    weights = sum(each.value.shape.num_elements() * each.value.dtype.size for each in model.weights)
    outputs = 0
    for layer in model._flatten_layers(include_self=False):
        for tensor in getattr(layer, "_inbound_nodes", []) and getattr(layer._inbound_nodes[-1], "output_tensors", []):
            size = 4
            for each in tensor.shape:
                size *= batch if each is None else each
            outputs += size
    return {"times_four": 4 * weights, "outputs": outputs + weights * (4 if phase == "train" else 1)}


def error(row: dict[str, Any], what: str = "estimate") -> float:
    return float(row[what]) / float(row["truth"]) - 1


def line(row: dict[str, Any]) -> str:
    return (
        f"{row['name']:<16} {row['phase']:<8} {row['batch']:>5}  truth {row['truth'] / 1e6:8.1f} MB  "
        f"estimate {row['estimate'] / 1e6:8.1f} MB {error(row):+7.1%}  ({row['low'] / 1e6:.1f} … {row['high'] / 1e6:.1f})  "
        f"4 × weights {error(row, 'times_four'):+.0%}  layer outputs {error(row, 'outputs'):+.0%}"
    )


def detail(rows: list[dict[str, Any]]) -> str:
    head = [
        "model",
        "family",
        "phase",
        "batch",
        "truth, MB",
        "estimate, MB",
        "error",
        "4 × weights",
        "sum of layer outputs",
    ]
    body = [
        [
            row["name"],
            row["family"],
            row["phase"],
            str(row["batch"]),
            f"{row['truth'] / 1e6:.1f}",
            f"{row['estimate'] / 1e6:.1f}",
            f"{error(row):+.1%}",
            f"{error(row, 'times_four'):+.0%}",
            f"{error(row, 'outputs'):+.0%}",
        ]
        for row in rows
    ]
    return table(head, body)


def summary(rows: list[dict[str, Any]]) -> str:
    """Median and 90th percentile of the relative error, by phase, and apart for the families that nothing was set on."""
    head = [
        "rows",
        "number",
        "median error",
        "90th percentile",
        "truth above the upper bound",
        "4 × weights",
        "layer outputs",
    ]
    body = []
    for title, chosen in _groups(rows):
        if not chosen:
            continue
        above = sum(row["truth"] > row["high"] for row in chosen)
        body.append([title, str(len(chosen)), *_spread(chosen, "estimate"), f"{above} of {len(chosen)}"])
        body[-1] += [_spread(chosen, "times_four")[0], _spread(chosen, "outputs")[0]]
    return table(head, body)


def _groups(rows: list[dict[str, Any]]) -> list[tuple[str, list[dict[str, Any]]]]:
    found = []
    for phase in PHASES:
        of_phase = [row for row in rows if row["phase"] == phase]
        found.append((f"{phase}, all", of_phase))
        found.append((f"{phase}, families not set on", [row for row in of_phase if row["family"] not in TUNED]))
    return found


def _spread(rows: list[dict[str, Any]], what: str) -> list[str]:
    errors = sorted(abs(error(row, what)) for row in rows)
    return [f"{statistics.median(errors):.1%}", f"{errors[min(len(errors) - 1, int(0.9 * len(errors)))]:.1%}"]


if __name__ == "__main__":
    sys.exit(main())
