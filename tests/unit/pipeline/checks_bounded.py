"""Checks of cc.bounded on real datasets; `test_bounded.py` runs them in a process of their own."""

from __future__ import annotations

import gc
import tempfile
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

import crashcart as cc
from crashcart.errors import CannotCheckError, UsageError
from crashcart.pipeline.bounded_plan import CannotBoundError
from crashcart.pipeline.bounded_report import BoundedWarning

Dataset = tf.data.Dataset


def image(index: Any) -> tuple[Any, Any]:
    return tf.fill([64, 64, 3], tf.cast(index, tf.float32)), index


def noisy(picture: Any, index: Any) -> tuple[Any, Any]:
    return picture + tf.random.uniform([]), index


def quiet(dataset: Any, budget: Any = "128MiB") -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BoundedWarning)
        return cc.bounded(dataset, budget)


def flat(dataset: Any) -> list[Any]:
    return [
        [np.asarray(part.numpy()).tolist() for part in tf.nest.flatten(each, expand_composites=True)]
        for each in dataset
    ]


def numbers(dataset: Any) -> list[int]:
    return [int(each) for element in dataset for each in np.atleast_1d(element[-1].numpy())]


def check_a_shuffle_moves_in_front_of_a_map_and_gives_the_same_order() -> None:
    plain = Dataset.range(3000).map(image, num_parallel_calls=2).shuffle(2500, seed=5).batch(8)
    made = cc.bounded(plain, "128MiB")
    assert numbers(made) == numbers(plain)
    assert numbers(made) == numbers(plain), "the second epoch, too"
    (change,) = [each for each in made.report.changes if each.stage == "shuffle(2500)"]
    assert "same order" in change.what and change.after_bytes < change.before_bytes / 50
    assert not change.notable


def check_a_shuffle_behind_random_numbers_gets_smaller_and_says_so() -> None:
    plain = Dataset.range(3000).map(image).map(noisy).shuffle(2500, seed=5).batch(8)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made = cc.bounded(plain, "128MiB")
    said = [str(each.message) for each in caught if each.category is BoundedWarning]
    assert len(said) == 1 and "buffer of 2500 elements, now" in said[0] and "mixes over shorter distances" in said[0]
    assert Counter(numbers(made)) == Counter(range(3000))
    (change,) = [each for each in made.report.changes if each.notable]
    assert change.before_bytes is not None and change.before_bytes > change.after_bytes > 0


def check_what_fits_is_left_as_it_is() -> None:
    plain = Dataset.range(100).map(image).shuffle(50, seed=1).batch(8).prefetch(2)
    made = cc.bounded(plain, "1GiB")
    assert made.report.changes == ()
    assert numbers(made) == numbers(plain)
    assert "nothing had to be changed" in str(made.report)


def check_the_same_sequence_of_every_transformation() -> None:
    for name, plain in transformations().items():
        made = quiet(plain)
        assert made.element_spec == plain.element_spec, name
        assert flat(made) == flat(plain), name
        assert flat(made.repeat(2)) == flat(plain) * 2, name
        assert bool(made.report.unbounded) is (name == "group_by_window"), (name, made.report.unbounded)


def wide(index: Any) -> Any:
    return tf.random.stateless_uniform([2048], [index, 1], 0, 1 << 30, tf.int32)


def check_unique_counts_every_element_and_is_refused_where_they_do_not_fit() -> None:
    plain = Dataset.range(40_000).map(wide).unique().batch(64)
    try:
        cc.bounded(plain, "128MiB")
    except CannotBoundError as refused:
        assert "at unique()" in str(refused) and "assert_cardinality" in refused.help
    else:
        raise AssertionError("40 000 elements of 8 KiB may all be different")
    assert cc.bounded(plain, "1GiB").report.held_bytes > 40_000 * 8192
    few = Dataset.range(40_000).map(wide).unique().apply(tf.data.experimental.assert_cardinality(5)).batch(64)
    assert cc.bounded(few, "128MiB").report.unbounded == ()


