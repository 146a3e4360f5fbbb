"""The true peaks of a model, measured while it runs on the allocator that GPUs use.

    python -m bench.fit.truth NAME [NAME…] [--all]

Each model and batch runs in a child of its own, in a memory group: the allocator's chunks remember what came before. Each step takes a fresh batch from a dataset that makes it and
holds no other; Keras' own train and predict functions run it. The peak is the allocator's own, the most of steps 2 to 5
(the first one also builds the function); it counts everything that is on the device: weights, slots, batch, activations.
The result is kept in `truths.json`, with the versions it was measured with, and not measured again. It is one sample: which
operation ends first is chance. Measured again, training cnn at 64 took 203 and 215 MB (220 is kept), vgg16 at 16 took 912 and 973
(957), mlp at 512 took 47 (49), mlp_deep at 512 took 73 (70); decoder at 8 and autoencoder at 128 stayed within 2 %.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from bench.fit.children import answers, dataset, made, say, versions
from bench.fit.manifest import PHASES, SUBJECTS, Subject
from crashcart.probe.onednn import VARIABLE

STORE = Path(__file__).parent / "truths.json"
LIMIT_MB = 6000
STEPS = 5
BFC = {"TF_CPU_ALLOCATOR_USE_BFC": "1", "TF_CPU_BFC_MEM_LIMIT_IN_MB": str(LIMIT_MB), VARIABLE: "0"}


def main() -> int:
    parser = argparse.ArgumentParser("bench.fit.truth")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--again", action="store_true")
    arguments = parser.parse_args()
    for subject in SUBJECTS:
        if (arguments.all or subject.name in arguments.names) and (arguments.again or missing(subject)):
            for batch in subject.batches:
                kept = keep(measured(subject, batch))
                print(f"{subject.name} at {batch}: {kept} truths", flush=True)
    return 0


def key(name: str, phase: str, batch: int) -> str:
    return f"{name}/{phase}/{batch}/{versions()}"


def stored() -> dict[str, dict[str, Any]]:
    return json.loads(STORE.read_text(encoding="utf-8")) if STORE.exists() else {}


def missing(subject: Subject) -> bool:
    known = stored()
    return any(key(subject.name, phase, batch) not in known for phase in PHASES for batch in subject.batches)


def keep(rows: list[dict[str, Any]]) -> int:
    known = stored()
    known |= {key(row["name"], row["phase"], row["batch"]): row for row in rows}
    STORE.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return len(rows)


def measured(subject: Subject, batch: int) -> list[dict[str, Any]]:
    """Run the model in a child and read what it saw."""
    rows, _ = answers("bench.fit.truth", f"child({subject.name!r}, {batch})", LIMIT_MB + 2000, BFC)
    return rows


def child(name: str, batch: int) -> None:
    """In the child: build the model, run it to predict and then to train."""
    from crashcart.probe.tensorflow_specs import batch_specs

    model, given = made(name)
    for phase in ("predict", "train"):
        peaks, after = peaks_of(model, batch_specs(model, given, phase), phase, batch)
        weights = sum(each.numpy().nbytes for each in model.variables)
        row = {"name": name, "phase": phase, "batch": batch, "peaks": peaks, "after": after, "weights": weights}
        say(row | {"peak_bytes": max(peaks[1:])})


def peaks_of(model: Any, specs: Any, phase: str, batch: int) -> tuple[list[int], int]:
    import tensorflow as tf

    device = "CPU:0"
    iterator = iter(dataset(specs, batch))
    if phase == "train":
        model._symbolic_build(data_batch=specs)
        model.train_function = model.train_function or model._make_function(model.train_step)
    else:
        model.make_predict_function()
    peaks = []
    for _ in range(STEPS):
        tf.config.experimental.reset_memory_stats(device)
        if phase == "train":
            model.train_function(iterator)
        else:
            model.predict_function([next(iterator)])
        peaks.append(tf.config.experimental.get_memory_info(device)["peak"])
    return peaks, tf.config.experimental.get_memory_info(device)["current"]


if __name__ == "__main__":
    sys.exit(main())
