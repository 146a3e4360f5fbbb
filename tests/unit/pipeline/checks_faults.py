"""Checks of cc.explain_errors on real files; `test_faults.py` runs them in a process of their own."""

from __future__ import annotations

import json
import logging
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import tensorflow as tf

import crashcart as cc
from crashcart.errors import UsageError
from crashcart.pipeline.faults_state import ElementError

Dataset = tf.data.Dataset
BAD = (17, 69)
COUNT = 70
logging.getLogger("crashcart").setLevel(logging.ERROR)


@contextmanager
def photos() -> Iterator[list[str]]:
    """Seventy JPEG files; the eighteenth and the last one are cut off."""
    with tempfile.TemporaryDirectory() as folder:
        names = [f"{folder}/{each:03}.jpg" for each in range(COUNT)]
        for place, name in enumerate(names):
            pixels = tf.random.stateless_uniform([32, 32, 3], [place, 0], 0, 255, tf.int32)
            data = tf.io.encode_jpeg(tf.cast(pixels, tf.uint8)).numpy()
            Path(name).write_bytes(data[:40] if place in BAD else data)
        yield names


@contextmanager
def records() -> Iterator[list[str]]:
    """Three files of ten numbers; the fifth record of the second one is none."""
    with tempfile.TemporaryDirectory() as folder:
        names = [f"{folder}/{each}.tfrecord" for each in range(3)]
        for place, name in enumerate(names):
            with tf.io.TFRecordWriter(name) as out:
                for each in range(10):
                    out.write(b"oops" if (place, each) == (1, 4) else str(place * 10 + each).encode())
        yield names


def decode(name: Any) -> tuple[Any, Any]:
    return tf.image.resize(tf.io.decode_jpeg(tf.io.read_file(name), 3), [8, 8]), name


def parse(text: Any) -> Any:
    return tf.strings.to_number(text)


def raised(dataset: Any) -> ElementError:
    try:
        for _ in dataset:
            pass
    except ElementError as error:
        return error
    raise AssertionError("nothing was raised")


def names_of(dataset: Any) -> list[str]:
    return [text.decode() for element in dataset for text in tf.reshape(element[1], [-1]).numpy()]


def check_a_parallel_map_names_file_element_stage_and_line() -> None:
    with photos() as names:
        plain = Dataset.from_tensor_slices(names).map(decode, num_parallel_calls=tf.data.AUTOTUNE).batch(8).prefetch(2)
        error = raised(cc.explain_errors(plain))
    said = str(error)
    assert said.startswith(f"element 17, file {names[17]}: failed in map(decode)"), said
    assert "checks_faults.py:" in said and "Invalid JPEG data" in said, said
    assert isinstance(error.__cause__, tf.errors.InvalidArgumentError)


def check_behind_a_shuffle_it_is_the_elements_own_place_and_path() -> None:
    with photos() as names:
        plain = Dataset.from_tensor_slices(names).shuffle(COUNT, seed=3).map(decode).batch(4)
        error = raised(cc.explain_errors(plain))
    fault = error.fault
    assert fault is not None and fault.index in BAD
    assert fault.file == names[fault.index]


def check_without_errors_elements_types_and_count_stay_the_same() -> None:
    with photos() as names:
        good = [each for place, each in enumerate(names) if place not in BAD]
        plain = Dataset.from_tensor_slices(good).map(decode, num_parallel_calls=3).batch(8)
        made = cc.explain_errors(plain)
        assert made.element_spec == plain.element_spec
        assert int(made.cardinality()) == int(plain.cardinality())
        assert names_of(made) == names_of(plain) == good
        assert made.skipped == 0 and made.faults == ()