def check_what_nobody_can_bound_is_said_and_not_promised() -> None:
    endless = Dataset.range(10).repeat().map(wide).unique().take(10)
    grouped = Dataset.range(99).group_by_window(lambda each: each % 2, lambda _, group: group.batch(4), window_size=4)
    reduced = Dataset.range(9).apply(
        tf.data.experimental.group_by_reducer(
            lambda each: each % 2,
            tf.data.experimental.Reducer(lambda _: tf.constant(0, tf.int64), lambda a, b: a + b, lambda a: a),
        )
    )
    inside = Dataset.range(3).flat_map(
        lambda each: Dataset.range(each).filter(lambda one: one > 0).map(lambda one: one + each).unique()
    )
    for name, plain in {"unique": endless, "window": grouped, "reducer": reduced, "flat_map": inside}.items():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            made = cc.bounded(plain, "128MiB")
        assert [str(each.message) for each in caught if "not bounded" in str(each.message)], name
        (said,) = made.report.unbounded
        assert name in said and "besides what nobody can bound" in str(made.report), made.report
        assert flat(made) == flat(plain), name


def transformations() -> dict[str, Any]:
    base = Dataset.range(40)
    pairs = base.map(lambda each: (each, tf.cast(each, tf.float32)))
    words = Dataset.from_tensor_slices(["a", "bb", "ccc", "dddd"])
    ragged = base.map(lambda each: tf.RaggedTensor.from_row_lengths(tf.range(each), [each]))
    options = tf.data.Options()
    options.deterministic = True
    return {
        "filter": base.filter(lambda each: each % 3 == 0).prefetch(5),
        "batch": pairs.batch(7, drop_remainder=True).map(lambda a, b: a),
        "parallel batch": pairs.batch(7, num_parallel_calls=4),
        "padded_batch": base.map(lambda each: tf.ones([each])).padded_batch(4, padding_values=-1.0),
        "ragged_batch": base.map(lambda each: tf.ones([each])).ragged_batch(4),
        "ragged": ragged.prefetch(3),
        "unbatch": base.batch(4).map(lambda each: each + 1).unbatch(),
        "window": base.window(3, shift=2).flat_map(lambda each: each.batch(3)),
        "flat_map": base.flat_map(lambda each: Dataset.range(each).prefetch(4)),
        "interleave": base.interleave(
            lambda each: Dataset.range(each).map(lambda x: x + each), cycle_length=3, block_length=2
        ),
        "parallel interleave": base.interleave(
            lambda each: Dataset.range(each).prefetch(50), cycle_length=4, num_parallel_calls=tf.data.AUTOTUNE
        ),
        "zip": Dataset.zip((base, pairs)).map(lambda a, b: a + b[0]),
        "zip of a dict": Dataset.zip({"x": base, "y": pairs}),
        "concatenate": base.concatenate(base.take(3)).prefetch(9),
        "take, skip, shard": base.skip(3).take(30).shard(3, 1),
        "enumerate": words.enumerate(start=5),
        "cache": base.map(lambda each: each * 2).cache().map(lambda each: each + 1),
        "scan": base.scan(tf.constant(0, tf.int64), lambda state, each: (state + each, state)),
        "take_while": base.take_while(lambda each: each < 11),
        "unique": base.map(lambda each: each % 5).unique(),
        "choose": Dataset.choose_from_datasets(
            [base, base.map(lambda each: each * 100)], base.map(lambda each: each % 2)
        ),
        "group_by_window": base.group_by_window(lambda each: each % 2, lambda _, group: group.batch(4), window_size=4),
        "rebatch": base.batch(6).rebatch(4),
        "sparse_batch": base.map(lambda each: tf.ones([each])).sparse_batch(4, [40]),
        "parsed": records(base)
        .batch(4)
        .apply(tf.data.experimental.parse_example_dataset({"x": tf.io.FixedLenFeature([], tf.int64)})),
        "options": base.map(lambda each: each).with_options(options).prefetch(2),
        "strings": words.map(tf.strings.upper, num_parallel_calls=2),
        "shuffle with a seed": base.shuffle(10, seed=3, reshuffle_each_iteration=False),
        "sparse": base.map(lambda each: tf.sparse.from_dense(tf.one_hot(each, 40))),
        "generator": Dataset.from_generator(lambda: iter(range(9)), output_signature=tf.TensorSpec([], tf.int32)),
        "ignore_errors": base.map(
            lambda each: tf.debugging.check_numerics(1.0 / tf.cast(each - 7, tf.float32), "x")
        ).ignore_errors(),
        "assert_cardinality": base.filter(lambda each: True).apply(tf.data.experimental.assert_cardinality(40)),
    }


def records(numbers: Any) -> Any:
    def written(each: Any) -> bytes:
        value = tf.train.Feature(int64_list=tf.train.Int64List(value=[int(each)]))
        return tf.train.Example(features=tf.train.Features(feature={"x": value})).SerializeToString()

    return Dataset.from_tensor_slices([written(each) for each in numbers])


