"""What a process grows by on the host: the parts of the figure, its bounds, and what it says about other machines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest

from crashcart.fit import host
from crashcart.graph import Graph, Node, Tensor, Variable

MIB = 1 << 20


def chain(batch: int, width: int = 1 << 16, length: int = 3, variables: tuple[Variable, ...] = ()) -> Graph:
    """A batch that goes through a chain of products."""
    tensor = Tensor((batch, width), 4)
    nodes = [Node("x", "Placeholder", outputs=(tensor,))]
    nodes += [Node(f"y{each}", "MatMul", ((each, 0),), outputs=(tensor,)) for each in range(length)]
    return Graph(tuple(nodes), (0,), ((length, 0),), {}, variables)


def test_bounds_lie_around_the_figure() -> None:
    found = host.host_peak(chain(64), "train", cores=2)
    assert found.low_bytes < found.bytes < found.high_bytes


@pytest.mark.parametrize("phase", ["train", "evaluate", "predict"])
def test_a_larger_batch_takes_more(phase: str) -> None:
    small, large = (host.host_peak(chain(batch), phase, cores=2).bytes for batch in (512, 1024))
    assert large - small >= 2 * 512 * (1 << 16) * 4 * 0.8


def test_blocks_that_stay_in_the_heap_waste_more_than_those_that_are_mapped() -> None:
    kept, mapped = (host.parts(chain(batch), "train", 2).slack_bytes for batch in (64, 512))
    assert kept > 64 * (1 << 16) * 4
    assert mapped < MIB


def test_even_nothing_takes_what_libraries_take_when_they_are_first_used() -> None:
    tensor = Tensor((1,), 4)
    found = host.host_peak(Graph((Node("x", "Placeholder", outputs=(tensor,)),), (0,)), "predict", cores=2)
    assert 10 * MIB < found.bytes < 300 * MIB


def test_a_graph_of_many_operations_takes_more_than_one_of_few_with_the_same_tensors() -> None:
    few, many = (host.host_peak(chain(1, 16, length), "train", cores=2).bytes for length in (10, 5000))
    assert many > few + MIB


def test_operations_of_functions_count_too() -> None:
    inner = chain(1, 16, 100)
    outer = chain(1, 16, 1)
    called = Graph(outer.nodes, outer.arguments, outer.results, {"body": inner})
    assert host.parts(called, "train", 2).operations == len(outer.nodes) + len(inner.nodes)


def test_weights_are_held_and_drawn_ones_take_more_for_a_moment() -> None:
    weights = Variable("w", 100 * MIB, "weights")
    drawn = Variable("w", 100 * MIB, "weights", drawn=True)
    plain = host.parts(chain(1, 16, 1, (weights,)), "train", 2)
    fresh = host.parts(chain(1, 16, 1, (drawn,)), "train", 2)
    assert 100 * MIB <= plain.built_bytes < 101 * MIB
    assert 300 * MIB <= fresh.built_bytes < 301 * MIB
    assert fresh.live_bytes == plain.live_bytes


def test_predict_collects_its_outputs_and_train_does_not() -> None:
    graph = chain(512, length=1)
    output = 512 * (1 << 16) * 4
    assert host.parts(graph, "predict", 2).live_bytes >= 3 * host.STEPS * output
    assert host.parts(graph, "train", 2).live_bytes < 3 * output


def test_scratch_counts_as_far_as_it_is_written_to() -> None:
    """One small image: the kernel asks for columns of many."""
    image, kernel = Tensor((1, 16, 16, 8), 4), Tensor((3, 3, 8, 8), 4)
    nodes = (
        Node("x", "Placeholder", outputs=(image,)),
        Node("sizes", "Const", outputs=(Tensor((4,), 4),)),
        Node("filter", "Conv2DBackpropFilter", ((0, 0), (1, 0), (0, 0)), outputs=(kernel,)),
    )
    found = host.parts(Graph(nodes, (0,), ((2, 0),)), "train", 2)
    columns = 16 * 16 * 3 * 3 * 8 * 4
    assert columns < found.live_bytes < 3 * columns


def test_hundreds_of_gigabytes_are_only_arithmetic() -> None:
    weights = tuple(Variable(f"w{each}", 1 << 30, "weights") for each in range(400))
    found = host.host_peak(chain(1 << 20, 1 << 14, 3, weights), "predict", cores=2)
    assert found.bytes > 500 << 30


def test_on_a_machine_of_another_kind_the_bounds_are_wider_and_it_is_said() -> None:
    known = host.facts()["machine"]
    here = host.host_peak(chain(64), "train", known["cores"], known["kind"])
    there = host.host_peak(chain(64), "train", known["cores"], "oneDNN kernels, musl malloc")
    assert there.bytes == here.bytes
    assert there.high_bytes > here.high_bytes
    assert there.low_bytes < here.low_bytes
    assert host.caveat(known["cores"], known["kind"]) is None
    assert "musl" in (host.caveat(known["cores"], "oneDNN kernels, musl malloc") or "")


def test_with_many_more_cores_it_is_said_too() -> None:
    known = host.facts()["machine"]
    assert host.caveat(known["cores"], None) is None
    assert "64" in (host.caveat(64, None) or "")


@pytest.mark.parametrize(
    ("flags", "libc", "kind"),
    [
        ({"avx2"}, "glibc 2.36", "Eigen kernels, malloc of glibc before 2.38"),
        ({"avx2"}, "glibc 2.38", "Eigen kernels, malloc of glibc from 2.38 on"),
        ({"avx2", "avx512_vnni"}, "glibc 2.36", "oneDNN kernels, malloc of glibc before 2.38"),
        (None, None, "other kernels, malloc of unknown"),
    ],
)
def test_the_kind_of_a_machine_is_told_from_its_flags_and_library(
    flags: set[str] | None, libc: str | None, kind: str
) -> None:
    assert host.machine_kind(flags, libc) == kind


def test_the_facts_say_where_they_come_from() -> None:
    facts = host.facts()
    assert "tensorflow" in facts["versions"]
    assert facts["rows"] == sum(map(len, facts["residuals"].values()))
    below, above = facts["bounds"]
    assert 0 < below < 1 and 0 < above < 1
    for phase in ("train", "predict"):
        assert all(value >= 0 for value in facts["coefficients"][phase].values())


REAL = """
import json, os
import numpy as np, keras, tensorflow as tf
from pathlib import Path
from crashcart.fit.host import host_peak
from crashcart.probe.tensorflow_specs import batch_specs
from crashcart.probe.tensorflow_trace import Trace

