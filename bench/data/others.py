"""What others find of the damage: Pillow's verify, TensorFlow's decoders and readers, CleanVision.

Covers: one file at a time, in the way in which each of them is used; an exception is a find. Where tf.data has `ignore_errors`, what
raises here is dropped there, without a name. CleanVision ends at the first file that it cannot read; here it gets each alone.
Does not cover: how fast they are (`speed.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

VERIFY, DECODE, CLEANVISION, RECORDS = "PIL verify", "tf.data, decoded", "CleanVision", "TFRecordDataset"
_CLASSES_OF_TENSORFLOW = ".tfrecord"


def found(paths: Iterable[Path], images: bool) -> dict[str, int | None]:
    """How many of the files each of them finds; None where it does not read such files at all."""
    paths = [path for path in paths if path.is_file()]
    if not paths:
        return dict.fromkeys((VERIFY, DECODE, CLEANVISION, RECORDS))
    records = paths[0].name.endswith(_CLASSES_OF_TENSORFLOW)
    return {
        VERIFY: _count(verify, paths) if images else None,
        DECODE: _count(decode, paths) if images else None,
        CLEANVISION: _count(cleanvision, paths) if images else None,
        RECORDS: _count(iterate, paths) if records else None,
    }


def _count(read: Callable[[Path], Any], paths: Iterable[Path]) -> int:
    return sum(raises(read, path) for path in paths)


def raises(read: Callable[[Path], Any], path: Path) -> bool:
    """Whether it refuses this file."""
    try:
        read(path)
    except Exception:
        return True
    return False


def verify(path: Path) -> None:
    """As the usual loop does it."""
    from PIL import Image

    with Image.open(path) as image:
        image.verify()


def decode(path: Path) -> None:
    """As a map of tf.data does it."""
    import tensorflow as tf

    tf.io.decode_image(tf.io.read_file(str(path)))


def cleanvision(path: Path) -> None:
    """As CleanVision reads each file before it looks for issues."""
    from cleanvision.dataset.fsspec_dataset import FSDataset

    FSDataset(filepaths=[str(path)])[str(path)]


def iterate(path: Path) -> None:
    """All records, with the compression that the name promises: none."""
    import tensorflow as tf

    for _ in tf.data.TFRecordDataset(str(path)):
        pass
