"""Compare estimates with true peaks, and write the rows to docs/benchmarks.md.

    python -m bench.fit [NAME…] [--write]

Truths that are not in `truths.json` for these versions are measured first (`bench.fit.truth`); those of the host are taken where
`bench.fit.host` has measured them. Each model and phase is estimated in a child of its own, as the command does it, at each batch.
In the same child, what Keras itself needs for its first step is timed: the first call of its own step function, less a later
one (where it takes less than a second, the middle of five, ours and its in turn). Ours is all of it at the asked batch: specs, trace,
TensorFlow's optimizer, device and host; the search for the largest batch, which the command makes where the memory is known, is told
apart (`search_seconds`) and is not in it. Beside the estimate stand what people use today: four times the weights, the sum of the
layers' outputs (with weights; three times the weights more to train), and the peak that grappler tells (`bench.fit.baselines`, where it has been asked). The
constants of the estimate were set with the families of `TUNED` in sight; the others were not.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from bench.fit.children import answers, made, say
from bench.fit.manifest import PHASES, SUBJECTS, TUNED, Subject
from bench.fit.truth import keep, key, measured, missing, stored
from bench.report import table, write_section
from crashcart.probe.onednn import without_onednn

GIANT = Path(__file__).resolve().parents[2] / "tests" / "unit" / "fit" / "programs" / "decoder.py"
Row = dict[str, Any]
# What takes less than so long is timed so often, ours and Keras' in turn, each time with a model made anew; the middle counts.
SHORT_S, ROUNDS = 1.0, 5


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
        for phase in PHASES:
            found = judged(subject, phase)
            rows += found
            for row in found:
                print(line(row), flush=True)
    body = report(rows, "" if arguments.names else giants())
    print(body)
    if arguments.write:
        write_section("Will it fit", "make bench-fit", body)
    return 0


def judged(subject: Subject, phase: str) -> list[Row]:
    """The estimates of a model's step beside its truths."""
    truths, hosts, grappler = stored(), host_truths(), grappler_rows()
    found = []
    for row in estimated(subject, phase):
        own = (subject.name, phase, row["batch"])
        truth = truths.get(key(*own))
        if truth is None:
            continue
        row |= {"truth": truth["peak_bytes"], "name": subject.name, "family": subject.family}
        found.append(row | {"host_truth": hosts.get(own), "grappler": grappler.get(own)})
    return found


def host_truths() -> dict[tuple[str, str, int], int]:
    """What processes really grew by on this kind of machine, by model, phase and batch."""
    from bench.fit import host

    rows = host.stored()
    return {
        own: rows[found]["growth_bytes"]
        for subject in SUBJECTS
        for phase in PHASES
        for batch in subject.batches
        if (found := host.key(*(own := (subject.name, phase, batch)))) in rows
    }


def grappler_rows() -> dict[tuple[str, str, int], int | None]:
    from bench.fit.asked import Store
    from bench.fit.baselines import STORE

    return {(row["name"], row["phase"], row["batch"]): row["grappler"] for row in Store(STORE).rows.values()}


def estimated(subject: Subject, phase: str) -> list[Row]:
    return _answers(f"child({subject.name!r}, {phase!r})")


def _answers(call: str) -> list[Row]:
    """What a function of this module says in a child of its own."""
    return answers("bench.fit.__main__", call, variables=without_onednn())[0]


def child(name: str, phase: str) -> None:
    """In the child: a small model first, so that nobody pays for what is loaded once; then the estimate, then Keras' own step."""
    from bench.fit import zoo
    from crashcart.cli.fit_step import Estimator
    from crashcart.probe.tensorflow_load import load

    subject = next(each for each in SUBJECTS if each.name == name)
    _warm(phase)
    before = status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")
    model, given = load(f"{zoo.__file__}:{name}", weights=False)
    estimator = Estimator(model, given, _request(phase, subject.batches[0]), lambda _: None)
    first = estimator.step()
    grown = status("VmHWM") - before
    plain, data = made(name)
    seconds, keras = [first.seconds or 0.0], [keras_seconds(plain, data, phase)]
    for _ in range(ROUNDS - 1 if seconds[0] < SHORT_S else 0):
        another, given = load(f"{zoo.__file__}:{name}", weights=False)
        again = Estimator(another, given, _request(phase, subject.batches[0]), lambda _: None).step()
        seconds.append(again.seconds or 0.0)
        keras.append(keras_seconds(*made(name), phase))
    costs = {"seconds": statistics.median(seconds), "keras_seconds": statistics.median(keras), "grown": grown}
    for batch in subject.batches:
        found = first if batch == first.batch else estimator.at(batch)
        row: Row = {"phase": phase, "batch": batch, "estimate": found.peak_bytes}
        row |= {"low": found.low_bytes, "high": found.high_bytes}
        if found.host is not None:
            row |= {"host": found.host.bytes, "host_low": found.host.low_bytes, "host_high": found.host.high_bytes}
        say(row | costs | naive(plain, phase, batch))


