"""The files of the speed bench: photographs, small pictures, TFRecord files with photographs, and damaged ones of each.

Covers: writing them. Does not cover: timing (`speed.py`), all kinds of damage (`damage_*.py`).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from random import Random

import simplejpeg

from bench.data.clean_tables import record
from bench.data.damage import PAGE, Content, began, cut, flipped, middle, overwritten, shortened, zero_tail
from bench.data.pictures import picture

_SHARDS = 8
_IMAGE_COPIES, _RECORD_COPIES = 20, 4


def write_images(folder: Path, count: int, width: int, height: int) -> None:
    """So many JPEG files, all different."""
    folder.mkdir()
    with get_context("spawn").Pool(len(os.sched_getaffinity(0))) as pool:
        pool.starmap(_write_image, ((folder, number, width, height) for number in range(count)), chunksize=100)


def _write_image(folder: Path, number: int, width: int, height: int) -> None:
    pixels = picture(number, width, height)
    data = simplejpeg.encode_jpeg(pixels, quality=90 + number % 7, colorsubsampling="420")
    (folder / f"{number:06}.jpg").write_bytes(data)


_RAW_SIDE = 160
"""Of raw pixels in a record: 77 KB, about what a photograph takes as a JPEG."""


def write_records(folder: Path, images: Path | None, count: int) -> None:
    """Examples with a photograph and a label each; with raw pixels where there are no photographs."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow as tf

    folder.mkdir()
    files = sorted(images.iterdir()) if images is not None else []
    for shard in range(_SHARDS):
        with (folder / f"{shard:03}.tfrecord").open("wb") as out:
            for number in range(count):
                index = shard * count + number
                data = (
                    files[index % len(files)].read_bytes() if files else picture(index, _RAW_SIDE, _RAW_SIDE).tobytes()
                )
                features = {
                    "image": tf.train.Feature(bytes_list=tf.train.BytesList(value=[data])),
                    "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[shard * count + number])),
                }
                out.write(record(tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()))


def damaged_images(folder: Path, images: Path) -> None:
    """Copies of the first files, damaged on their way."""
    files = sorted(images.iterdir())
    _write_damaged(folder, lambda seed: files[seed % len(files)].read_bytes(), ".jpg", _IMAGE_COPIES)


def damaged_records(folder: Path, records: Path) -> None:
    """The same of TFRecord files."""
    files = sorted(records.iterdir())
    _write_damaged(folder, lambda seed: files[seed % len(files)].read_bytes(), ".tfrecord", _RECORD_COPIES)


def _damages(content: Content) -> list[Callable[[int], bytes]]:
    """What happens to any file. One bit of a JPEG file may be any other: it is turned in records alone, which have checksums."""
    return [
        cut(content), shortened(content, 300), began(content, 200), zero_tail(content), overwritten(content, 2048, noise=False),
        overwritten(content, 512), overwritten(content, 64, 0.01), _header_lost(content), lambda seed: PAGE + bytes([65 + seed % 26]),
    ]  # fmt: skip


def _header_lost(content: Content) -> Content:
    """Noise in its first bytes, behind those that tell the format."""
    return lambda seed: (data := content(seed))[:12] + Random(seed).randbytes(64) + data[76:]


def _write_damaged(folder: Path, content: Content, ending: str, copies: int) -> None:
    folder.mkdir()
    damages = _damages(content)
    if ending == ".tfrecord":
        damages.append(flipped(content, middle))
    for kind, damage in enumerate(damages):
        for copy in range(copies):
            (folder / f"{kind}-{copy:02}{ending}").write_bytes(damage(kind * copies + copy))
