"""Clean records, text, tables and arrays by several writers, the odd but legal among them.

Covers: TFRecord (TensorFlow, and a writer of its own), text, CSV, JSON lines, NPY, NPZ, Parquet, Arrow, Feather.
Does not cover: images (`clean_images.py`), HDF5, sound and archives (`clean_others.py`).
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
import struct
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import google_crc32c
import numpy as np

from bench.data.clean_images import tensorflow, turbo
from bench.data.sample import Sample, clean, of_bytes

CLASSES = 10
WORDS = ("alpha", "beta", "gamma", "δέλτα", "épsilon", "zêta", "日本", "🙂 eight")


def record(data: bytes) -> bytes:
    """One record of a TFRecord file, by the description of the format."""
    length = struct.pack("<Q", len(data))
    return length + _masked(length) + data + _masked(data)


def _masked(data: bytes) -> bytes:
    crc = int(google_crc32c.value(data))
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def examples(
    seed: int, count: int = 20, label: int | None = None, images: Sequence[bytes] | None = None, **more: Sequence[float]
) -> list[bytes]:
    """Serialized Examples with a picture (one for each where they are given), a label, a weight and a name."""
    import tensorflow as tf

    chance = random.Random(seed)
    image = turbo()(seed)

    def feature(kind: str, values: Any) -> Any:
        return tf.train.Feature(**{f"{kind}_list": getattr(tf.train, f"{kind.capitalize()}List")(value=values)})

    def example(number: int) -> bytes:
        features = {
            "image": feature("bytes", [image if images is None else images[number]]),
            "label": feature("int64", [chance.randrange(CLASSES) if label is None else label]),
            "weight": feature("float", more.get("weight", [chance.random()])), "name": feature("bytes", [b"x" * (number % 5)]),
        }  # fmt: skip
        return bytes(tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString())

    return [example(number) for number in range(count)]


def records(seed: int) -> bytes:
    """A whole TFRecord file."""
    return b"".join(map(record, examples(seed)))


def _of_values(values: Callable[[random.Random], Sequence[bytes]]) -> Callable[[int], bytes]:
    """Records whose pictures are something else."""

    def made(seed: int) -> bytes:
        found = values(random.Random(seed))
        return b"".join(map(record, examples(seed, len(found), images=found)))

    return made


def _keys(chance: random.Random) -> Sequence[bytes]:
    """Random bytes, some of which begin with the letters of a format."""
    starts = (b"", b"BM", b"\xff\xd8", b"GIF", b"RIFF", b"\x89PN")
    return [start + chance.randbytes(30) for start in starts * 4]


def _png(chance: random.Random) -> bytes:
    return tensorflow("encode_png")(chance.randrange(1000))


def _sentences(chance: random.Random) -> Sequence[bytes]:
    words = " ".join(chance.choices(WORDS, k=9)).encode()
    return [start + words for start in (b"BMW ", b"GIF89a: ", b"RIFF and WEBP: ", b"PNG ") * 4]


def _by_tensorflow(compression: str) -> Callable[[Any, int], None]:
    def write(path: Any, seed: int) -> None:
        import tensorflow as tf

        with tf.io.TFRecordWriter(str(path), compression) as writer:
            for each in examples(seed):
                writer.write(each)

    return write


def _sequences(seed: int) -> bytes:
    import tensorflow as tf

    step = tf.train.Feature(float_list=tf.train.FloatList(value=[seed * 0.5, 1.0]))
    steps = tf.train.FeatureLists(feature_list={"steps": tf.train.FeatureList(feature=[step] * (seed % 3 + 1))})
    return b"".join(record(bytes(tf.train.SequenceExample(feature_lists=steps).SerializeToString())) for _ in range(5))


def text(seed: int, lines: int = 40) -> str:
    """Some lines of words."""
    chance = random.Random(seed)
    return "".join(" ".join(chance.choices(WORDS, k=8)) + "\n" for _ in range(lines))


def rows(seed: int, count: int = 30) -> list[list[str]]:
    """A table: number, measure, name, label."""
    chance = random.Random(seed)
    return [
        [str(n), f"{chance.gauss(0, 1):.4f}", chance.choice(WORDS), str(chance.randrange(CLASSES))]
        for n in range(count)
    ]


COLUMNS = ["number", "measure", "name", "label"]


def table(seed: int, **options: Any) -> bytes:
    """As the module csv writes it."""
    out = io.StringIO()
    writer = csv.writer(out, **options)
    writer.writerows([COLUMNS, *rows(seed)])
    return out.getvalue().encode()


def _with_line_breaks(seed: int) -> bytes:
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_ALL).writerows(
        [COLUMNS, *([a, b, f'{c},\n "{c}"', d] for a, b, c, d in rows(seed))]
    )
    return out.getvalue().encode()


def frame(seed: int) -> Any:
    """The table as pandas holds it."""
    import pandas as pd

    numbers, measures, names, labels = zip(*rows(seed), strict=True)
    return pd.DataFrame({
        "number": list(map(int, numbers)), "measure": list(map(float, measures)), "name": names, "label": list(map(int, labels)),
    })  # fmt: skip


def lines(seed: int) -> bytes:
    """JSON lines."""
    made = ({"number": int(a), "measure": float(b), "name": c, "label": int(d)} for a, b, c, d in rows(seed))
    return "".join(json.dumps(each, ensure_ascii=seed % 2 == 0) + "\n" for each in made).encode()


def array(seed: int, dtype: str = "float32", shape: tuple[int, ...] = (20, 30)) -> Any:
    """Numbers of any type."""
    return (np.random.default_rng(seed).normal(0, 50, shape)).astype(dtype)


def npy(made: Any, **options: Any) -> bytes:
    """As NumPy saves it."""
    out = io.BytesIO()
    np.lib.format.write_array(out, np.asanyarray(made), **options)
    return out.getvalue()


def npz(seed: int, save: Any = np.savez) -> bytes:
    """Two arrays in an archive."""
    out = io.BytesIO()
    save(out, x=array(seed), y=array(seed, "int64", (20,)) % CLASSES)
    return out.getvalue()


def parquet(seed: int, **options: Any) -> bytes:
    """As pyarrow writes it."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    out = io.BytesIO()
    pq.write_table(pa.Table.from_pandas(frame(seed), preserve_index=False), out, **options)
    return out.getvalue()