def giants() -> str:
    """A decoder of 70 billion parameters, whose weights no machine of ours could hold."""
    body = []
    for phase in PHASES:
        for row in _answers(f"giant({phase!r})"):
            body.append([phase, f"{row['parameters'] / 1e9:.1f} billion", f"{row['estimate'] / 1e9:.0f}"])
            body[-1] += [f"{row['seconds']:.0f}", f"{row['grown'] / 1e6:.0f}"]
    return table(["step", "parameters", "estimate, GB", "seconds", "growth, MB"], body) if body else "Not estimated."


def giant(phase: str) -> None:
    """In the child: the same as for any other model."""
    from crashcart.cli.fit_step import Estimator
    from crashcart.probe.tensorflow_load import load

    _warm(phase)
    before = status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")
    model, given = load(f"{GIANT}:huge", weights=False)
    found = Estimator(model, given, _request(phase, 1), lambda _: None).step()
    count = sum(each.value.shape.num_elements() for each in model.weights)
    row = {"parameters": count, "estimate": found.peak_bytes, "seconds": found.seconds}
    say(row | {"grown": status("VmHWM") - before})


def _request(phase: str, batch: int) -> Row:
    return {"phase": phase, "batch": batch, "shapes": None, "target": "device", "available_bytes": None}


def _warm(phase: str) -> None:
    import keras

    from crashcart.cli.fit_step import Estimator

    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
    model.compile("adam", "mse")
    Estimator(model, None, _request(phase, 2), lambda _: None).step()
    keras_seconds(model, None, phase)


def keras_seconds(model: Any, given: Any, phase: str) -> float:
    """What Keras needs before its first step runs: the first call, less a later one, at a batch of two."""
    from bench.fit.children import dataset
    from crashcart.probe.tensorflow_specs import batch_specs

    specs = batch_specs(model, given, phase)
    iterator = iter(dataset(specs, 2))
    began_s = time.monotonic()
    if phase == "train":
        model._symbolic_build(data_batch=specs)
        model.make_train_function(force=True)
    else:
        model.make_predict_function(force=True)
    times = [time.monotonic() - began_s]
    for _ in range(3):
        began_s = time.monotonic()
        if phase == "train":
            model.train_function(iterator)
        else:
            model.predict_function([next(iterator)])
        times.append(time.monotonic() - began_s)
    return times[0] + times[1] - min(times[2:])


def status(name: str) -> int:
    """A figure of this process as the kernel keeps it, in bytes."""
    for each in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if each.startswith(f"{name}:"):
            return int(each.split()[1]) * 1024
    raise KeyError(name)


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


def error(row: Row, what: str = "estimate", truth: str = "truth") -> float | None:
    if row.get(what) is None or row.get(truth) is None:
        return None
    return float(row[what]) / float(row[truth]) - 1


def percent(row: Row, what: str = "estimate", truth: str = "truth", digits: int = 1) -> str:
    found = error(row, what, truth)
    return "–" if found is None else f"{found:+.{digits}%}"


def megabytes(row: Row, what: str) -> str:
    return "–" if row.get(what) is None else f"{row[what] / 1e6:.1f}"


def line(row: Row) -> str:
    return (
        f"{row['name']:<16} {row['phase']:<8} {row['batch']:>5}  device {megabytes(row, 'truth'):>8} MB {percent(row):>7}"
        f" ({megabytes(row, 'low')} … {megabytes(row, 'high')})  host {megabytes(row, 'host_truth'):>8} MB "
        f"{percent(row, 'host', 'host_truth'):>7}  {row['seconds']:.1f} s, Keras {row['keras_seconds']:.1f} s, "
        f"grew {megabytes(row, 'grown')} MB  4 × weights {percent(row, 'times_four', digits=0)}  "
        f"layer outputs {percent(row, 'outputs', digits=0)}  grappler {percent(row, 'grappler', digits=0)}"
    )


def report(rows: list[Row], huge: str) -> str:
    """All tables, each with what it says."""
    return "\n\n".join(
        [
            "On the device: the peak of the allocator that GPUs use.",
            spreads(rows, "estimate", "truth", ("low", "high")),
            "On the host: what the process grows by.",
            spreads(rows, "host", "host_truth", ("host_low", "host_high")),
            _HELD_OUT,
            "What others say of the same device rows, as the median error:",
            others(rows),
            "What the estimate itself costs, beside what Keras needs before its first step:",
            costs(rows),
            *(["A decoder of 70 billion parameters, at a batch of one:", huge] if huge else []),
            detail(rows),
        ]
    )


