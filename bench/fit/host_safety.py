"""The largest batch by the host's upper bound, run under that bound: does it live?

    python -m bench.fit.host --safety N

For each model: the memory that its larger batch took, times `MORE`, is what there is. The largest batch whose upper bound stays
below it is sought as `crashcart fit` seeks it, and run in a memory group whose limit is what the process had before the model was built and
the upper bound of that batch.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.fit.children import answers, made, say
from bench.fit.host import NO_GPU, key, measured, stored, traced
from bench.fit.manifest import PHASES, SUBJECTS, Subject

MORE = 2.0
MOST_BYTES = 3 << 30


def safety(subjects: Sequence[Subject], count: int, folder: Path) -> None:
    """Train and predict in turn, over as many models."""
    died = 0
    for number, subject in enumerate(subjects[:count]):
        phase = PHASES[number % len(PHASES)]
        truth = stored().get(key(subject.name, phase, subject.batches[-1]))
        if truth is None:
            continue
        found = sought(subject.name, phase, min(MOST_BYTES, int(truth["growth_bytes"] * MORE)))
        if not found["batch"]:
            continue
        limit_mb = -(-(truth["before_bytes"] + found["high_bytes"]) // 2**20)
        row = measured(subject.name, phase, found["batch"], traced(subject, folder), limit_mb)
        died += row is None
        told = "died" if row is None else f"lived, grew by {row['growth_bytes'] / found['high_bytes']:.0%} of the bound"
        print(f"{subject.name} {phase} {found['batch']}: limit {limit_mb} MiB: {told}", flush=True)
    print(f"{died} died")


def sought(name: str, phase: str, limit_bytes: int) -> dict[str, Any]:
    rows, _ = answers("bench.fit.host_safety", f"child({name!r}, {phase!r}, {limit_bytes})", variables=NO_GPU)
    return rows[0]


def child(name: str, phase: str, limit_bytes: int) -> None:
    """In the child: trace, and seek the batch."""
    from crashcart.fit.estimate import largest_batch
    from crashcart.fit.host import host_peak
    from crashcart.probe.tensorflow_specs import batch_specs
    from crashcart.probe.tensorflow_trace import Trace

    subject, cores = next(each for each in SUBJECTS if each.name == name), os.cpu_count() or 1
    model, given = made(name)
    step = Trace(model, batch_specs(model, given, phase), phase)

    def high(batch: int) -> int:
        return host_peak(step.at(batch), phase, cores).high_bytes

    known = {batch: high(batch) for batch in subject.batches[:1]}
    batch = largest_batch(high, known, limit_bytes)
    say({"batch": batch, "high_bytes": known.get(batch) or high(batch)})
