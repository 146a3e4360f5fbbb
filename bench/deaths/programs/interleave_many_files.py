"""Read many record files at the same time."""

import os
import pathlib
import tempfile

import tensorflow as tf

WORK = pathlib.Path(os.environ.get("CRASHCART_BENCH_TMP") or tempfile.mkdtemp())


def write_records(count):
    paths = [str(WORK / f"part-{number:03d}.tfrecord") for number in range(count)]
    for number, path in enumerate(paths):
        with tf.io.TFRecordWriter(path) as writer:
            for row in range(5):
                writer.write(f"{number}:{row}".encode())
    return paths


def records(paths):
    files = tf.data.Dataset.from_tensor_slices(paths)
    return files.interleave(tf.data.TFRecordDataset, cycle_length=len(paths))


def main():
    count = 0
    for _record in records(write_records(300)):  # <-- dies here
        count += 1
    print(count, "records")


if __name__ == "__main__":
    main()