_HELD_OUT = (
    "Families: the walk over the step follows TensorFlow's own rules, and the few constants in it were set with some families in sight; "
    "the rows of all other families are apart. Bounds, and the coefficients of the host, are fitted; `python -m bench.fit.bounds` and "
    "`make calibrate` fit them again without each family in turn, and judge that family by the others."
)


def spreads(rows: list[Row], what: str, truth: str, bounds: tuple[str, str]) -> str:
    """Errors and bounds, by phase, and apart for the families that nothing was set on."""
    head = [
        "rows",
        "number",
        "median error",
        "90th percentile",
        "truth above the upper bound",
        "below the lower",
        "width",
    ]
    body = []
    for title, chosen in _groups([row for row in rows if error(row, what, truth) is not None]):
        errors = sorted(abs(error(row, what, truth) or 0.0) for row in chosen)
        low, high = bounds
        above, below = (sum(row[truth] > row[high] for row in chosen), sum(row[truth] < row[low] for row in chosen))
        width = statistics.median((row[high] - row[low]) / 2 / row[what] for row in chosen)
        body.append([title, str(len(chosen)), f"{statistics.median(errors):.1%}", f"{_ninetieth(errors):.1%}"])
        body[-1] += [f"{above} of {len(chosen)}", f"{below} of {len(chosen)}", f"±{width:.0%}"]
    return table(head, body) if body else "Nothing was measured."


def others(rows: list[Row]) -> str:
    ways = {"estimate": "crashcart", "times_four": "4 × weights", "outputs": "layer outputs", "grappler": "grappler"}
    body = []
    for title, chosen in _groups(rows):
        cells = []
        for way in ways:
            errors = [abs(found) for row in chosen if (found := error(row, way)) is not None]
            cells.append(f"{statistics.median(errors):.1%} of {len(errors)}" if errors else "–")
        body.append([title, *cells])
    return table(["rows", *ways.values()], body)


def costs(rows: list[Row]) -> str:
    """Once for each model and phase: its batches share a trace."""
    head = ["steps", "number", "estimate, s", "Keras, s", "ratio", "largest ratio", "growth, MB", "largest growth, MB"]
    body = []
    for phase in PHASES:
        once = list({row["name"]: row for row in rows if row["phase"] == phase}.values())
        if not once:
            continue
        ratios = [row["seconds"] / max(1e-3, row["keras_seconds"]) for row in once]
        grown = [row["grown"] / 1e6 for row in once]
        middle = [statistics.median(row[name] for row in once) for name in ("seconds", "keras_seconds")]
        body.append([phase, str(len(once)), *(f"{each:.1f}" for each in middle)])
        body[-1] += [f"{statistics.median(ratios):.2f}", f"{max(ratios):.2f}"]
        body[-1] += [f"{statistics.median(grown):.0f}", f"{max(grown):.0f}"]
    return table(head, body)


def detail(rows: list[Row]) -> str:
    head = ["model", "family", "phase", "batch", "device, MB", "estimate", "error", "host, MB", "estimate", "error"]
    head += ["4 × weights", "layer outputs", "grappler", "seconds", "Keras"]
    body = [
        [
            row["name"],
            row["family"],
            row["phase"],
            str(row["batch"]),
            megabytes(row, "truth"),
            megabytes(row, "estimate"),
            percent(row),
            megabytes(row, "host_truth"),
            megabytes(row, "host"),
            percent(row, "host", "host_truth"),
            percent(row, "times_four", digits=0),
            percent(row, "outputs", digits=0),
            percent(row, "grappler", digits=0),
            f"{row['seconds']:.1f}",
            f"{row['keras_seconds']:.1f}",
        ]
        for row in rows
    ]
    return table(head, body)


def _groups(rows: list[Row]) -> list[tuple[str, list[Row]]]:
    found = []
    for phase in PHASES:
        of_phase = [row for row in rows if row["phase"] == phase]
        found.append((f"{phase}, all", of_phase))
        found.append((f"{phase}, families not set on", [row for row in of_phase if row["family"] not in TUNED]))
    return [(title, chosen) for title, chosen in found if chosen]


def _ninetieth(ordered: list[float]) -> float:
    return ordered[min(len(ordered) - 1, int(0.9 * len(ordered)))]


if __name__ == "__main__":
    sys.exit(main())
