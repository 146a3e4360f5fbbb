"""Count the examples of a record file whose copy was cut short."""

import os
import pathlib
import tempfile

import tensorflow as tf

WORK = pathlib.Path(os.environ.get("CRASHCART_BENCH_TMP") or tempfile.mkdtemp())


def copied_records():
    path = WORK / "train.tfrecord"
    with tf.io.TFRecordWriter(str(path)) as writer:
        for number in range(200):
            writer.write(f"example {number}".encode() * 10)
    os.truncate(path, path.stat().st_size - 57)
    return path


def count(path):
    total = 0
    for _record in tf.data.TFRecordDataset(str(path)):  # <-- dies here
        total += 1
    return total


if __name__ == "__main__":
    print(count(copied_records()), "examples")