def check_skipping_loses_the_damaged_ones_and_no_other_and_keeps_the_order() -> None:
    log: list[Any] = []
    with photos() as names:
        plain = Dataset.from_tensor_slices(names).map(decode, num_parallel_calls=3).batch(8)
        made = cc.explain_errors(plain, policy="skip", at_most=2, log=log)
        good = [each for place, each in enumerate(names) if place not in BAD]
        assert names_of(made) == good
        assert made.skipped == 2
        assert names_of(made) == good
    assert made.skipped == 4 and "2 different" in made.summary
    rows = [each for each in log if "file" in each]
    assert [(each["index"], each["epoch"]) for each in rows] == [(17, 1), (69, 1), (17, 2), (69, 2)]
    assert [each["summary"]["skipped"] for each in log if "summary" in each] == [2, 4]


def check_one_too_many_is_raised() -> None:
    with photos() as names:
        plain = Dataset.from_tensor_slices(names).map(decode)
        made = cc.explain_errors(plain, policy="skip", at_most=1)
        error = raised(made)
    assert "2 elements failed, and at most 1 may be skipped" in str(error)
    assert names[69] in str(error) and made.skipped == 2


def check_the_log_is_a_file_of_json_lines() -> None:
    with photos() as names, tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bad.jsonl"
        made = cc.explain_errors(Dataset.from_tensor_slices(names).map(decode), policy="skip", log=path)
        assert len(names_of(made.map(lambda a, b: (a, b)))) == COUNT - 2
        rows = [json.loads(each) for each in path.read_text(encoding="utf-8").splitlines()]
    assert [each.get("file") for each in rows] == [names[17], names[69], None]
    assert rows[-1]["summary"]["skipped_in_epoch"] == 2


def check_with_a_cache_and_several_epochs_the_count_stays() -> None:
    with photos() as names:
        plain = Dataset.from_tensor_slices(names).map(decode).cache()
        made = cc.explain_errors(plain, policy="skip")
        assert [len(names_of(made)) for _ in range(3)] == [COUNT - 2] * 3
        assert made.skipped == 2 and "3 whole epochs" in made.summary
        again = cc.explain_errors(Dataset.from_tensor_slices(names).map(decode), policy="skip").repeat(2)
        assert len(names_of(again)) == 2 * (COUNT - 2)


def check_python_functions_that_raise() -> None:
    def python(each: Any) -> Any:
        if int(each) == 7:
            raise ValueError("seven is bad")
        return each

    plain = Dataset.range(20).map(lambda each: tf.py_function(python, [each], tf.int64))
    error = raised(cc.explain_errors(plain))
    assert str(error).startswith("element 7, value 7: failed in map()"), error
    assert "seven is bad" in str(error)
    made = cc.explain_errors(plain, policy="skip")
    assert [int(each) for each in made] == [each for each in range(20) if each != 7]


def check_records_are_named_by_file_and_number() -> None:
    with records() as names:
        for plain in (
            tf.data.TFRecordDataset(names).map(parse),
            tf.data.TFRecordDataset(names).shuffle(30, seed=1).map(parse, num_parallel_calls=2),
            Dataset.from_tensor_slices(names).interleave(
                lambda name: tf.data.TFRecordDataset(name).map(parse),
                cycle_length=3,
                num_parallel_calls=tf.data.AUTOTUNE,
            ),
            Dataset.from_tensor_slices(names).flat_map(lambda name: tf.data.TFRecordDataset(name).map(parse)),
        ):
            fault = raised(cc.explain_errors(plain)).fault
            assert fault is not None and (fault.file, fault.record) == (names[1], 4), fault
            made = cc.explain_errors(plain, policy="skip")
            assert sorted(float(each) for each in made) == [float(each) for each in range(30) if each != 14]
            assert made.skipped == 1


def check_a_damaged_record_is_raised_and_never_skipped() -> None:
    with records() as names:
        data = bytearray(Path(names[2]).read_bytes())
        data[60] ^= 255
        Path(names[2]).write_bytes(data)
        for policy in ("raise", "skip"):
            error = raised(cc.explain_errors(tf.data.TFRecordDataset(names).map(lambda each: each), policy=policy))
            fault = error.fault
            assert fault is not None and (fault.file, fault.record) == (names[2], 3), error
            assert isinstance(error.__cause__, tf.errors.DataLossError)


