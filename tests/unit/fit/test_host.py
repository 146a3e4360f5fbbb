"""What a process grows by on the host: the parts of the figure, its bounds, and what it says about other machines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest

from crashcart.fit import host
from crashcart.fit.heap import Heap
from crashcart.fit.tape import Player, Tape
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


def test_where_the_heap_grows_by_chance_the_bounds_are_wider_than_where_blocks_are_mapped() -> None:
    kept, mapped = (host.host_peak(chain(batch), "train", cores=2) for batch in (64, 512))
    assert (kept.high_bytes - kept.low_bytes) / kept.bytes > (mapped.high_bytes - mapped.low_bytes) / mapped.bytes


def test_what_is_sure_adds_nothing_to_the_deviation() -> None:
    unsure = {"slack": 300.0, "besides": 400.0, "live": 1000.0}
    assert host.deviation_bytes(unsure, {"slack": 1.0, "besides": 1.0, "live": 0.0}) == pytest.approx(500.0)
    assert host.deviation_bytes(unsure, {"slack": 1.0, "besides": 1.0, "live": 0.1}) > 500.0


def test_the_same_step_gives_the_same_figure() -> None:
    assert host.host_peak(chain(64), "train", cores=2) == host.host_peak(chain(64), "train", cores=2)


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


def test_operations_of_functions_count_twice() -> None:
    inner = chain(1, 16, 100)
    outer = chain(1, 16, 1)
    called = Graph(outer.nodes, outer.arguments, outer.results, {"body": inner})
    found = host.parts(called, "train", 2)
    assert found.operations == len(outer.nodes) + len(inner.nodes)
    assert host.terms(found)["operation"] == len(outer.nodes) + 2 * len(inner.nodes)


def test_what_loops_take_is_less_sure() -> None:
    coefficients = host.facts()["coefficients"]["train"]
    plain = host.unsure_bytes(host.Parts(0, MIB, MIB, 0, 1000, 0), coefficients)
    looped = host.unsure_bytes(host.Parts(0, MIB, MIB, 0, 1000, 500), coefficients)
    assert plain["loops"] == 0 < looped["loops"]


def test_what_lies_in_mappings_of_its_own_has_no_gaps_beside_it() -> None:
    kept, mapped = (host.parts(chain(batch, 1 << 12), "train", 2) for batch in (4, 1 << 14))
    assert kept.in_arenas_bytes == kept.live_bytes
    assert mapped.in_arenas_bytes < MIB < mapped.live_bytes


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
    there = host.host_peak(chain(64), "train", known["cores"], "Eigen kernels, musl malloc")
    assert there.bytes == here.bytes
    assert there.high_bytes > here.high_bytes
    assert there.low_bytes < here.low_bytes
    assert host.caveat(known["cores"], known["kind"]) is None
    assert "musl" in (host.caveat(known["cores"], "Eigen kernels, musl malloc") or "")


def test_a_machine_that_was_not_measured_is_taken_for_one_with_its_kernels() -> None:
    for machine in host.all_facts():
        kernels = machine.partition(",")[0]
        assert host.facts(f"{kernels}, malloc of another").items() == host.facts(machine).items()
    assert host.facts("other kernels, malloc of unknown") == host.facts(None)


def test_scratch_of_kernels_that_are_not_used_takes_nothing() -> None:
    tape = Tape(0)
    for each in (100, 5000, 7000):
        tape.entries.append(each)
    tape.scratch += [1]
    for number in range(3):
        tape.given_back(number)
    with_it, without = Heap(2), Heap(2)
    Player(with_it).touch(tape)
    Player(without).touch(tape, onednn=True)
    assert with_it.most_used_bytes - without.most_used_bytes > 4900
    assert tape.entries[1] == 5000


def test_with_many_more_cores_it_is_said_too() -> None:
    known = host.facts()["machine"]
    assert host.caveat(known["cores"], None) is None
    assert "64" in (host.caveat(64, None) or "")


@pytest.mark.parametrize(
    ("flags", "onednn", "libc", "kind"),
    [
        ({"avx2"}, False, "glibc 2.36", "Eigen kernels, malloc of glibc before 2.38"),
        ({"avx2"}, False, "glibc 2.38", "Eigen kernels, malloc of glibc from 2.38 on"),
        ({"avx2", "avx512_vnni"}, True, "glibc 2.36", "oneDNN kernels, malloc of glibc before 2.38"),
        (None, False, None, "other kernels, malloc of unknown"),
    ],
)
def test_the_kind_of_a_machine_is_told_from_its_flags_and_library(
    flags: set[str] | None, onednn: bool, libc: str | None, kind: str
) -> None:
    assert host.machine_kind(flags, onednn, libc) == kind


@pytest.mark.parametrize("machine", host.all_facts())
def test_the_facts_say_where_they_come_from(machine: str) -> None:
    facts = host.facts(machine)
    assert facts["machine"]["kind"] == machine
    assert "tensorflow" in facts["versions"]
    assert facts["rows"] == sum(map(len, facts["residuals"].values()))
    below, above = facts["deviations"]
    assert 0 < below < above
    assert (
        {"slack", "besides", "live", "loops"}
        <= set(facts["spread"])
        <= {"slack", "besides", "live", "loops", "weights"}
    )
    assert all(0 <= each < 1 for each in facts["spread"].values())
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
