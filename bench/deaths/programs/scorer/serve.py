"""Load a model whose custom layer is not known here."""

import os
import pathlib
import subprocess
import sys
import tempfile

WORK = pathlib.Path(os.environ.get("CRASHCART_BENCH_TMP") or tempfile.mkdtemp())


def trained_model():
    path = WORK / "scorer.keras"
    builder = pathlib.Path(__file__).with_name("build.py")
    subprocess.run([sys.executable, str(builder), str(path)], check=True)
    return path


def load(path):
    import tensorflow as tf

    return tf.keras.models.load_model(path)  # <-- dies here


if __name__ == "__main__":
    print(load(trained_model()).summary())
