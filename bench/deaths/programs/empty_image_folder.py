"""Train on a folder of images that holds no images."""

import os
import pathlib
import tempfile

import tensorflow as tf

WORK = pathlib.Path(os.environ.get("CRASHCART_BENCH_TMP") or tempfile.mkdtemp())


def prepare():
    root = WORK / "flowers"
    for name in ("daisy", "rose"):
        (root / name).mkdir(parents=True, exist_ok=True)
        (root / name / "notes.txt").write_text("images to follow")
    return root


def main():
    data = tf.keras.utils.image_dataset_from_directory(prepare(), image_size=(64, 64))  # <-- dies here
    print(data.class_names)


if __name__ == "__main__":
    main()
