"""Real datasets read as plain data, and measured by a few elements."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from crashcart.blackbox.codec import from_plain, to_plain
from crashcart.errors import UsageError
from crashcart.pipeline._shared import is_generator, is_python, is_random
from crashcart.pipeline.estimate import estimate
from crashcart.probe.tensorflow_dataset import read, read_all
from crashcart.probe.tensorflow_dataset_graph import as_written
from crashcart.probe.tensorflow_dataset_load import of_value
from crashcart.probe.tensorflow_dataset_measure import Limits, measure
from crashcart.probe.tensorflow_dataset_thin import plainly, thin
from crashcart.stages import AUTOTUNE, INFINITE, TOGETHER, Ground, Pipeline, Stage

tf = pytest.importorskip("tensorflow")

D = tf.data.Dataset
AUTO = tf.data.AUTOTUNE


def names(dataset: Any) -> list[str]:
    return [each.name for each in read(dataset).root.walk()]


def measured(dataset: Any) -> Stage:
    return measure(dataset, read(dataset), Limits(elements=20, scratch=False)).root


def test_the_chain_is_read_with_its_numbers() -> None:
    dataset = D.range(10).map(lambda x: x + 1, num_parallel_calls=AUTO).shuffle(5).batch(4).prefetch(AUTO)
    root = read(dataset).root
    assert names(dataset) == ["prefetch", "batch", "shuffle", "parallel_map", "range"]
    prefetch, batch, shuffle, mapped, _ = root.walk()
    assert prefetch.numbers["buffer_size"] == mapped.numbers["num_parallel_calls"] == AUTOTUNE
    assert (batch.numbers["batch_size"], shuffle.numbers["buffer_size"]) == (4, 5)
    assert root.cardinality == 3
    assert mapped.function is not None and mapped.function.where is not None
    assert "test_read.py:" in mapped.function.where


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: D.from_tensor_slices([1, 2]).repeat(), ["repeat", "tensor_slices"]),
        (lambda: D.range(4).window(2).flat_map(lambda w: w.batch(2)), ["flat_map", "window", "range"]),
        (lambda: D.zip((D.range(2), D.range(3))), ["zip", "range", "range"]),
        (lambda: D.range(2).concatenate(D.range(3)).take(1), ["take", "concatenate", "range", "range"]),
        (lambda: D.range(4).cache().filter(lambda x: x > 1).skip(1), ["skip", "filter", "cache", "range"]),
        (lambda: D.range(4).batch(2).unbatch().ignore_errors(), ["ignore_errors", "unbatch"]),
        (lambda: D.range(4).padded_batch(2).with_options(tf.data.Options()), ["options", "padded_batch", "range"]),
        (lambda: D.sample_from_datasets([D.range(2), D.range(2)]), ["sample_from_datasets", "map", "batch", "random"]),
        (lambda: D.range(4).batch(2, num_parallel_calls=2), ["parallel_batch", "range"]),
    ],
)
def test_stages_have_the_names_that_people_write(make: Any, expected: list[str]) -> None:
    assert names(make())[: len(expected)] == expected


def test_what_an_interleave_opens_is_read_from_its_function(tmp_path: Path) -> None:
    dataset = (
        D.list_files(str(tmp_path / "*"), shuffle=False) if list(tmp_path.iterdir()) else D.from_tensor_slices(["a"])
    )
    dataset = dataset.interleave(
        lambda name: tf.data.TextLineDataset(name).shuffle(7).map(tf.strings.length), cycle_length=3
    )
    stage = read(dataset).root
    assert stage.function is not None and stage.function.dataset is not None
    inner = [each.name for each in stage.function.dataset.walk()]
    assert inner[:2] == ["map", "shuffle"]
    assert next(each for each in stage.walk_all() if each.name == "shuffle").numbers["buffer_size"] == 7
    assert any(each.name == "text_line" for each in stage.walk_all())


def test_functions_tell_python_randomness_and_generators() -> None:
    plain = read(D.range(3).map(lambda x: x * 2)).root
    python = read(D.range(3).map(lambda x: tf.py_function(lambda y: y, [x], tf.int64))).root
    random = read(D.range(3).map(lambda x: tf.random.uniform(()))).root
    made = read(D.from_generator(lambda: iter([1]), output_signature=tf.TensorSpec((), tf.int32))).root
    assert [is_python(each) for each in (plain, python, random)] == [False, True, False]
    assert [is_random(each) for each in (plain, python, random)] == [False, False, True]
    assert is_generator(made) and not is_generator(plain)


def test_a_pipeline_survives_its_way_through_json() -> None:
    dataset = D.range(6).interleave(lambda i: D.range(i).shuffle(3), cycle_length=2).cache().batch(2)
    pipeline = read(dataset)
    assert from_plain(Pipeline, to_plain(pipeline)) == pipeline


def test_options_are_read() -> None:
    options = tf.data.Options()
    options.autotune.ram_budget = 1000
    options.threading.private_threadpool_size = 3
    options.deterministic = False
    settings = read(D.range(3).with_options(options)).settings
    assert (settings.ram_budget_bytes, settings.threads, settings.deterministic) == (1000, 3, False)
    plain = read(D.range(3)).settings
    assert (plain.ram_budget_bytes, plain.threads, plain.deterministic, plain.autotune) == (None, None, None, True)


def test_elements_of_unknown_shape_are_measured_without_filling_a_buffer() -> None:
    dataset = D.range(10**9).map(lambda x: tf.ones((1000 + x % 3 * 1000,))).shuffle(10**8).batch(1).prefetch(4)
    root = measured(dataset)
    shuffled = next(each for each in root.walk() if each.name == "shuffle")
    assert shuffled.element is not None and shuffled.element.how == "measured"
    assert 7_000 < shuffled.element.bytes < 9_000
    assert shuffled.element.high_bytes > 12_000
    assert shuffled.input is not None and shuffled.input.rate_per_s


def test_strings_take_the_blocks_that_they_lie_in() -> None:
    short = measured(D.from_tensor_slices(["abc"] * 8)).element
    long = measured(D.from_tensor_slices(["x" * 5000] * 8)).element
    assert short is not None and long is not None
    assert short.bytes < 400 and 5_000 < long.bytes < 5_600


def test_a_batch_follows_from_its_elements() -> None:
    root = measured(D.range(100).map(lambda x: tf.zeros((1000,))).batch(10))
    assert root.element is not None and 40_000 <= root.element.bytes < 41_000


def test_an_element_that_fails_is_a_note_and_no_end() -> None:
    dataset = D.range(5).map(lambda x: tf.io.read_file(tf.strings.as_string(x))).batch(2)
    pipeline = measure(dataset, read(dataset), Limits(scratch=False))
    (failure,) = pipeline.failed
    assert failure.kind == "NotFoundError" and "No such file" in failure.message and "{{" not in failure.message
    assert pipeline.root.element is None


def test_rows_are_shared_where_they_are_aligned() -> None:
    aligned = read(D.from_tensor_slices(tf.zeros((4, 512)))).root
    not_aligned = read(D.from_tensor_slices(tf.zeros((4, 513)))).root
    assert (aligned.numbers["shared_rows"], not_aligned.numbers["shared_rows"]) == (1, 0)
    assert aligned.tensor_bytes >= 4 * 512 * 4


def test_several_datasets_are_read_side_by_side() -> None:
    both = of_value({"train": D.range(3), "further": [D.range(2), 5]}, "x")
    root = read_all(both).root
    assert root.name == TOGETHER and len(root.inputs) == 2
    assert read_all([D.range(3).repeat()]).root.cardinality == INFINITE


def test_what_is_no_dataset_is_told() -> None:
    class DataLoader:
        __module__ = "torch.utils.data.dataloader"

    with pytest.raises(UsageError, match=r"DataLoader, not a tf\.data\.Dataset") as told:
        of_value(DataLoader(), "make in train.py gives")
    assert "PyTorch" in told.value.help
    with pytest.raises(UsageError, match="gives None"):
        of_value(None, "make in train.py gives")
    with pytest.raises(UsageError) as iterated:
        of_value(iter(D.range(2)), "make")
    assert "iterator" in iterated.value.help
    with pytest.raises(UsageError, match=r"^x is an object of type int, not a tf\.data\.Dataset$"):
        of_value(5, "x is")


def test_records_of_files_are_counted_by_their_bytes(tmp_path: Path) -> None:
    file = tmp_path / "lines.txt"
    file.write_text("".join(f"line {index:06}\n" for index in range(5000)))
    root = measured(tf.data.TextLineDataset(str(file)).cache())
    assert root.cardinality == 5000
    assert measured(tf.data.TextLineDataset(str(file)).filter(lambda x: x != "").cache()).cardinality is None
    assert measured(tf.data.TextLineDataset(str(file)).repeat().cache()).cardinality == INFINITE


def test_elements_before_one_that_fails_are_seen() -> None:
    sizes = D.from_tensor_slices(tf.constant([2, 2, 2, 2, 2, -1, 2]))
    dataset = sizes.map(lambda size: tf.ones(tf.reshape(size, [1])))
    pipeline = measure(dataset, read(dataset), Limits(scratch=False))
    assert pipeline.root.element is not None and pipeline.root.element.seen == 5
    assert [each.kind for each in pipeline.failed] == ["InvalidArgumentError"]


def _counted(calls: list[int]) -> Any:
    def count(number: Any) -> Any:
        calls.append(int(number))
        return tf.ones((int(number) % 5 + 1,))

    return lambda number: tf.py_function(count, [number], tf.float32)


@pytest.mark.parametrize(
    "behind",
    [
        lambda dataset: dataset.concatenate(dataset),
        lambda dataset: dataset.window(3).flat_map(lambda window: window.padded_batch(3, padded_shapes=[None])),
        lambda dataset: dataset.scan(0, lambda state, each: (state, each)),
        lambda dataset: dataset.map(lambda each: tf.ensure_shape(each, [None])).ragged_batch(2),
        lambda dataset: dataset.take_while(lambda each: True),
    ],
)
def test_no_stage_has_the_buffers_before_it_filled(behind: Any) -> None:
    calls: list[int] = []
    dataset = behind(D.range(10**6).map(_counted(calls)).shuffle(5000))
    root = measured(dataset)
    assert root.element is not None
    assert len(calls) < 1000


def test_a_stage_that_cannot_be_rebuilt_is_not_looked_at_behind_a_shuffle() -> None:
    from tensorflow.python.data.experimental.ops.testing import sleep

    calls: list[int] = []
    small = D.range(10**6).map(_counted(calls))
    behind = small.shuffle(5000).apply(sleep(1))
    pipeline = measure(behind, read(behind), Limits(elements=20, scratch=False))
    assert len(calls) < 1000
    assert any("without filling the buffers" in each for each in pipeline.notes)
    plain = small.apply(sleep(1))
    assert not measure(plain, read(plain), Limits(elements=20, scratch=False)).notes


def test_a_window_takes_what_its_elements_take() -> None:
    windows = D.range(1000).map(lambda x: tf.zeros((1000,))).window(10).shuffle(20)
    root = measured(windows)
    assert root.element is not None and 40_000 < root.element.bytes < 45_000


def test_a_sample_is_from_all_over_the_source() -> None:
    """Files that are sorted by class or by date are often sorted by size, too."""
    sizes = [10] * 500 + [1000] * 500
    root = measured(D.from_tensor_slices(sizes).map(lambda size: tf.ones((size,))).shuffle(900))
    assert root.element is not None and 1800 < root.element.bytes < 2800
    filtered = measured(D.from_tensor_slices(sizes).filter(lambda size: size < 50))
    assert filtered.cardinality is None


def test_a_sample_of_a_source_that_is_as_good_as_endless_comes_at_once() -> None:
    numbers = plainly(thin(D.range(10, 10**12, 3), 10)).take(3)
    assert [int(each) for each in numbers] == [10, 10 + 3 * 33333333333, 10 + 6 * 33333333333]
    slices = thin(D.from_tensor_slices(list(range(1000))), 10)
    assert [int(each) for each in slices] == list(range(0, 1000, 100))


def test_a_dataset_that_is_only_a_tensor_is_read_from_its_graph() -> None:
    numbered = D.range(4).enumerate()
    assert estimate(read(numbered), Ground(2)).unknown == ()
    whole = tf.data.experimental.from_variant(
        tf.data.experimental.to_variant(D.range(4000).map(lambda x: tf.zeros([1000])).shuffle(3000)),
        tf.TensorSpec([1000], tf.float32),
    )
    (row,) = [each for each in estimate(read(whole), Ground(2)).rows if each.name == "shuffle"]
    assert row.count == 3000 and row.bytes > 3000 * 4000


def test_all_that_tensorflow_can_build_is_named_alike_as_object_and_in_a_graph() -> None:
    for kind in ("_ParallelMapDataset", "ParallelMapDatasetV2"):
        assert as_written(kind) == "parallel_map"
    for kind in ("TFRecordDatasetV2", "_TFRecordDataset", "TFRecordDataset"):
        assert as_written(kind) == "tfrecord"
    for kind in ("_DenseToSparseBatchDataset", "DenseToSparseBatchDataset"):
        assert as_written(kind) == "sparse_batch"
    assert as_written("LegacyParallelInterleaveDatasetV2") == as_written("ParallelInterleaveDataset")


def test_datasets_that_are_read_together_keep_their_own_options() -> None:
    loose = tf.data.Options()
    loose.deterministic = False
    both = read_all([D.range(3), D.range(4).with_options(loose)])
    assert [settings.deterministic for _, settings in both.parts] == [None, False]
    assert [root.cardinality for root, _ in both.parts] == [3, 4]
    assert from_plain(Pipeline, to_plain(both)) == both