def _nested(seed: int) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    out = io.BytesIO()
    pq.write_table(
        pa.table({"a": [[seed, 1], [], None], "b": [{"c": 1}, {"c": None}, None], "d": [b"x", b"", None]}), out
    )
    return out.getvalue()


def arrow(seed: int, stream: bool = False) -> bytes:
    """As pyarrow's IPC writes it, as a file or as a stream."""
    import pyarrow as pa

    out, made = io.BytesIO(), pa.Table.from_pandas(frame(seed), preserve_index=False)
    with (pa.ipc.new_stream if stream else pa.ipc.new_file)(out, made.schema) as writer:
        writer.write_table(made, max_chunksize=10)
    return out.getvalue()


def feather(seed: int, **options: Any) -> bytes:
    """As pyarrow writes it."""
    import pyarrow.feather as pf

    out = io.BytesIO()
    pf.write_feather(frame(seed), out, **options)
    return out.getvalue()


def _pandas(method: str, **options: Any) -> Callable[[int], bytes]:
    def made(seed: int) -> bytes:
        out = io.BytesIO()
        getattr(frame(seed), method)(out, **options)
        return out.getvalue()

    return made


def _records() -> list[Sample]:
    raw = of_bytes(lambda seed: b"".join(record(bytes([255]) * (n + 1)) for n in range(seed % 7 + 3)))
    return [
        clean("TFRecord", "TFRecord of TensorFlow", ".tfrecord", _by_tensorflow("")),
        clean("TFRecord", "TFRecord of TensorFlow, gzip", ".tfrecord", _by_tensorflow("GZIP")),
        clean("TFRecord", "TFRecord of TensorFlow, zlib", ".tfrecord", _by_tensorflow("ZLIB")),
        clean(
            "TFRecord",
            "TFRecord, gzip by its name",
            ".tfrecord.gz",
            of_bytes(lambda seed: gzip.compress(records(seed))),
        ),
        clean(
            "TFRecord", "TFRecord, zlib level 1", ".tfrecords", of_bytes(lambda seed: zlib.compress(records(seed), 1))
        ),
        clean("TFRecord", "TFRecord by description", ".tfrec", of_bytes(records)),
        clean("TFRecord", "TFRecord, shard", ".tfrecord-00003-of-00010", of_bytes(records)),
        clean("TFRecord", "TFRecord, no extension", "", of_bytes(records)),
        clean("TFRecord", "TFRecord of PNG", ".tfrecord", of_bytes(_of_values(lambda chance: [_png(chance)] * 5))),
        clean("TFRecord", "TFRecord, keys of random bytes", ".tfrecord", of_bytes(_of_values(_keys))),
        clean("TFRecord", "TFRecord of sentences", ".tfrecord", of_bytes(_of_values(_sentences))),
        clean("TFRecord", "TFRecord of sequences", ".tfrecord", of_bytes(_sequences)),
        clean("TFRecord", "TFRecord, not of Examples", ".tfrecord", raw, "not-an-example"),
    ]