def check_buffers_before_any_kind_of_batch_are_bounded() -> None:
    """None of these stages may be left whole: what is before it would be, too."""
    rows = Dataset.range(4000).map(image).map(noisy).map(lambda picture, index: picture).shuffle(3000)
    lines = rows.map(lambda picture: tf.reshape(picture, [-1])[: tf.random.uniform([], 12000, 12288, tf.int32)])
    for name, plain in {
        "ragged_batch": lines.shuffle(3000).ragged_batch(4),
        "sparse_batch": lines.shuffle(3000).sparse_batch(4, [12288]),
        "rebatch": rows.batch(2).rebatch(4),
        "older interleave": rows.apply(
            tf.data.experimental.parallel_interleave(Dataset.from_tensors, cycle_length=1, prefetch_input_elements=1)
        ),
    }.items():
        made = quiet(plain)
        assert not any("left as it is" in each for each in made.report.notes), (name, made.report)
        assert any(each.stage == "shuffle(3000)" for each in made.report.changes), (name, made.report)


def check_a_shuffle_before_a_repeat_counts_elements_of_the_next_epochs() -> None:
    once = Dataset.range(500).map(image).map(noisy).shuffle(3000)
    held = {times: quiet(once.repeat(times), "1GiB").report for times in (1, 2, -1)}
    assert held[1].held_bytes < held[2].held_bytes < held[-1].held_bytes
    small = quiet(once.repeat(), "128MiB")
    assert [each.stage for each in small.report.changes if each.notable] == ["shuffle(3000)"]
    assert not [each for each in quiet(once, "128MiB").report.changes if each.notable]


def check_the_report_has_the_figure_of_pipeline() -> None:
    plain = Dataset.range(4000).map(image).shuffle(4000).batch(8).prefetch(2)
    said = cc.pipeline(plain)
    made = quiet(plain)
    assert made.report.wanted_bytes == said.high_bytes
    assert made.report.held_bytes <= made.report.budget_bytes < said.held_bytes


def check_files_are_read_alike() -> None:
    with tempfile.TemporaryDirectory() as folder:
        names = [f"{folder}/{each}.tfrecord" for each in range(3)]
        for place, name in enumerate(names):
            with tf.io.TFRecordWriter(name) as out:
                for each in range(5):
                    out.write(f"{place}-{each}".encode())
        (Path(folder) / "lines.txt").write_text("one\ntwo\nthree\n", encoding="utf-8")
        for plain in (
            tf.data.TFRecordDataset(names).map(tf.strings.length),
            tf.data.TFRecordDataset(names, num_parallel_reads=2).prefetch(8),
            Dataset.list_files(f"{folder}/*.tfrecord", shuffle=False).interleave(
                tf.data.TFRecordDataset, cycle_length=2
            ),
            tf.data.TextLineDataset(f"{folder}/lines.txt").prefetch(20),
        ):
            assert flat(quiet(plain)) == flat(plain)


def check_tables_variables_and_python_functions_survive() -> None:
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer([1, 2], [10, 20]), -1)
    variable = tf.Variable(3)
    seen = []

    def python(each: Any) -> Any:
        seen.append(int(each))
        return each * 2

    def mapped(each: Any) -> Any:
        return table.lookup(tf.cast(each, tf.int32)) + variable, tf.py_function(python, [each], tf.int64)

    plain = Dataset.range(4).map(mapped, num_parallel_calls=2).prefetch(500)
    made = quiet(plain)
    del plain
    gc.collect()
    assert flat(made) == [[2, 0], [13, 2], [23, 4], [2, 6]]
    variable.assign(100)
    assert flat(made)[0] == [99, 0]
    assert seen


def check_a_cache_that_is_too_large_goes_to_disk_and_is_deleted_with_the_dataset() -> None:
    runs = []

    def counted(index: Any) -> Any:
        runs.append(1)
        return index

    source = Dataset.range(3000).map(lambda each: tf.numpy_function(counted, [each], tf.int64))
    plain = source.map(lambda each: image(tf.ensure_shape(each, []))).cache().batch(8)
    made = quiet(plain)
    (change,) = [each for each in made.report.changes if each.stage == "cache()"]
    folder = Path(change.what.rpartition(" in ")[2])
    first = numbers(made)
    assert first == list(range(3000)) == numbers(made)
    assert list(folder.glob("elements*"))
    assert len(runs) <= 3000 + 40, "the second epoch came from the cache"
    del made
    gc.collect()
    assert not folder.exists()


