"""What functions hold: tensors of the datasets that they open, arrays inside of their graphs, the state of a scan."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from crashcart.evidence import Evidence
from crashcart.pipeline import examine_pipeline
from crashcart.pipeline.estimate import PROCESS_BYTES, estimate
from crashcart.pipeline.memory import memory_of
from crashcart.probe.tensorflow_dataset import read
from crashcart.probe.tensorflow_dataset_measure import Limits, measure
from crashcart.stages import Element, Function, Held, Stage
from tests.unit.pipeline.made import GROUND, MB, batched, mapped, over, pipeline, source

TENSORS = Stage("tensor_slices", element=Element(1000, 1000), spec="float32[250]")


def opening(name: str, opened_bytes: int | None, scratch: int | None = 0, count: int = -1, **numbers: int) -> Stage:
    function = Function("f", scratch_bytes=scratch, dataset=TENSORS, opened_bytes=opened_bytes)
    return Stage(name, numbers, {}, (source(count=count),), (function,), TENSORS.element)


def opened(root: Stage) -> Held:
    return next(each for each in estimate(pipeline(root), GROUND).rows if each.kind == "tensors")


@pytest.mark.parametrize(
    ("name", "numbers", "count"),
    [
        ("flat_map", {}, 2),
        ("interleave", {"cycle_length": 3}, 4),
        ("parallel_interleave", {"cycle_length": 2, "num_parallel_calls": 2}, 8),
    ],
)
def test_tensors_count_as_often_as_runs_held_them(name: str, numbers: dict[str, int], count: int) -> None:
    row = opened(opening(name, 100 * MB, 50 * MB, **numbers))
    assert (row.count, row.bytes) == (count, count * 100 * MB + 50 * MB)
    assert row.high_bytes > row.bytes and row.depth == 1


def test_no_more_tensors_are_held_than_there_are_inputs() -> None:
    assert opened(opening("interleave", 100 * MB, count=2, cycle_length=8)).bytes == 200 * MB


def test_tensors_of_unknown_size_are_unknown_and_never_nothing() -> None:
    memory = memory_of(pipeline(batched(opening("flat_map", None), 4)), GROUND, 1000 * MB, "given")
    assert memory.unknown == ("flat_map()",) and memory.fits is None


def test_names_of_files_are_not_worth_a_row() -> None:
    found = estimate(pipeline(opening("flat_map", 60)), GROUND)
    assert not found.unknown and not [each for each in found.rows if each.kind == "tensors"]


def constant(size: int) -> Stage:
    stage = mapped(source(), 1000, None)
    return replace(stage, functions=(replace(stage.functions[0], constant_bytes=size),))


def test_arrays_inside_of_functions_count_with_their_copies() -> None:
    assert estimate(pipeline(constant(50 * MB)), GROUND).held_bytes == pytest.approx(550 * MB + PROCESS_BYTES)
    plain = estimate(pipeline(constant(50 * MB), rewritten=False), GROUND).held_bytes
    assert plain == pytest.approx(250 * MB + PROCESS_BYTES)


def test_copies_that_are_gone_when_buffers_fill_do_not_add_to_them() -> None:
    shuffled = over("shuffle", mapped(constant(50 * MB), 10 * MB), buffer_size=200)
    row = next(each for each in estimate(pipeline(shuffled), GROUND).rows if each.name == "constants")
    assert (row.bytes, row.high_bytes) == (100 * MB, 550 * MB)


def test_arrays_inside_of_functions_are_told_with_what_to_do() -> None:
    def told(size: int) -> list[Any]:
        memory = memory_of(pipeline(constant(size)), GROUND, 4000 * MB, "given")
        found = examine_pipeline(Evidence(pipeline=memory), "x").findings
        return [each for each in found if each.code == "P114"]

    (found,) = told(100 * MB)
    assert "inside of its function" in found.headline and "tf.Variable" in found.remedy[0]
    assert not told(5 * MB)


def test_the_state_of_a_scan_counts_and_one_of_no_known_size_is_unknown() -> None:
    known = over("scan", source(), state_bytes=50 * MB)
    assert next(each for each in estimate(pipeline(known), GROUND).rows if each.name == "scan").bytes == 200 * MB
    assert estimate(pipeline(over("scan", source())), GROUND).unknown == ("scan()",)


def measured(dataset: Any) -> Stage:
    return measure(dataset, read(dataset), Limits(elements=5, scratch=False)).root


def test_tensors_that_a_function_opens_are_measured(tmp_path: Path) -> None:
    tf = pytest.importorskip("tensorflow")
    files = [tmp_path / "small", tmp_path / "large"]
    for file, size in zip(files, (400_000, 800_000), strict=True):
        file.write_bytes(b"\1" * size)
    data = tf.data.Dataset
    names = data.from_tensor_slices([str(each) for each in files])

    def rows(name: Any) -> Any:
        return data.from_tensor_slices(tf.reshape(tf.io.decode_raw(tf.io.read_file(name), tf.float32), (-1, 100)))

    for dataset in (names.flat_map(rows), names.interleave(lambda each: rows(each).shuffle(4), cycle_length=2)):
        (function,) = measured(dataset).functions
        assert function.opened_bytes == 800_000
    (text,) = measured(names.flat_map(tf.data.TFRecordDataset)).functions
    assert text.opened_bytes is not None and text.opened_bytes < 1000
    nested = measured(names.flat_map(lambda name: data.from_tensors(name).flat_map(rows)))
    assert "flat_map()" in estimate(pipeline(nested), GROUND).unknown


def test_the_length_of_a_dataset_that_a_function_opens_is_known_where_its_graph_says_it() -> None:
    tf = pytest.importorskip("tensorflow")
    data = tf.data.Dataset

    def below_the_shuffle(make: Any) -> int | None:
        inner = measured(data.range(5).interleave(lambda i: make(i).shuffle(50), cycle_length=2)).functions[0].dataset
        return next(each for each in inner.walk() if each.name == "shuffle").inputs[0].cardinality

    assert below_the_shuffle(lambda _: data.range(3, 40, 2).map(lambda x: x + 1)) == 19
    assert below_the_shuffle(lambda i: data.range(i).repeat()) == -1
    assert below_the_shuffle(lambda i: data.range(i)) is None


def test_arrays_and_states_are_read_from_functions() -> None:
    np = pytest.importorskip("numpy")
    tf = pytest.importorskip("tensorflow")
    data, array = tf.data.Dataset, np.ones((1000, 250), np.float32)

    @tf.function
    def picked(index: Any) -> Any:
        return tf.gather(array, index)

    for dataset in (data.range(9).map(lambda i: tf.gather(array, i)), data.range(9).map(lambda i: picked(i))):
        assert read(dataset).root.functions[0].constant_bytes == pytest.approx(1_000_000, rel=0.01)
    outside = tf.constant(array)
    assert read(data.range(9).map(lambda i: tf.gather(outside, i))).root.functions[0].constant_bytes < 1000
    scan = read(data.range(9).scan(tf.zeros((1000, 250)), lambda state, each: (state + 1.0, each))).root
    assert scan.numbers["state_bytes"] == pytest.approx(1_000_000, rel=0.01)
    small = read(data.range(9).scan(np.int64(0), lambda state, each: (state + 1, each))).root
    assert 0 < small.numbers["state_bytes"] < 1000
    options = tf.data.Options()
    options.experimental_optimization.apply_default_optimizations = False
    assert read(data.range(9)).settings.rewritten and not read(data.range(9).with_options(options)).settings.rewritten
