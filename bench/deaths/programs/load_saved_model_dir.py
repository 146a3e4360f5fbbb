"""Load a SavedModel directory with Keras 3."""

import os
import pathlib
import tempfile

import tensorflow as tf

WORK = pathlib.Path(os.environ.get("CRASHCART_BENCH_TMP") or tempfile.mkdtemp())


def export():
    model = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(1)])
    tf.saved_model.save(model, str(WORK / "model_v1"))
    return WORK / "model_v1"


def serve(path):
    model = tf.keras.models.load_model(path)  # <-- dies here
    return model.predict([[1.0, 2.0, 3.0]])


if __name__ == "__main__":
    print(serve(export()))