def check_a_cache_that_fits_stays_in_memory() -> None:
    made = cc.bounded(Dataset.range(100).map(image).cache().batch(8), "512MiB")
    assert not made.report.changes
    assert numbers(made) == list(range(100))


def check_what_cannot_be_bounded_is_refused_with_numbers() -> None:
    huge = Dataset.range(10).map(lambda each: tf.zeros([4096, 4096, 3]))
    try:
        cc.bounded(huge, "256MiB")
    except CannotBoundError as refused:
        assert "the budget is 256 MiB" in str(refused) and "needs a budget of" in str(refused)
    else:
        raise AssertionError("an element of 192 MiB cannot be made within 256 MiB")
    array = np.zeros((40, 1024, 1024), np.float32)
    try:
        cc.bounded(Dataset.from_tensor_slices(array).batch(1), "100MiB")
    except CannotBoundError as refused:
        assert "160 MiB in tensors" in str(refused)
    else:
        raise AssertionError("the array itself is larger than the budget")


def check_wrong_arguments_are_named() -> None:
    for given, budget, kind in (
        ([1, 2], "1GiB", UsageError),
        (Dataset.range(3), "much", UsageError),
        (Dataset.range(3), 0, UsageError),
        (Dataset.range(3), True, UsageError),
    ):
        try:
            cc.bounded(given, budget)
        except kind:
            continue
        raise AssertionError((given, budget))


def check_a_dataset_of_a_graph_is_refused() -> None:
    @tf.function
    def inside() -> Any:
        try:
            cc.bounded(Dataset.range(3), "1GiB")
        except CannotCheckError:
            return tf.constant(True)
        return tf.constant(False)

    assert bool(inside())


def check_without_a_budget_it_is_what_is_left_here() -> None:
    made = cc.bounded(Dataset.range(10).map(image))
    assert made.report.budget_bytes > 0 and "% of what the" in made.report.budget_from


def check_small_elements_get_more_calls_than_there_are_cores_and_large_ones_do_not() -> None:
    from crashcart.pipeline.bounded_stages import CALLS_AHEAD, cores
    from crashcart.probe.tensorflow_dataset_rebuild import number, unwrapped

    def calls(dataset: Any) -> Any:
        stage = unwrapped(quiet(dataset, "2GiB"))
        while not hasattr(stage, "_num_parallel_calls"):
            stage = unwrapped(stage._input_dataset)
        return number(stage._num_parallel_calls)

    small = Dataset.range(50).map(lambda each: each + 1, num_parallel_calls=tf.data.AUTOTUNE)
    large = Dataset.range(50).map(lambda each: tf.zeros([2 << 20]), num_parallel_calls=tf.data.AUTOTUNE)
    assert calls(small) == max(CALLS_AHEAD, cores()) and calls(large) == cores()
    assert calls(Dataset.range(50).map(lambda each: each + 1, num_parallel_calls=3)) == 3, "as it was written"


def check_options_that_are_set_later_do_not_raise_the_buffers() -> None:
    plain = Dataset.range(200).map(image).map(noisy, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)
    made = quiet(plain)
    options = tf.data.Options()
    options.autotune.ram_budget = 1 << 40
    options.autotune.initial_parallelism = 64
    later = made.with_options(options)
    text = tf.raw_ops.DatasetToGraphV2(input_dataset=later._variant_tensor, external_state_policy=1).numpy()
    graph = tf.compat.v1.GraphDef.FromString(text)
    values = {node.name: node for node in graph.node}
    counted = {"PrefetchDataset": 1, "ParallelMapDatasetV2": -1}
    for node in graph.node:
        if node.op in counted:
            count = values[node.input[counted[node.op]]].attr["value"].tensor.int64_val
            assert list(count) != [-1], node.op
    assert len(numbers(later)) == 200


def check_a_stage_that_cannot_be_rebuilt_is_named_only_where_something_before_it_is_kept() -> None:
    from tensorflow.python.data.experimental.ops import testing

    assert quiet(Dataset.range(9).apply(testing.sleep(1))).report.unbounded == ()
    (said,) = quiet(Dataset.range(9).map(image).shuffle(5).apply(testing.sleep(1))).report.unbounded
    assert said.startswith("sleep()") and "all before it" in said


