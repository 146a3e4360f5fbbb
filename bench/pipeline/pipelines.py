"""Pipelines as people write them: each function returns a dataset.

Covers: the transformations of tf.data in common orders, some of which hold more than 1.5 GB. Does not cover: measuring.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from bench.pipeline.data import folder

D = tf.data.Dataset
AUTO = tf.data.AUTOTUNE
Dataset = Any


def _decoded(name: Any) -> Any:
    return tf.io.decode_jpeg(tf.io.read_file(name), channels=3)


def _resized(name: Any) -> Any:
    return tf.image.resize(tf.image.convert_image_dtype(_decoded(name), tf.float32), (224, 224))


def _names(*, again: bool = True) -> Dataset:
    names = D.list_files(str(folder() / "*.jpg"), shuffle=False)
    return names.repeat() if again else names


def _row(index: Any, count: int) -> Any:
    return tf.fill((count,), tf.cast(index % 251, tf.float32))


def images_shuffled_decoded() -> Dataset:
    return _names().map(_resized, num_parallel_calls=AUTO).shuffle(600).batch(32).prefetch(AUTO)


def images_shuffled_as_names() -> Dataset:
    return _names().shuffle(2000).map(_resized, num_parallel_calls=AUTO).batch(32).prefetch(8)


def images_cached_as_bytes() -> Dataset:
    small = _names(again=False).map(lambda name: tf.cast(tf.image.resize(_decoded(name), (320, 320)), tf.uint8))
    return small.cache().shuffle(100).repeat().map(lambda image: tf.cast(image, tf.float32) / 255.0).batch(16)


def images_cached_as_decoded() -> Dataset:
    return _names(again=False).map(_decoded, num_parallel_calls=AUTO).cache().repeat().prefetch(2)


def images_large_batches() -> Dataset:
    return _names().map(_resized, num_parallel_calls=4).batch(128).prefetch(3)


def images_augmented() -> Dataset:
    def augmented(image: Any) -> Any:
        return tf.image.random_flip_left_right(tf.image.random_brightness(image, 0.2))

    return _names().map(_resized, num_parallel_calls=AUTO).map(augmented).shuffle(400).batch(16).prefetch(2)


def records_interleaved() -> Dataset:
    files = D.list_files(str(folder() / "*.tfrecord"), shuffle=False).repeat()
    lines = files.interleave(tf.data.TFRecordDataset, cycle_length=4, num_parallel_calls=AUTO)
    return lines.shuffle(100_000).batch(64).prefetch(AUTO)


def records_parsed() -> Dataset:
    schema = {"text": tf.io.FixedLenFeature([], tf.string), "label": tf.io.FixedLenFeature([], tf.int64)}
    files = [str(each) for each in sorted(folder().glob("*.tfrecord"))]
    parsed = tf.data.TFRecordDataset(files).repeat().map(lambda each: tf.io.parse_single_example(each, schema))
    return parsed.shuffle(80_000).batch(32)


def lines_shuffled() -> Dataset:
    return tf.data.TextLineDataset(str(folder() / "lines.txt")).repeat().shuffle(600_000).batch(128).prefetch(AUTO)


def tokens_ragged() -> Dataset:
    lines = tf.data.TextLineDataset(str(folder() / "lines.txt")).repeat()
    return lines.map(tf.strings.split, num_parallel_calls=AUTO).shuffle(60_000).ragged_batch(32).prefetch(2)


def ids_padded() -> Dataset:
    lines = tf.data.TextLineDataset(str(folder() / "lines.txt")).repeat()
    ids = lines.map(lambda line: tf.strings.to_hash_bucket_fast(tf.strings.split(line), 10_000))
    return ids.shuffle(30_000).padded_batch(512).prefetch(16)


def rows_of_an_array() -> Dataset:
    array = np.arange(400_000 * 101, dtype=np.float32).reshape(400_000, 101)
    return D.from_tensor_slices(array).shuffle(400_000).repeat().batch(256).prefetch(AUTO)


def arrays_of_a_generator() -> Dataset:
    def made() -> Iterator[Any]:
        while True:
            yield np.ones((512, 512), np.float32)

    return D.from_generator(made, output_signature=tf.TensorSpec((512, 512), tf.float32)).shuffle(400).batch(8)


def pairs_zipped() -> Dataset:
    inputs = D.range(10**9).map(lambda index: _row(index, 100_000), num_parallel_calls=2).prefetch(300)
    targets = D.range(10**9).map(lambda index: _row(index, 50_000), num_parallel_calls=2).prefetch(300)
    return D.zip((inputs, targets)).batch(16)


def windows_of_a_series() -> Dataset:
    series = D.range(10**9).map(lambda index: _row(index, 2_000))
    windows = series.window(48, shift=12, drop_remainder=True).flat_map(lambda each: each.batch(48))
    return windows.shuffle(1500).batch(32).prefetch(2)


def datasets_interleaved() -> Dataset:
    def opened(index: Any) -> Dataset:
        return D.range(10**9).map(lambda each: _row(each + index, 200_000)).prefetch(8)

    return D.range(10**9).interleave(opened, cycle_length=6, num_parallel_calls=AUTO).batch(8)


def datasets_mixed() -> Dataset:
    first = D.range(10**9).map(lambda index: _row(index, 60_000)).shuffle(1000)
    second = D.range(10**9).map(lambda index: _row(index, 60_000)).shuffle(2000)
    return D.sample_from_datasets([first, second], [0.3, 0.7]).batch(32).prefetch(1)


def batches_split_again() -> Dataset:
    return D.range(10**9).map(lambda index: tf.zeros((64, 20_000)) + tf.cast(index, tf.float32)).unbatch().shuffle(6000)


def many_calls() -> Dataset:
    return D.range(10**9).map(lambda index: _row(index, 3_000_000), num_parallel_calls=24).prefetch(4)


def features_by_python() -> Dataset:
    def made(index: Any) -> Any:
        return np.full((256, 512), float(index), np.float32)

    features = D.range(900).map(lambda index: tf.py_function(made, [index], tf.float32), num_parallel_calls=2)
    return features.cache().repeat().batch(16).prefetch(2)


def batches_in_parallel() -> Dataset:
    return D.range(10**9).map(lambda index: _row(index, 250_000)).batch(32, num_parallel_calls=4).prefetch(4)


def shuffle_too_large() -> Dataset:
    return _names().map(_resized, num_parallel_calls=AUTO).shuffle(12_000).batch(32).prefetch(AUTO)


def cache_too_large() -> Dataset:
    return D.range(4000).map(lambda index: _row(index, 250_000)).cache().repeat().batch(8).prefetch(2)


def prefetch_too_large() -> Dataset:
    return D.range(10**9).map(lambda index: _row(index, 200_000), num_parallel_calls=AUTO).batch(32).prefetch(200)


def interleave_too_large() -> Dataset:
    def opened(index: Any) -> Dataset:
        return D.range(10**9).map(lambda each: _row(each + index, 100_000)).shuffle(200)

    return D.range(10**9).interleave(opened, cycle_length=16, num_parallel_calls=AUTO).batch(8)


def records_too_large() -> Dataset:
    files = D.list_files(str(folder() / "*.tfrecord"), shuffle=False).repeat()
    return files.interleave(tf.data.TFRecordDataset, cycle_length=8).shuffle(1_500_000).batch(64)
