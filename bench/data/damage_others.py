"""Damaged records, text, tables, arrays, HDF5, sound, archives, and what is no file at all.

Covers: what happens to them on the way, with the names that are right for it. Does not cover: images (`damage_images.py`).
"""

from __future__ import annotations

import gzip
import io
import os
import socket
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bench.data.clean_images import pillow, turbo
from bench.data.clean_others import archived, hdf5, sndfile, tarred, wav, zipped
from bench.data.clean_tables import (
    COLUMNS,
    array,
    arrow,
    examples,
    feather,
    lines,
    npy,
    npz,
    parquet,
    record,
    records,
    rows,
    table,
    text,
)  # fmt: skip
from bench.data.damage import PAGE, began, cut, flipped, overwritten, shortened, zero_tail
from bench.data.sample import Make, Sample, damage, of_bytes

_BROKEN = "not-decodable truncated crc-mismatch zero-filled"


def _records() -> list[Sample]:
    def made(name: str, kinds: str, make: Callable[[int], bytes], end: str = ".tfrecord") -> Sample:
        return damage("TFRecord", name, end, kinds, of_bytes(make))

    return [
        made("TFRecord cut short", "truncated", cut(records, 0.57)),
        made("TFRecord cut in its last bytes", "truncated", shortened(records, 3)),
        made("TFRecord, bit flipped in the data", "crc-mismatch", flipped(records, lambda data: 40)),
        made("TFRecord, bit flipped in a length", "crc-mismatch", flipped(records, lambda data: 1)),
        made("TFRecord, bit flipped in a checksum", "crc-mismatch", flipped(records, lambda data: len(data) - 1)),
        made("TFRecord, zeros to the end", "zero-filled crc-mismatch truncated", zero_tail(records)),
        made("TFRecord of gzip, cut short", "truncated", cut(lambda seed: gzip.compress(records(seed)))),
        made("TFRecord, records that do not parse", "not-an-example", _joined(_unparsed)),
        made(
            "TFRecord, labels beyond the classes",
            "label-out-of-range",
            _joined(lambda seed: examples(seed, label=10 + seed % 9)),
        ),
        made("TFRecord, negative labels", "label-out-of-range", _joined(lambda seed: examples(seed, label=-1))),
        made(
            "TFRecord, NaN",
            "nan",
            _joined(lambda seed: [*examples(seed, 9), *examples(seed, 1, weight=[float("nan")])]),
        ),
        made("TFRecord, a feature of another type", "schema-drift", _joined(_retyped)),
        made(
            "TFRecord, pictures cut short", "truncated", _joined(lambda seed: _pictures(seed, lambda data: data[:-300]))
        ),
        made(
            "TFRecord, garbage in place of pictures",
            "truncated not-decodable",
            _joined(lambda seed: _pictures(seed, lambda data: data[:4] + b"garbage" * (seed % 9))),
        ),
        made(
            "TFRecord, a web page among pictures",
            "schema-drift",
            _joined(lambda seed: _pictures(seed, lambda _: PAGE, 1)),
        ),
        made("JPEG named TFRecord", "wrong-extension", turbo()),
    ]


def _joined(messages: Callable[[int], list[bytes]]) -> Callable[[int], bytes]:
    return lambda seed: b"".join(map(record, messages(seed)))


def _pictures(seed: int, change: Callable[[bytes], bytes], count: int = 20) -> list[bytes]:
    """Examples of which so many have another picture."""
    image = turbo()(seed)
    return examples(seed, images=[change(image)] * count + [image] * (20 - count))


def _unparsed(seed: int) -> list[bytes]:
    """Whole frames around what is no message any more."""
    return [*examples(seed, 5), *(each[: len(each) // 2] for each in examples(seed, 5))]


def _retyped(seed: int) -> list[bytes]:
    """The label becomes text in the last records, as after a change of the program that writes them."""
    import tensorflow as tf

    name = tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"cat"]))
    example = tf.train.Example(features=tf.train.Features(feature={"label": name}))
    return [*examples(seed, 10), bytes(example.SerializeToString())]