def check_no_number_of_calls_is_left_to_tune_from_one_in_each_epoch() -> None:
    files = Dataset.range(6).interleave(
        lambda each: Dataset.range(each), cycle_length=4, num_parallel_calls=tf.data.AUTOTUNE
    )
    buffered = Dataset.range(6).interleave(
        lambda each: Dataset.range(each).prefetch(tf.data.AUTOTUNE), 4, num_parallel_calls=tf.data.AUTOTUNE
    )
    parsed = (
        records(Dataset.range(9))
        .batch(4)
        .apply(
            tf.data.experimental.parse_example_dataset(
                {"x": tf.io.FixedLenFeature([], tf.int64)}, num_parallel_calls=tf.data.AUTOTUNE
            )
        )
    )
    for name, plain in {"interleave": files, "interleave of buffers": buffered, "parsed": parsed}.items():
        made = quiet(plain)
        text = tf.raw_ops.DatasetToGraphV2(input_dataset=made._variant_tensor, external_state_policy=1).numpy()
        graph = tf.compat.v1.GraphDef.FromString(text)
        values = {node.name: node for node in graph.node}
        place = {"ParallelInterleaveDatasetV4": -1, "ParseExampleDatasetV2": 1}
        (node,) = [each for each in graph.node if each.op in place]
        (calls,) = values[node.input[place[node.op]]].attr["value"].tensor.int64_val
        assert calls >= 1, (name, calls)
        assert flat(made) == flat(plain), name


def check_it_is_made_for_fit() -> None:
    import keras

    model = keras.Sequential([keras.layers.Input([64, 64, 3]), keras.layers.Flatten(), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    plain = Dataset.range(64).map(lambda each: (tf.zeros([64, 64, 3]), 0.0)).shuffle(64).batch(8)
    made = quiet(plain)
    history = model.fit(made.repeat(), steps_per_epoch=8, epochs=2, verbose=0, shuffle=False)
    assert len(history.history["loss"]) == 2
    assert model.predict(made, verbose=0).shape == (64, 1)


def check_rows_of_an_array_that_are_not_copied_do_not_count() -> None:
    array = np.zeros((3000, 64, 64, 3), np.float32)
    plain = Dataset.from_tensor_slices(array).shuffle(3000, seed=1).batch(8)
    made = cc.bounded(plain, array.nbytes + (256 << 20))
    assert not [each for each in made.report.changes if each.stage.startswith("shuffle")]


def check_a_map_that_gives_the_same_type_is_measured_anew() -> None:
    with tempfile.TemporaryDirectory() as folder:
        names = [f"{folder}/{each}" for each in range(30)]
        for name in names:
            Path(name).write_bytes(b"x" * (2 << 20))
        plain = (
            Dataset.from_tensor_slices(names).map(tf.io.read_file, num_parallel_calls=2).batch(2).shuffle(15, seed=1)
        )
        made = quiet(plain)
        assert made.report.measured
        assert made.report.wanted_bytes is not None and made.report.wanted_bytes > 15 * 2 * (2 << 20)
        assert flat(made.map(tf.strings.length)) == [[[2 << 20] * 2]] * 15


def check_tensors_that_functions_open_count() -> None:
    plain = Dataset.range(4).flat_map(lambda _: Dataset.from_tensor_slices(tf.zeros((10_000, 1000)))).batch(4)
    try:
        cc.bounded(plain, "100MiB")
    except CannotBoundError as error:
        assert "flat_map" in str(error)
    else:
        raise AssertionError("two tensors of 40 MB do not fit")
    assert cc.bounded(plain, "1GiB").report.held_bytes > 2 * 40_000_000
    nested = Dataset.range(4).flat_map(
        lambda _: Dataset.range(1).flat_map(lambda _: Dataset.from_tensor_slices(tf.zeros((10, 10))))
    )
    assert quiet(nested).report.unbounded


def check_arrays_inside_of_functions_count_with_their_copies() -> None:
    array = np.ones((1000, 2500), np.float32)
    plain = Dataset.range(1000).map(lambda index: tf.gather(array, index)).batch(4)
    try:
        cc.bounded(plain, "128MiB")
    except CannotBoundError as error:
        assert "arrays inside of their graphs" in str(error) and "tf.Variable" in (error.help or "")
    else:
        raise AssertionError("eleven copies of 10 MB do not fit")
    assert cc.bounded(plain, "400MiB").report.held_bytes > 110_000_000
