"""What grappler, TensorFlow's own graph optimizer, says of the same steps, beside what people reckon by hand.

    python -m bench.fit.baselines [NAME…] [--phase train|predict] [--write] [--stored]

Grappler can tell the peak memory of a graph without running it (`Cluster.DeterminePeakMemoryUsage`, on a virtual cluster of one
device). It is given the step that Keras would run, traced at the batch. It does not see the variables behind their handles, so
weights and slots are added to its figure. Beside it: four times the weights, and the sum of the layers' outputs. The truths
are those of `bench.fit.truth`; results are kept in `baselines.json`.
"""

from __future__ import annotations

import os
import statistics
import sys
from pathlib import Path
from typing import Any

from bench.fit.__main__ import naive
from bench.fit.asked import Store, chosen, parser
from bench.fit.children import made
from bench.fit.forked import Say, heard
from bench.fit.manifest import PHASES, SUBJECTS, Subject
from bench.fit.truth import key as truth_key
from bench.fit.truth import stored as truths
from bench.report import table, write_section

# For the batches of one model and phase.
MOST_S = 600.0
STORE = Path(__file__).parent / "baselines.json"
DEVICE = "/job:localhost/replica:0/task:0/device:CPU:0"
WAYS = {"grappler": "grappler", "times_four": "4 × weights", "outputs": "sum of layer outputs"}


def main() -> int:
    arguments = parser("bench.fit.baselines").parse_args()
    arguments.target = ["device"]
    store = Store(STORE)
    rows = []
    for subject, phase, _ in chosen(arguments):
        keys = [Store.key(subject.name, phase, "device", batch) for batch in subject.batches]
        if not arguments.stored and any(each not in store.rows for each in keys):
            for row in asked(subject, phase):
                store.keep(Store.key(subject.name, phase, "device", row["batch"]), row)
        for own, batch in zip(keys, subject.batches, strict=True):
            truth = truths().get(truth_key(subject.name, phase, batch))
            if own in store.rows and truth is not None:
                rows.append(store.rows[own] | {"truth": truth["peak_bytes"]})
                print(line(rows[-1]), flush=True)
    print(summary(rows))
    if arguments.write:
        body = f"{summary(rows)}\n\n{lacking(rows)}"
        write_section("Other estimates of the same steps", "python -m bench.fit.baselines", body)
    return 0


def asked(subject: Subject, phase: str) -> list[dict[str, Any]]:
    """A row for each batch that it was through with in time."""
    rows, failed = heard(child, (subject.name, phase, subject.batches), {}, MOST_S)
    if failed:
        print(f"{subject.name} {phase}: {failed}", flush=True)
    return rows


def child(say: Say, name: str, phase: str, batches: tuple[int, ...]) -> None:
    """In the child: trace at each batch, ask grappler."""
    model, given = made(name)
    for batch in batches:
        row = {"name": name, "phase": phase, "batch": batch, **naive(model, phase, batch)}
        try:
            row["grappler"] = grappler_bytes(model, given, phase, batch)
        except Exception as error:
            row |= {"grappler": None, "why": f"{type(error).__name__}: {error}"[:300]}
        say(row)


def grappler_bytes(model: Any, given: Any, phase: str, batch: int) -> int:
    """Its peak of the step, and the variables that it cannot see."""
    import tensorflow as tf
    from tensorflow.core.protobuf import device_properties_pb2
    from tensorflow.python.grappler import cluster, item

    from crashcart.probe.tensorflow_specs import batch_specs

    specs = tf.nest.map_structure(
        lambda each: tf.TensorSpec([batch, *each.shape[1:]], each.dtype), batch_specs(model, given, phase)
    )
    if phase == "train":
        model._symbolic_build(data_batch=specs)
    step = model.train_step if phase == "train" else model.predict_step
    concrete = tf.function(lambda data: step(data)).get_concrete_function(specs)
    properties = device_properties_pb2.DeviceProperties(
        type="CPU", num_cores=os.cpu_count(), frequency=2000, memory_size=1 << 40, bandwidth=20_000_000
    )
    device = device_properties_pb2.NamedDevice(name=DEVICE, properties=properties)
    graph = item.Item(_meta_graph(concrete), ignore_user_placement=False)
    found = cluster.Cluster(devices=[device]).DeterminePeakMemoryUsage(graph)
    variables = list(model.variables) + list(getattr(model.optimizer, "variables", ()) if phase == "train" else ())
    unique = {id(each): each.value for each in variables}.values()
    held = sum(int(each.shape.num_elements()) * int(each.dtype.size) for each in unique)
    return int(max(peak for peak, _ in found.values())) + held


def _meta_graph(concrete: Any) -> Any:
    import tensorflow as tf

    definition = concrete.graph.as_graph_def()
    by_handle = {id(each.handle): each for each in concrete.graph.variables}
    handles = {inner.name.partition(":")[0]: by_handle.get(id(outer)) for outer, inner in concrete.graph.captures}
    for node in definition.node:
        node.device = DEVICE
        variable = handles.get(node.name)
        if variable is not None:
            node.op = "VarHandleOp"
            node.ClearField("input")
            node.attr.clear()
            node.attr["dtype"].type = variable.dtype.as_datatype_enum
            node.attr["shape"].shape.CopyFrom(variable.shape.as_proto())
            node.attr["shared_name"].s = node.name.encode()
    with tf.Graph().as_default() as graph:
        tf.graph_util.import_graph_def(definition, name="")
        meta = tf.compat.v1.train.export_meta_graph(graph_def=graph.as_graph_def(), graph=graph)
    kept = meta.collection_def["train_op"].node_list.value
    kept.extend(each.name for each in (*concrete.graph.outputs, *concrete.graph.control_outputs))
    return meta


def error(row: dict[str, Any], way: str) -> float | None:
    return None if row.get(way) is None else float(row[way]) / float(row["truth"]) - 1


def line(row: dict[str, Any]) -> str:
    said = "  ".join(
        f"{title} {found:+.0%}" if (found := error(row, way)) is not None else f"{title} none"
        for way, title in WAYS.items()
    )
    start = f"{row['name']:<16} {row['phase']:<8} {row['batch']:>5}  truth {row['truth'] / 1e6:8.1f} MB"
    return f"{start}  {said}  {row.get('why', '')}"


def summary(rows: list[dict[str, Any]]) -> str:
    body = []
    for way, title in WAYS.items():
        for phase in sorted({row["phase"] for row in rows}):
            errors = sorted(
                abs(found) for row in rows if row["phase"] == phase and (found := error(row, way)) is not None
            )
            if errors:
                most = errors[min(len(errors) - 1, int(0.9 * len(errors)))]
                body.append([title, phase, str(len(errors)), f"{statistics.median(errors):.0%}", f"{most:.0%}"])
    return table(["way", "phase", "rows", "median error", "90th percentile"], body)


def lacking(rows: list[dict[str, Any]]) -> str:
    """Which rows there are not."""
    known = {(row["name"], row["phase"], row["batch"]) for row in rows}
    all_rows = [(each.name, phase, batch) for each in SUBJECTS for phase in PHASES for batch in each.batches]
    names = {f"{name} ({phase})": None for name, phase, batch in all_rows if (name, phase, batch) not in known}
    refused = [f"- {row['name']} ({row['phase']}, {row['batch']}): {row['why']}" for row in rows if row.get("why")]
    found = [f"Not asked, or not through within {MOST_S:.0f} s: {', '.join(names)}."] if names else []
    return "\n".join([*found, *(["", "Grappler could not:", "", *refused] if refused else [])])


if __name__ == "__main__":
    sys.exit(main())