def _texts() -> list[Sample]:
    def made(family: str, name: str, end: str, kinds: str, make: Callable[[int], bytes]) -> Sample:
        return damage(family, name, end, kinds, of_bytes(make))

    def spoiled(seed: int, change: Callable[[list[str]], list[str]]) -> bytes:
        kept = [",".join(row) for row in [COLUMNS, *rows(seed, 200)]]
        return ("\n".join([*kept[:20], ",".join(change(kept[20].split(","))), *kept[21:]]) + "\n").encode()

    return [
        made("Text", "Text in Latin-1", ".txt", "encoding", lambda seed: b"caf\xe9 na\xefve\n" * (10 + seed % 50)),
        made("Text", "Text with NUL", ".txt", "nul-bytes", lambda seed: text(seed).encode() + b"\0\0\0" + b"more\n"),
        made("Text", "Text, zeros to the end", ".txt", "nul-bytes zero-filled", zero_tail(lambda seed: text(seed).encode())),
        made("Text", "Text, empty", ".txt", "zero-bytes", lambda seed: b""),
        made("CSV", "CSV, a row too short", ".csv", "row-width", lambda seed: spoiled(seed, lambda row: row[:-1])),
        made("CSV", "CSV, a row too long", ".csv", "row-width", lambda seed: spoiled(seed, lambda row: [*row, "x"])),
        made("CSV", "CSV cut in a row", ".csv", "row-width truncated", lambda seed: table(seed).rstrip().rpartition(b",")[0].rpartition(b",")[0]),
        made("CSV", "CSV, words among numbers", ".csv", "column-type", lambda seed: spoiled(seed, lambda row: [row[0], "n.d.", *row[2:]])),
        made("CSV", "CSV, labels beyond the classes", ".csv", "label-out-of-range", lambda seed: spoiled(seed, lambda row: [*row[:-1], "12"])),
        made("JSON", "JSON lines, a line broken", ".jsonl", "bad-json", lambda seed: lines(seed).replace(b'"number": 7,', b'"number": 7', 1)),
        made("JSON", "JSON lines cut short", ".jsonl", "bad-json truncated", shortened(lines, 9)),
        made("JSON", "JSON cut short", ".json", "bad-json truncated", cut(lambda seed: b'{"rows": [' + b"1, " * (50 + seed % 50) + b"2]}")),
    ]  # fmt: skip


def _pickled(seed: int) -> bytes:
    out = io.BytesIO()
    np.save(out, np.array([{"a": seed}, None], dtype=object), allow_pickle=True)
    return out.getvalue()


def _with_nan(seed: int) -> bytes:
    found: Any = array(seed)
    found[3, 4] = np.nan if seed % 2 else np.inf
    return npy(found)