def _texts() -> list[Sample]:
    made: list[tuple[str, str, Callable[[int], bytes], str]] = [
        ("Text", ".txt", lambda seed: text(seed).encode(), ""),
        ("Text, lines of Windows", ".txt", lambda seed: text(seed).replace("\n", "\r\n").encode(), ""),
        ("Text, no end of line", ".txt", lambda seed: text(seed).strip().encode(), ""),
        ("Text, one long line", ".txt", lambda seed: text(seed, 3000).replace("\n", " ").encode(), ""),
        ("Text, byte order mark", ".txt", lambda seed: text(seed).encode("utf-8-sig"), "byte-order-mark"),
        ("Text, empty lines", ".txt", lambda seed: text(seed).replace("\n", "\n\n").encode(), "empty-line"),
        ("CSV", ".csv", table, ""), ("CSV, semicolons", ".csv", lambda seed: table(seed, delimiter=";"), ""),
        ("CSV, quoted line breaks", ".csv", _with_line_breaks, ""),
        ("CSV of pandas", ".csv", _pandas("to_csv"), ""), ("CSV, byte order mark", ".csv", lambda s: b"\xef\xbb\xbf" + table(s), "byte-order-mark"),
        ("TSV", ".tsv", lambda seed: table(seed, delimiter="\t"), ""),
        ("CSV, missing values", ".csv", lambda seed: table(seed).replace(b"alpha", b""), ""),
        ("CSV, no header", ".csv", lambda seed: table(seed).partition(b"\n")[2], ""),
        ("JSON lines", ".jsonl", lines, ""), ("JSON lines of pandas", ".jsonl", _pandas("to_json", orient="records", lines=True), ""),
        ("JSON lines, no end of line", ".ndjson", lambda seed: lines(seed).strip(), ""),
        ("JSON lines of Spark", ".json", lines, ""),
        ("Text, one byte of Latin-1", ".txt", lambda seed: text(seed).encode("ascii", "ignore") + b"caf\xe9\n", "encoding"),
        ("JSON", ".json", lambda seed: json.dumps({"rows": rows(seed)}, indent=1).encode(), ""),
    ]  # fmt: skip
    return [clean(name.split(",")[0].split()[0], name, end, of_bytes(make), odd) for name, end, make, odd in made]


def _arrays() -> list[Sample]:
    types = ("float64", "float16", "int8", "uint16", ">i4", "complex64", "bool", "S5", "U7")
    made: list[tuple[str, Callable[[int], bytes], str]] = [
        *((f"NPY, {each}", lambda seed, each=each: npy((array(seed).round() % 2).astype(each)), "") for each in types),
        ("NPY, order of Fortran", lambda seed: npy(np.asfortranarray(array(seed))), ""),
        ("NPY, a single number", lambda seed: npy(np.float32(seed)), ""),
        ("NPY, no elements", lambda seed: npy(array(seed, shape=(0, 3 + seed % 90))), "no-content"),
        ("NPY, version 2", lambda seed: npy(array(seed), version=(2, 0)), ""),
        ("NPY, fields", lambda seed: npy(np.array([(seed, 2.5)], [("a", "i4"), ("b", "f8")])), ""),
    ]
    return [
        *(clean("NPY", name, ".npy", of_bytes(make), odd) for name, make, odd in made),
        clean("NPZ", "NPZ", ".npz", of_bytes(npz)),
        clean("NPZ", "NPZ, compressed", ".npz", of_bytes(lambda seed: npz(seed, np.savez_compressed))),
    ]


def _columns() -> list[Sample]:
    codecs = ("snappy", "gzip", "zstd", "lz4", "brotli", "none")
    made: list[tuple[str, str, Callable[[int], bytes]]] = [
        *((f"Parquet, {each}", ".parquet", lambda seed, each=each: parquet(seed, compression=each)) for each in codecs),
        ("Parquet of pandas", ".parquet", _pandas("to_parquet")), ("Parquet, nested", ".parquet", _nested),
        ("Parquet, page checksums", ".pq", lambda seed: parquet(seed, write_page_checksum=True, data_page_version="2.0")),
        ("Parquet, row groups", ".parquet", lambda seed: parquet(seed, row_group_size=4)),
        ("Arrow", ".arrow", arrow), ("Arrow, stream", ".arrow", lambda seed: arrow(seed, True)), ("Feather", ".feather", feather),
        ("Feather, not compressed", ".feather", lambda seed: feather(seed, compression="uncompressed")),
    ]  # fmt: skip
    return [clean(name.split()[0].strip(","), name, end, of_bytes(make)) for name, end, make in made]


def samples() -> list[Sample]:
    """All of them."""
    return [*_records(), *_texts(), *_arrays(), *_columns()]
