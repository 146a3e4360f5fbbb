"""Pipelines that outgrow a small container, each as its author would have written it. `bench.pipeline.bounded` runs them.

Covers: one way of running out of memory each. Does not cover: measuring. A function takes a folder that it may write files to, and gives a
dataset whose elements end with (or are) a number that identifies them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

SIDE = 256


def _image(index: Any) -> tuple[Any, Any]:
    import tensorflow as tf

    return tf.fill([SIDE, SIDE, 3], tf.cast(index, tf.float32)), index


def shuffle_after_decode(folder: Path) -> Any:
    """The most common one: whole images in the shuffle buffer (2.2 GiB)."""
    import tensorflow as tf

    source = tf.data.Dataset.range(3000).map(_image, num_parallel_calls=tf.data.AUTOTUNE)
    return source.shuffle(3000, seed=1).batch(16).prefetch(tf.data.AUTOTUNE)


def shuffle_after_random(folder: Path) -> Any:
    """Augmentation draws numbers, so that the shuffle behind it cannot be moved (2.2 GiB)."""
    import tensorflow as tf

    def augmented(image: Any, index: Any) -> tuple[Any, Any]:
        return image + tf.random.uniform([]), index

    source = tf.data.Dataset.range(3000).map(_image).map(augmented, num_parallel_calls=4)
    return source.shuffle(3000).batch(16).prefetch(2)


def cache_after_decode(folder: Path) -> Any:
    """A cache of decoded images (2.2 GiB)."""
    import tensorflow as tf

    return tf.data.Dataset.range(3000).map(_image).cache().batch(16).prefetch(tf.data.AUTOTUNE)


def prefetch_of_batches(folder: Path) -> Any:
    """Five hundred batches ahead (5.9 GiB)."""
    import tensorflow as tf

    return tf.data.Dataset.range(6000).map(_image, num_parallel_calls=2).batch(16).prefetch(500)


def many_parallel_calls(folder: Path) -> Any:
    """Three hundred calls at once, of 12 MiB each."""
    import tensorflow as tf

    def stack(index: Any) -> tuple[Any, Any]:
        image, _ = _image(index)
        return tf.repeat(image[None], 16, axis=0), index

    return tf.data.Dataset.range(600).map(stack, num_parallel_calls=300)


def jpegs_of_all_sizes(folder: Path) -> Any:
    """Files whose shape nobody knows before they are read, shuffled as float images (2.2 GiB)."""
    import tensorflow as tf

    names = []
    for index in range(600):
        side = 400 + 40 * (index % 13)
        image = tf.cast(tf.random.stateless_uniform([side, side, 3], [index, 1], 0, 255, tf.int32), tf.uint8)
        names.append(str(folder / f"{index}.jpg"))
        tf.io.write_file(names[-1], tf.io.encode_jpeg(image, quality=60))

    def decode(name: Any) -> tuple[Any, Any]:
        image = tf.image.convert_image_dtype(tf.io.decode_jpeg(tf.io.read_file(name), 3), tf.float32)
        return image, tf.strings.to_number(tf.strings.split(tf.strings.split(name, "/")[-1], ".")[0], tf.int64)

    source = tf.data.Dataset.from_tensor_slices(names).map(decode, num_parallel_calls=tf.data.AUTOTUNE)
    return source.shuffle(600, seed=2).prefetch(tf.data.AUTOTUNE)


def records_interleaved(folder: Path) -> Any:
    """Eight files at once, each with a shuffle and a prefetch of decoded records of its own (2.4 GiB)."""
    import tensorflow as tf

    names = []
    for part in range(8):
        names.append(str(folder / f"{part}.tfrecord"))
        with tf.io.TFRecordWriter(names[-1]) as out:
            for index in range(400):
                out.write(str(part * 400 + index).encode())

    def opened(name: Any) -> Any:
        numbers = tf.data.TFRecordDataset(name).map(lambda text: tf.strings.to_number(text, tf.int64))
        return numbers.map(_image, num_parallel_calls=4).shuffle(300, seed=4).prefetch(100)

    return tf.data.Dataset.from_tensor_slices(names).interleave(
        opened, cycle_length=8, num_parallel_calls=tf.data.AUTOTUNE
    )


def generator_shuffled(folder: Path) -> Any:
    """A Python generator of arrays behind a shuffle (2.2 GiB)."""
    import numpy as np
    import tensorflow as tf

    def images() -> Any:
        for index in range(3000):
            yield np.full((SIDE, SIDE, 3), index, np.float32), index

    signature = (tf.TensorSpec([SIDE, SIDE, 3], tf.float32), tf.TensorSpec([], tf.int64))
    return tf.data.Dataset.from_generator(images, output_signature=signature).shuffle(3000).batch(16)


ZOO = {
    each.__name__: each
    for each in (
        shuffle_after_decode,
        shuffle_after_random,
        cache_after_decode,
        prefetch_of_batches,
        many_parallel_calls,
        jpegs_of_all_sizes,
        records_interleaved,
        generator_shuffled,
    )
}
