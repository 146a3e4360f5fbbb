"""The files that the pipelines of this bench read: images, records, lines of text. Made once, in the system's temporary folder.

Covers: making them the same each time. Does not cover: the pipelines (`pipelines.py`).
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

IMAGES, RECORDS, LINES = 240, 40_000, 400_000
_FILES = 8


def folder() -> Path:
    """Where they are; made where they are not there yet."""
    place = Path(os.environ.get("CRASHCART_BENCH_DATA") or Path(tempfile.gettempdir()) / "crashcart-bench-pipeline")
    if not (place / "done").exists():
        place.mkdir(parents=True, exist_ok=True)
        _images(place)
        _records(place)
        _lines(place)
        (place / "done").touch()
    return place


def _images(place: Path) -> None:
    import numpy as np
    import tensorflow as tf

    drawn = np.random.default_rng(1)
    for index in range(IMAGES):
        height, width = (int(each) for each in drawn.integers(240, 800, 2))
        coarse = drawn.integers(0, 255, (height // 16, width // 16, 3), dtype=np.uint8)
        image = np.repeat(np.repeat(coarse, 16, 0), 16, 1)
        (place / f"{index:04}.jpg").write_bytes(tf.io.encode_jpeg(image).numpy())


def _records(place: Path) -> None:
    """Examples with a text of 200 to 6000 bytes and a label."""
    import numpy as np
    import tensorflow as tf

    drawn = np.random.default_rng(2)
    for number in range(_FILES):
        with tf.io.TFRecordWriter(str(place / f"part-{number}.tfrecord")) as writer:
            for _ in range(RECORDS // _FILES):
                text = drawn.bytes(int(drawn.integers(200, 6000)))
                features = {
                    "text": tf.train.Feature(bytes_list=tf.train.BytesList(value=[text])),
                    "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[int(drawn.integers(10))])),
                }
                example = tf.train.Example(features=tf.train.Features(feature=features))
                writer.write(example.SerializeToString())


def _lines(place: Path) -> None:
    import numpy as np

    drawn = np.random.default_rng(3)
    words = ["".join(chr(97 + each) for each in drawn.integers(0, 26, drawn.integers(2, 10))) for _ in range(2000)]
    with (place / "lines.txt").open("w", encoding="ascii") as file:
        for _ in range(LINES):
            file.write(" ".join(words[each] for each in drawn.integers(0, 2000, drawn.integers(4, 60))) + "\n")