def figure(name):
    return next(int(line.split()[1]) * 1024 for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(name))

def made():
    model = keras.Sequential([keras.Input((1024,)), keras.layers.Dense(4096, activation="relu"), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    return model

before = figure("VmRSS:")
Path("/proc/self/clear_refs").write_text("5")
rows = tf.data.Dataset.from_tensors((tf.zeros((2048, 1024)), tf.zeros((2048, 1)))).repeat(6)
made().fit(rows, verbose=0)
grown = figure("VmHWM:") - before
model = made()
found = host_peak(Trace(model, batch_specs(model, None, "train"), "train").at(2048), "train", os.cpu_count())
print(json.dumps([grown, found.low_bytes, found.high_bytes]))
"""


@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="the peak cannot be set back here")
def test_a_real_model_grows_by_about_as_much() -> None:
    pytest.importorskip("tensorflow")
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2", "CUDA_VISIBLE_DEVICES": "-1"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", REAL], stdout=subprocess.PIPE, env=environment, check=True
    )
    grown, low, high = json.loads(done.stdout.splitlines()[-1])
    assert low * 0.6 < grown < high * 1.4


def test_the_operations_as_traced_count_not_those_that_the_optimizer_leaves() -> None:
    read = chain(1, 16)
    assert host.parts(replace(read, traced=5000), "predict", 2).operations == 5000
    assert host.parts(replace(read, traced=1), "predict", 2).operations == len(read.nodes)
