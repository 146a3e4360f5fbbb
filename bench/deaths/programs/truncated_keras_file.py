"""Resume from a model file that was still being written when the machine stopped."""

import os
import pathlib
import tempfile

import tensorflow as tf
from tensorflow.keras import layers

WORK = pathlib.Path(os.environ.get("CRASHCART_BENCH_TMP") or tempfile.mkdtemp())


def interrupted_save():
    path = WORK / "latest.keras"
    tf.keras.Sequential([tf.keras.Input((8,)), layers.Dense(64), layers.Dense(1)]).save(path)
    os.truncate(path, path.stat().st_size // 2)
    return path


def resume(path):
    return tf.keras.models.load_model(path)  # <-- dies here


if __name__ == "__main__":
    resume(interrupted_save()).summary()
