"""Pipelines that fit in memory, as people write them: what `cc.bounded` is timed on.

Covers: files, records, rows, slow sources, caches, text; with AUTOTUNE everywhere, and with none.
Does not cover: timing (`bounded_speed.py`), pipelines that do not fit (`bounded_zoo.py`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

WAIT_US = 3000


def _photo_names(folder: Path, count: int) -> list[str]:
    """JPEG files of 320 x 320."""
    import tensorflow as tf

    names = []
    for index in range(count):
        noise = tf.random.stateless_uniform([40, 40, 3], [index, 1], 0, 255)
        image = tf.cast(tf.image.resize(noise, [320, 320]), tf.uint8)
        names.append(str(folder / f"{index}.jpg"))
        tf.io.write_file(names[-1], tf.io.encode_jpeg(image))
    return names


def _decode(name: Any) -> Any:
    import tensorflow as tf

    return tf.image.resize(tf.io.decode_jpeg(tf.io.read_file(name), 3), [224, 224]) / 255.0


def photos(folder: Path) -> Any:
    """Photos decoded, shuffled, in batches."""
    import tensorflow as tf

    source = tf.data.Dataset.from_tensor_slices(_photo_names(folder, 400)).map(_decode, tf.data.AUTOTUNE)
    return source.shuffle(100).batch(16).prefetch(tf.data.AUTOTUNE)


def examples(folder: Path) -> Any:
    """Small tf.train.Example records, interleaved, parsed one by one, shuffled, in batches."""
    import tensorflow as tf

    names = []
    for part in range(4):
        names.append(str(folder / f"{part}.tfrecord"))
        with tf.io.TFRecordWriter(names[-1]) as out:
            for index in range(5000):
                value = tf.train.Feature(float_list=tf.train.FloatList(value=[index] * 64))
                out.write(tf.train.Example(features=tf.train.Features(feature={"x": value})).SerializeToString())

    def parse(text: Any) -> Any:
        return tf.io.parse_single_example(text, {"x": tf.io.FixedLenFeature([64], tf.float32)})["x"]

    files = tf.data.Dataset.from_tensor_slices(names)
    records = files.interleave(tf.data.TFRecordDataset, cycle_length=4, num_parallel_calls=tf.data.AUTOTUNE)
    return records.map(parse, num_parallel_calls=tf.data.AUTOTUNE).shuffle(2000).batch(64).prefetch(tf.data.AUTOTUNE)


def rows(folder: Path) -> Any:
    """Rows of an array with a small map: the lightest elements that there are."""
    import numpy as np
    import tensorflow as tf

    array = np.arange(20000 * 64, dtype=np.float32).reshape(20000, 64)
    source = tf.data.Dataset.from_tensor_slices(array).shuffle(20000).map(lambda row: row * 2.0)
    return source.batch(64).prefetch(tf.data.AUTOTUNE)


def waiting(folder: Path) -> Any:
    """Records of a slow disk, eight files at once: what counts is how many are asked for at a time, and how soon."""
    import tensorflow as tf
    from tensorflow.python.data.experimental.ops import testing

    def opened(file: Any) -> Any:
        return tf.data.Dataset.range(60).apply(testing.sleep(WAIT_US))

    files = tf.data.Dataset.range(8)
    records = files.interleave(opened, cycle_length=8, num_parallel_calls=tf.data.AUTOTUNE)
    return records.batch(16).prefetch(tf.data.AUTOTUNE)


def untuned(folder: Path) -> Any:
    """Photos decoded and turned at random, in the fewest words: no parallel calls, no prefetch."""
    import tensorflow as tf

    def turned(image: Any) -> Any:
        return tf.image.random_brightness(tf.image.random_flip_left_right(image), 0.1)

    return tf.data.Dataset.from_tensor_slices(_photo_names(folder, 300)).shuffle(300).map(_decode).map(turned).batch(16)


def cached(folder: Path) -> Any:
    """Photos decoded once and kept in memory, then shuffled and turned; five times over, since once takes no time."""
    import tensorflow as tf

    source = tf.data.Dataset.from_tensor_slices(_photo_names(folder, 400)).map(_decode, tf.data.AUTOTUNE).cache()
    turned = source.shuffle(400).repeat(5).map(tf.image.random_flip_left_right, tf.data.AUTOTUNE)
    return turned.batch(16).prefetch(tf.data.AUTOTUNE)


def text(folder: Path) -> Any:
    """Lines of several files, filtered, split into words of different numbers, padded to batches."""
    import tensorflow as tf

    names = []
    for part in range(4):
        names.append(str(folder / f"{part}.txt"))
        lines = (" ".join(["word"] * (1 + (index * 7 + part) % 30)) for index in range(4000))
        Path(names[-1]).write_text("\n".join(lines))
    lines = tf.data.TextLineDataset(names).filter(lambda line: tf.strings.length(line) > 20)
    words = lines.map(lambda line: tf.strings.split(line), num_parallel_calls=tf.data.AUTOTUNE)
    return words.shuffle(1000).padded_batch(64, padded_shapes=[None]).prefetch(tf.data.AUTOTUNE)


def generated(folder: Path) -> Any:
    """Elements of a Python generator, as they are where data has a format of its own."""
    import numpy as np
    import tensorflow as tf

    def made() -> Any:
        for index in range(3000):
            yield np.full((64, 64), index, np.float32), index

    kinds = (tf.TensorSpec((64, 64), tf.float32), tf.TensorSpec((), tf.int64))
    source = tf.data.Dataset.from_generator(made, output_signature=kinds)
    return (
        source.map(lambda x, y: (x / 255.0, y), num_parallel_calls=tf.data.AUTOTUNE).shuffle(500).batch(32).prefetch(1)
    )


CASES = {each.__name__: each for each in (photos, examples, rows, waiting, untuned, cached, text, generated)}