def _nan_inside(seed: int) -> bytes:
    """In a list and in a struct, beside sound ones."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    out, strange = io.BytesIO(), float("nan") if seed % 2 else float("-inf")
    lists, structs = [[1.0, float(seed)], [], [2.0, strange]], [{"x": 1.0}, None, {"x": 2.0}]
    pq.write_table(pa.table({"a": lists, "b": structs if seed % 4 < 2 else [*structs[:2], {"x": strange}]}), out)
    return out.getvalue()


def _nan_in_a_field(seed: int) -> Any:
    found: Any = np.zeros(20, [("id", "i4"), ("x", "f4", (3,))])
    found["x"][seed % 20, 1] = np.nan
    return found


def _nan_in_a_compound(path: Path, seed: int) -> None:
    import h5py

    with h5py.File(path, "w") as file:
        file["x"] = _nan_in_a_field(seed)


def _arrays() -> list[Sample]:
    def made(family: str, name: str, end: str, kinds: str, make: Callable[[int], bytes]) -> Sample:
        return damage(family, name, end, kinds, of_bytes(make))

    def whole(seed: int) -> bytes:
        return npy(array(seed))

    def compressed(seed: int) -> bytes:
        return npz(seed, np.savez_compressed)

    return [
        made("NPY, NPZ", "NPY cut short", ".npy", "truncated", cut(whole)),
        made("NPY, NPZ", "NPY, broken header", ".npy", "not-decodable", lambda seed: whole(seed).replace(b"descr", b"d\xff\x00cr")),
        made("NPY, NPZ", "NPY with NaN", ".npy", "nan", _with_nan),
        made("NPY, NPZ", "NPY with NaN in a field", ".npy", "nan", lambda seed: npy(_nan_in_a_field(seed))),
        made("Parquet, Arrow", "Parquet with NaN inside of lists", ".parquet", "nan", _nan_inside),
        made("NPY, NPZ", "NPY of objects", ".npy", "needs-pickle", _pickled),
        made("NPY, NPZ", "NPZ, bit flipped", ".npz", "crc-mismatch", flipped(npz, lambda data: 600)),
        made("NPY, NPZ", "NPZ cut short", ".npz", "truncated", cut(compressed)),
        made("NPY, NPZ", "NPY named NPZ", ".npz", "wrong-extension", whole),
        made("Parquet, Arrow", "Parquet cut short", ".parquet", "truncated", cut(parquet)),
        made("Parquet, Arrow", "Parquet, zeros in the middle", ".parquet", _BROKEN, overwritten(parquet, 300, 0.01, noise=False)),
        made("Parquet, Arrow", "Parquet, bit flipped, checksums", ".parquet", "crc-mismatch not-decodable",
             flipped(lambda seed: parquet(seed, write_page_checksum=True, compression="none", use_dictionary=False), lambda data: 120)),
        made("Parquet, Arrow", "Parquet, broken footer", ".parquet", "not-decodable", overwritten(parquet, 40, 0.97)),
        made("Parquet, Arrow", "Arrow cut short", ".arrow", "truncated", cut(arrow)),
        made("Parquet, Arrow", "Arrow stream cut short", ".arrow", "truncated", cut(lambda seed: arrow(seed, True))),
        made("Parquet, Arrow", "Feather cut short", ".feather", "truncated", cut(feather)),
    ]  # fmt: skip


def _changed_hdf5(change: Callable[[bytes, int], bytes], **options: Any) -> Make:
    def made(path: Path, seed: int) -> None:
        hdf5(path, seed, **options)
        path.write_bytes(change(path.read_bytes(), seed))

    return made


def _noise_in_a_chunk(data: bytes, seed: int) -> bytes:
    at = len(data) * 2 // 3
    return data[:at] + bytes(each ^ 0x55 for each in data[at : at + 40]) + data[at + 40 :]


def _hdf5s() -> list[Sample]:
    chunks = {"chunks": (200, 30)}
    return [
        damage("HDF5", "HDF5 cut short", ".h5", "truncated", _changed_hdf5(lambda data, _: data[: len(data) // 2])),
        damage("HDF5", "HDF5, broken checksum", ".h5", "crc-mismatch not-decodable",
               _changed_hdf5(_noise_in_a_chunk, fletcher32=True, **chunks)),
        damage("HDF5", "HDF5, broken chunk of gzip", ".h5", "crc-mismatch not-decodable",
               _changed_hdf5(_noise_in_a_chunk, compression="gzip", **chunks)),
        damage("HDF5", "HDF5 with NaN in a compound", ".h5", "nan", _nan_in_a_compound),
        damage("HDF5", "HDF5, broken structure", ".h5", "not-decodable",
               _changed_hdf5(lambda data, _: data[:96] + bytes(800) + data[896:])),
    ]  # fmt: skip


def _sounds() -> list[Sample]:
    flac = sndfile("FLAC", "PCM_16", count=40_000)

    def made(name: str, end: str, kinds: str, make: Callable[[int], bytes]) -> Sample:
        return damage("WAV, FLAC", name, end, kinds, of_bytes(make))

    def no_channels(seed: int) -> bytes:
        data = wav(seed)
        return data[:22] + struct.pack("<H", 0) + data[24:]

    return [
        made("WAV cut short", ".wav", "truncated", cut(wav)),
        made("WAV, header alone", ".wav", "no-content truncated", began(wav, 44)),
        made("WAV, no channels", ".wav", "not-decodable", no_channels),
        made("FLAC cut short", ".flac", "truncated not-decodable", cut(flac)),
        made("FLAC overwritten", ".flac", _BROKEN, overwritten(flac, 60, 0.6)),
        made("MP3 named WAV", ".wav", "wrong-extension", lambda seed: b"ID3\x03" + bytes(range(seed % 50, 200))),
    ]


def _archives() -> list[Sample]:
    def bad(seed: int) -> dict[str, bytes]:
        return {**archived(seed), "a/picture.jpg": cut(pillow("JPEG"))(seed)}

    def made(name: str, end: str, kinds: str, make: Callable[[int], bytes]) -> Sample:
        return damage("zip, tar, gzip", name, end, kinds, of_bytes(make))

    return [
        made("zip cut short", ".zip", "truncated", cut(zipped)),
        made("zip, bit flipped in a member", ".zip", "crc-mismatch member not-decodable", flipped(zipped, lambda data: 400)),
        made("zip, damaged member", ".zip", "member truncated", lambda seed: zipped(seed, members=bad(seed))),
        made("zip, a member that leads out", ".zip", "unsafe-name", lambda seed: zipped(seed, members={"../../x.txt": b"x\n"})),
        made("tar cut short", ".tar", "truncated", cut(tarred, 0.3)),
        made("tar, damaged member", ".tar", "member truncated", lambda seed: tarred(seed, members=bad(seed))),
        made("tar, broken header", ".tar", "not-decodable crc-mismatch truncated", overwritten(tarred, 20, 0.0)),
        made("tar of gzip, cut short", ".tar.gz", "truncated", cut(lambda seed: tarred(seed, "w:gz"))),
        made("gzip cut short", ".txt.gz", "truncated", cut(lambda seed: gzip.compress(text(seed).encode()))),
        made("gzip, bit flipped in its checksum", ".txt.gz", "crc-mismatch",
             flipped(lambda seed: gzip.compress(text(seed).encode()), lambda data: len(data) - 6)),
        made("gzip overwritten", ".txt.gz", "not-decodable crc-mismatch", overwritten(lambda seed: gzip.compress(text(seed).encode()), 30)),
        made("Page of an error as zip", ".zip", "wrong-extension", lambda seed: PAGE + bytes([65 + seed % 26])),
    ]  # fmt: skip


def _linked(target: str) -> Make:
    return lambda path, seed: path.symlink_to(target.format(name=path.name))


def _socket(path: Path, seed: int) -> None:
    here = os.getcwd()
    os.chdir(path.parent)  # the name of a socket has 107 bytes at most
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)


def _no_files() -> list[Sample]:
    zeros = of_bytes(lambda seed: bytes(5000 + seed))
    return [
        damage("no file", "Link to nowhere", ".jpg", "dangling-link", _linked("not-there-{name}")),
        damage("no file", "Link to itself", ".jpg", "link-loop", _linked("{name}")),
        damage("no file", "Pipe", ".jpg", "not-a-file", lambda path, seed: os.mkfifo(path)),
        damage("no file", "Socket", ".jpg", "not-a-file", _socket),
        damage("no file", "Nothing but zeros, as JPEG", ".jpg", "zero-filled", zeros),
        damage("no file", "Nothing but zeros, as TFRecord", ".tfrecord", "zero-filled", zeros),
    ]


def samples() -> list[Sample]:
    """All of them."""
    return [*_records(), *_texts(), *_arrays(), *_hdf5s(), *_sounds(), *_archives(), *_no_files()]