def check_generators_that_raise() -> None:
    def numbers() -> Iterator[int]:
        yield from (1, 2)
        raise RuntimeError("the well is dry")

    plain = Dataset.from_generator(numbers, output_signature=tf.TensorSpec([], tf.int64)).map(lambda each: each + 1)
    error = raised(cc.explain_errors(plain))
    assert str(error).startswith("element 2:") and "the well is dry" in str(error), error


def check_elements_that_do_not_fit_into_a_batch() -> None:
    plain = Dataset.range(20).map(lambda each: (tf.zeros([tf.where(each == 13, 3, 2)]), each)).batch(4)
    error = raised(cc.explain_errors(plain))
    assert str(error).startswith("element 13,") and "failed in batch(4): its shapes are [3], []" in str(error), error
    made = cc.explain_errors(plain, policy="skip")
    assert [each[1].numpy().tolist() for each in made][3] == [12, 14, 15]
    assert made.skipped == 1


def check_an_error_that_does_not_come_again_is_counted() -> None:
    seen: list[int] = []

    def flaky(each: Any) -> Any:
        seen.append(int(each))
        if int(each) == 5 and seen.count(5) == 1:
            raise ValueError("only once")
        return each

    made = cc.explain_errors(Dataset.range(10).map(lambda each: tf.py_function(flaky, [each], tf.int64)), policy="skip")
    assert [int(each) for each in made] == [0, 1, 2, 3, 4, 6, 7, 8, 9]
    assert made.skipped == 1
    assert "none did when they were tried again" in made.faults[0].error


def check_structures_of_all_kinds_pass() -> None:
    base = Dataset.range(40)
    ragged = base.map(lambda each: tf.RaggedTensor.from_row_lengths(tf.range(each), [each]))
    for plain in (
        base.map(lambda each: {"x": each, "y": (each, each)}).map(lambda each: each["y"]),
        base.map(lambda each: (each, each)).map(lambda a, b: a + b),
        ragged.map(lambda each: tf.reduce_sum(each)),
        base.map(lambda each: tf.sparse.from_dense(tf.one_hot(each, 40))).map(tf.sparse.reduce_sum),
        base.batch(7).map(lambda each: each * 2).unbatch(),
        Dataset.zip((base.map(lambda each: each + 1), base)).map(lambda a, b: a * b),
    ):
        made = cc.explain_errors(plain)
        assert made.element_spec == plain.element_spec
        first, second = ([tf.nest.flatten(each) for each in dataset] for dataset in (made, plain))
        assert [[x.numpy().tolist() for x in each] for each in first] == [
            [x.numpy().tolist() for x in each] for each in second
        ]


