"""How much a process really grows on the host when a model is built and run, and the calibration of the estimate on that.

    python -m bench.fit.host [NAME…] [--all] [--repeat N] [--calibrate [--write]] [--safety]

Each model, batch and phase runs in a child of its own, in a memory group: plain TensorFlow, Keras' own `fit`, `evaluate` or
`predict`, and a dataset that makes one batch at a time. The growth is the most that was ever resident since the moment before
the model is built (TensorFlow and Keras are imported by then), as the kernel itself keeps it (VmHWM, set back by writing 5 to
clear_refs): it misses nothing between two looks, and costs nothing. What is kept in `host_truths.json` is not measured again.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.fit.children import answers, dataset, made, say, versions
from bench.fit.manifest import PHASES, SUBJECTS, Subject
from crashcart.fit.host import STEPS
from crashcart.probe.onednn import VARIABLE

STORE = Path(__file__).parent / "host_truths.json"
LIMIT_MB = 6000
NO_GPU = {"CUDA_VISIBLE_DEVICES": "-1"}
TRACED = NO_GPU | {VARIABLE: "0"}
"""As `crashcart fit` traces, whatever kernels the run takes."""


def main() -> int:
    parser = argparse.ArgumentParser("bench.fit.host")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--all", action="store_true", help="measure what is not known yet")
    parser.add_argument("--repeat", type=int, default=1, help="until each row has so many runs")
    parser.add_argument("--phase", action="append", choices=("train", "evaluate", "predict"))
    parser.add_argument("--calibrate", action="store_true", help="fit the coefficients, and tell how well they do")
    parser.add_argument("--write", action="store_true", help="with --calibrate: write the facts beside the estimate")
    parser.add_argument("--safety", type=int, metavar="N", help="run N models under a limit at their upper bound")
    parser.add_argument("--graphs", type=Path, help="a folder that keeps the traced steps from one call to the next")
    arguments = parser.parse_args()
    chosen = [each for each in SUBJECTS if each.name in arguments.names or not arguments.names]
    with tempfile.TemporaryDirectory() as passing:
        folder = arguments.graphs or Path(passing)
        folder.mkdir(parents=True, exist_ok=True)
        if arguments.all or not (arguments.calibrate or arguments.safety):
            measure(chosen, tuple(arguments.phase or PHASES), arguments.repeat, folder)
        if arguments.calibrate:
            from bench.fit.calibrate import calibrate

            calibrate(chosen, folder, arguments.write)
        if arguments.safety:
            from bench.fit.host_safety import safety

            safety(chosen, arguments.safety, folder)
    return 0


def measure(subjects: list[Subject], phases: tuple[str, ...], repeat: int, folder: Path) -> None:
    """Run what has fewer runs than that; each result is kept at once."""
    for subject in subjects:
        for phase in phases:
            for batch in subject.batches:
                while len(stored().get(key(subject.name, phase, batch), {}).get("runs", ())) < repeat:
                    row = measured(subject.name, phase, batch, traced(subject, folder))
                    if row is None:
                        break
                    keep(row)
                    print(f"{subject.name} {phase} {batch}: {row['growth_bytes'] / 1e6:.1f} MB", flush=True)


def traced(subject: Subject, folder: Path) -> Path:
    """The steps of a model as plain data, and what its batches look like; traced in a child, once."""
    path = folder / f"{subject.name}.pickle"
    if not path.exists():
        answers("bench.fit.host", f"trace({subject.name!r}, {str(path)!r})", variables=TRACED)
    return path


def trace(name: str, path: str) -> None:
    """In the child: trace both phases, at each batch."""
    from bench.fit.__main__ import naive
    from crashcart.probe.tensorflow_specs import batch_specs
    from crashcart.probe.tensorflow_trace import Trace

    subject = next(each for each in SUBJECTS if each.name == name)
    graphs, specs, others = {}, {}, {}
    for phase in PHASES:
        model, given = made(name)
        specs[phase] = batch_specs(model, given, phase)
        step = Trace(model, specs[phase], phase)
        for batch in subject.batches:
            graphs[phase, batch] = step.at(batch)
            others[phase, batch] = naive(model, phase, batch)
    Path(path).with_suffix(".specs").write_bytes(pickle.dumps(specs))
    Path(path).write_bytes(pickle.dumps((graphs, others)))


def measured(name: str, phase: str, batch: int, traced_path: Path, limit_mb: int = LIMIT_MB) -> dict[str, Any] | None:
    """Run the model in a child, and read what it saw; None where it died."""
    specs = str(traced_path.with_suffix(".specs"))
    rows, code = answers(
        "bench.fit.host", f"child({name!r}, {phase!r}, {batch}, {specs!r})", limit_mb, variables=NO_GPU
    )
    if code or not rows:
        return None
    return {"name": name, "phase": phase, "batch": batch, **rows[-1]}


def child(name: str, phase: str, batch: int, specs_path: str) -> None:
    """In the child: build the model and run it, as a user would."""
    import keras

    import bench.fit.zoo  # noqa: F401  (imported before the first look)

    specs = pickle.loads(Path(specs_path).read_bytes())["predict" if phase == "predict" else "train"]
    steps: list[int] = []
    look = keras.callbacks.LambdaCallback()
    look.on_train_batch_end = look.on_test_batch_end = look.on_predict_batch_end = lambda *_, **__: steps.append(
        status("VmHWM")
    )
    before, before_file = status("VmRSS"), status("RssFile")
    Path("/proc/self/clear_refs").write_text("5")
    model, _ = made(name)
    built = status("VmHWM")
    run(model, phase, dataset(specs, batch), look)
    row = {
        "growth_bytes": status("VmHWM") - before,
        "before_bytes": before,
        "built_bytes": built - before,
        "step_bytes": [each - before for each in steps],
        "file_bytes": status("RssFile") - before_file,
    }
    say(row)
    os._exit(0)


def run(model: Any, phase: str, data: Any, look: Any) -> None:
    """A few steps by Keras' own methods."""
    options = {"verbose": 0, "callbacks": [look]}
    if phase == "train":
        model.fit(data, steps_per_epoch=STEPS, **options)
    elif phase == "evaluate":
        model.evaluate(data, steps=STEPS, **options)
    else:
        model.predict(data, steps=STEPS, **options)


def status(name: str) -> int:
    """A figure of this process as the kernel keeps it."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise KeyError(name)


def key(name: str, phase: str, batch: int) -> str:
    return f"{name}/{phase}/{batch}/{versions()}/{machine()}"


def machine() -> str:
    """What the growth depends on besides the versions: cores, the processor's kernels, the allocator."""
    from crashcart.fit.host import machine_kind
    from crashcart.probe.machine import read_machine
    from crashcart.probe.onednn import takes_onednn

    flags = read_machine(os.getpid()).cpu_flags
    return f"{os.cpu_count()} cores, {machine_kind(flags, takes_onednn(flags), os.confstr('CS_GNU_LIBC_VERSION'))}"


def stored() -> dict[str, dict[str, Any]]:
    return json.loads(STORE.read_text(encoding="utf-8")) if STORE.exists() else {}


def keep(row: dict[str, Any]) -> None:
    """Add a run; the truth of a row is the middle of its runs."""
    known, own = stored(), key(row["name"], row["phase"], row["batch"])
    runs = [*known.get(own, {}).get("runs", ()), row["growth_bytes"]]
    known[own] = row | {"runs": runs, "growth_bytes": int(statistics.median(runs))}
    fresh = STORE.with_suffix(".new")
    fresh.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    fresh.replace(STORE)  # an end in the middle of it loses nothing


if __name__ == "__main__":
    sys.exit(main())