def check_in_fit_the_message_names_the_file_and_skipping_goes_on() -> None:
    import warnings

    import keras

    model = keras.Sequential([keras.layers.Input([8, 8, 3]), keras.layers.Flatten(), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    with photos() as names:
        plain = (
            Dataset.from_tensor_slices(names).map(lambda name: (decode(name)[0], 0.0), num_parallel_calls=2).batch(8)
        )
        try:
            model.fit(cc.explain_errors(plain), verbose=0, shuffle=False)
        except tf.errors.OpError as error:
            assert f"element 17, file {names[17]}" in str(error), error
        else:
            raise AssertionError("nothing was raised")
        made = cc.explain_errors(plain, policy="skip")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # Keras warns of every dataset whose length it does not know
            model.fit(made, epochs=2, verbose=0, shuffle=False)
        assert made.skipped == 4


def check_it_goes_with_bounded() -> None:
    with photos() as names:
        plain = Dataset.from_tensor_slices(names).map(decode, num_parallel_calls=2).shuffle(50, seed=2).batch(8)
        made = cc.explain_errors(cc.bounded(plain, "512MiB"), policy="skip")
        assert sorted(names_of(made)) == sorted(each for place, each in enumerate(names) if place not in BAD)
        assert made.skipped == 2


def check_wrong_arguments_are_named() -> None:
    good = Dataset.range(3)
    for call in (
        lambda: cc.explain_errors([1]),
        lambda: cc.explain_errors(good, policy="ignore"),
        lambda: cc.explain_errors(good, at_most=3),
        lambda: cc.explain_errors(good, policy="skip", at_most=-1),
        lambda: cc.explain_errors(good, policy="skip", at_most="3"),
        lambda: cc.explain_errors(good, policy="skip", log="/not/there/bad.jsonl"),
        lambda: cc.explain_errors(good, policy="skip", log=tempfile.gettempdir()),
        lambda: cc.explain_errors(good, policy="skip", log=5),
    ):
        try:
            call()
        except UsageError:
            continue
        raise AssertionError("accepted")


def check_an_endless_dataset_stays_endless() -> None:
    endless = Dataset.counter().map(lambda each: each * 2)
    assert int(cc.explain_errors(endless).cardinality()) == tf.data.INFINITE_CARDINALITY
    assert int(cc.explain_errors(Dataset.range(5).map(lambda each: each)).cardinality()) == 5


def check_names_that_are_no_text_and_lines_that_are_no_names() -> None:
    with tempfile.TemporaryDirectory() as folder:
        odd = [os.fsencode(folder) + name for name in (b"/a\nb", b"/\xff\xfe", b"/good")]
        for name in odd[:2]:
            Path(os.fsdecode(name)).write_bytes(b"x")
        Path(os.fsdecode(odd[2])).write_bytes(b"long enough")
        plain = Dataset.from_tensor_slices(odd).map(_long_enough)
        log = Path(folder) / "bad.jsonl"
        made = cc.explain_errors(plain, policy="skip", log=log)
        assert [each.numpy() for each in made] == [b"long enough"]
        rows = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
        assert [os.fsencode(each["file"]) for each in rows[:2]] == odd[:2]
        for place, said in ((0, "/a\\nb: failed"), (1, "/\\udcff\\udcfe: failed")):
            try:
                list(cc.explain_errors(Dataset.from_tensor_slices(odd[place:]).map(_long_enough)))
            except ElementError as error:
                assert said in str(error), error
            else:
                raise AssertionError(said)
    try:
        list(cc.explain_errors(Dataset.from_tensor_slices(["x" * 300]).map(tf.strings.to_number)))
    except ElementError as error:
        assert "element 0, value" in str(error) and "xxx" in str(error)
    else:
        raise AssertionError("300 letters are no number")


def check_an_error_is_that_of_the_element_that_was_asked_for_however_far_is_read_ahead() -> None:
    """TensorFlow works on the next elements while the first error waits in a buffer."""

    def odd_only(each: Any) -> Any:
        with tf.control_dependencies([tf.debugging.assert_equal(each % 2, tf.constant(1, tf.int64))]):
            return tf.identity(each)

    iterator = iter(cc.explain_errors(Dataset.range(12).map(odd_only).prefetch(8)))
    met = []
    for _ in range(12):
        try:
            next(iterator)
        except ElementError as error:
            met.append(error.fault.index)
        time.sleep(0.05)
    assert met == sorted(met) and met[0] == 0 and len(met) == len(set(met)), met


def _long_enough(name: Any) -> Any:
    text = tf.io.read_file(name)
    with tf.control_dependencies([tf.debugging.assert_greater(tf.strings.length(text), 4)]):
        return tf.identity(text)


def check_a_file_that_is_missing_is_named_as_one() -> None:
    try:
        list(cc.explain_errors(Dataset.from_tensor_slices(["/not/there.jpg"]).map(tf.io.read_file)))
    except ElementError as error:
        assert "element 0, file /not/there.jpg: failed in map(read_file): NotFoundError" in str(error), error
        assert error.__cause__ is not None and error.__cause__.__traceback__ is None
    else:
        raise AssertionError("it is not there")
