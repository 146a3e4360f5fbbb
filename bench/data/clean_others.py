"""Clean HDF5, sound, archives and compressed files by several writers, the odd but legal among them.

Covers: HDF5 (h5py, Keras), WAV (wave, libsndfile, SciPy), FLAC, zip, tar, gzip. Does not cover: the formats of `clean_tables.py`.
"""

from __future__ import annotations

import gzip
import io
import struct
import subprocess
import tarfile
import wave
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bench.data.clean_images import pillow
from bench.data.clean_tables import array, table, text
from bench.data.sample import Sample, clean, of_bytes

_FOREIGN = "not-for-tensorflow"


def hdf5(path: Path, seed: int, **options: Any) -> None:
    """As h5py writes it."""
    import h5py

    with h5py.File(
        path, "w", **{name: options.pop(name) for name in ("libver", "userblock_size") if name in options}
    ) as file:
        group = file.create_group("data")
        group.create_dataset("x", data=array(seed, shape=(200, 30)), **options)
        group["label"] = array(seed, "int64", (200,)) % 10
        file.attrs["note"] = "größe"


def _hdf5(**options: Any) -> Callable[[Path, int], None]:
    return lambda path, seed: hdf5(path, seed, **dict(options))


def _weights(path: Path, seed: int) -> None:
    import keras

    keras.utils.set_random_seed(seed)
    keras.Sequential([keras.Input((7,)), keras.layers.Dense(3)]).save_weights(path)


def tone(seed: int, channels: int = 1, count: int = 4000) -> Any:
    """A tone with a little noise, -0.5 … 0.5."""
    at = np.arange(count)[:, None] / 16000
    noise = np.random.default_rng(seed).normal(0, 0.01, (count, channels))
    return 0.4 * np.sin(2 * np.pi * (200 + seed % 700) * at) + noise


def wav(seed: int, bytes_each: int = 2, channels: int = 1, count: int = 4000) -> bytes:
    """As the module wave writes it."""
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(bytes_each)
        file.setframerate(16000)
        whole = np.round(tone(seed, channels, count) * (2 ** (bytes_each * 8 - 1) - 1)).astype("<i8")
        if bytes_each == 1:
            whole += 128
        file.writeframes(b"".join(int(each).to_bytes(8, "little", signed=True)[:bytes_each] for each in whole.ravel()))
    return out.getvalue()


def sndfile(form: str, kind: str, channels: int = 2, count: int = 4000) -> Callable[[int], bytes]:
    """A writer through libsndfile."""

    def made(seed: int) -> bytes:
        import soundfile

        out = io.BytesIO()
        soundfile.write(out, tone(seed, channels, count), 16000, format=form, subtype=kind)
        return out.getvalue()

    return made


def _scipy(seed: int) -> bytes:
    from scipy.io import wavfile

    out = io.BytesIO()
    wavfile.write(out, 22050, tone(seed).astype(np.float32))
    return out.getvalue()


def _with_a_list(seed: int) -> bytes:
    """A chunk of notes after the samples, as editors write it."""
    data = wav(seed, count=4001)
    note = b"LIST" + struct.pack("<I", 26) + b"INFOISFT" + struct.pack("<I", 13) + b"made by hand\0\0"
    return data[:4] + struct.pack("<I", len(data) + len(note) - 8) + data[8:] + note


def _with_odd_notes(pad: bytes) -> Callable[[int], bytes]:
    """A chunk of an odd length before the samples: padded, as the format says, or not, as TensorFlow reads it."""

    def made(seed: int) -> bytes:
        data, note = wav(seed), b"INFOISFT" + struct.pack("<I", 5) + b"hello"
        extra = b"LIST" + struct.pack("<I", len(note)) + note + pad
        return data[:4] + struct.pack("<I", len(data) + len(extra) - 8) + data[8:36] + extra + data[36:]

    return made


def zipped(
    seed: int, method: int = zipfile.ZIP_DEFLATED, members: dict[str, bytes] | None = None, **options: Any
) -> bytes:
    """As the module zipfile writes it."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as file:
        for name, data in (members or archived(seed)).items():
            with file.open(name, "w", **options) as member:
                member.write(data)
        file.comment = b"made by the bench"
    return out.getvalue()


def archived(seed: int) -> dict[str, bytes]:
    """What is in the archives."""
    return {"a/picture.jpg": pillow("JPEG")(seed), "a/grün.txt": text(seed).encode(), "b/table.csv": table(seed)}


def tarred(
    seed: int, mode: str = "w", form: int = tarfile.PAX_FORMAT, members: dict[str, bytes] | None = None
) -> bytes:
    """As the module tarfile writes it."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode, format=form) as file:  # type: ignore[call-overload]
        for name, data in (members or archived(seed)).items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            file.addfile(entry, io.BytesIO(data))
        link = tarfile.TarInfo("a/link.jpg")
        link.type, link.linkname = tarfile.SYMTYPE, "picture.jpg"
        file.addfile(link)
    return out.getvalue()


def _long_names(seed: int) -> bytes:
    members = {"x" * 60 + "/" + "y" * 120 + ".txt": text(seed).encode()}
    return tarred(seed, form=tarfile.GNU_FORMAT, members=members)


def _webdataset(seed: int) -> bytes:
    """Samples as WebDataset lays them: a picture and its class under one name."""
    members = {}
    for number in range(5):
        members[f"{number:06}.jpg"] = pillow("JPEG")(seed + number)
        members[f"{number:06}.cls"] = str(number).encode()
    return tarred(seed, form=tarfile.USTAR_FORMAT, members=members)


def _gzip_program(seed: int) -> bytes:
    return subprocess.run(["gzip", "-9", "-c"], input=text(seed).encode(), stdout=subprocess.PIPE, check=True).stdout


def samples() -> list[Sample]:
    """All of them."""
    folders: dict[str, Any] = {
        "HDF5": {}, "HDF5, chunks of gzip": {"compression": "gzip", "shuffle": True, "chunks": (20, 30)},
        "HDF5, chunks of lzf": {"compression": "lzf", "chunks": (20, 30)}, "HDF5, checksums": {"fletcher32": True, "chunks": (20, 30)},
        "HDF5, latest": {"libver": "latest", "chunks": (20, 30)}, "HDF5, user block": {"userblock_size": 512},
    }  # fmt: skip
    made: list[tuple[str, str, str, Callable[[int], bytes], str]] = [
        ("WAV", "WAV, 8 bits", ".wav", lambda seed: wav(seed, 1), _FOREIGN), ("WAV", "WAV, 16 bits", ".wav", wav, ""),
        ("WAV", "WAV, 24 bits", ".wav", lambda seed: wav(seed, 3, 2), _FOREIGN), ("WAV", "WAV, 32 bits", ".wav", lambda seed: wav(seed, 4), _FOREIGN),
        ("WAV", "WAV, odd length", ".wav", lambda seed: wav(seed, 1, 1, 4001), _FOREIGN), ("WAV", "WAV, notes", ".wav", _with_a_list, ""),
        ("WAV", "WAV of libsndfile", ".wav", sndfile("WAV", "PCM_16"), ""), ("WAV", "WAV, floats", ".wav", sndfile("WAV", "FLOAT"), _FOREIGN),
        ("WAV", "WAV of SciPy", ".wav", _scipy, _FOREIGN), ("WAV", "WAV, extended", ".wav", sndfile("WAVEX", "PCM_24"), _FOREIGN),
        ("WAV", "WAV, odd notes, padded", ".wav", _with_odd_notes(b"\0"), _FOREIGN), ("WAV", "WAV, odd notes", ".wav", _with_odd_notes(b""), "odd-size"),
        ("FLAC", "FLAC", ".flac", sndfile("FLAC", "PCM_16"), ""), ("FLAC", "FLAC, 24 bits", ".flac", sndfile("FLAC", "PCM_24", 1), ""),
        ("zip", "zip", ".zip", zipped, ""), ("zip", "zip, stored", ".zip", lambda seed: zipped(seed, zipfile.ZIP_STORED), ""),
        ("zip", "zip, bzip2", ".zip", lambda seed: zipped(seed, zipfile.ZIP_BZIP2), ""),
        ("zip", "zip, LZMA", ".zip", lambda seed: zipped(seed, zipfile.ZIP_LZMA), ""),
        ("zip", "zip, 64 bits", ".zip", lambda seed: zipped(seed, force_zip64=True), ""),
        ("zip", "zip in a zip", ".zip", lambda seed: zipped(seed, members={"inner.zip": zipped(seed)}), ""),
        ("tar", "tar", ".tar", tarred, ""), ("tar", "tar, long names", ".tar", _long_names, ""), ("tar", "tar of WebDataset", ".tar", _webdataset, ""),
        ("tar", "tar, gzip", ".tar.gz", lambda seed: tarred(seed, "w:gz"), ""), ("tar", "tgz", ".tgz", lambda seed: tarred(seed, "w:gz"), ""),
        ("tar", "tar, bzip2", ".tar.bz2", lambda seed: tarred(seed, "w:bz2"), ""), ("tar", "tar, xz", ".tar.xz", lambda seed: tarred(seed, "w:xz"), ""),
        ("gzip", "gzip", ".txt.gz", lambda seed: gzip.compress(text(seed).encode()), ""),
        ("gzip", "gzip, several parts", ".txt.gz", lambda seed: gzip.compress(text(seed).encode()) + gzip.compress(b"more\n"), ""),
        ("gzip", "gzip by the program", ".txt.gz", _gzip_program, ""),
        ("gzip", "gzip of a table", ".csv.gz", lambda seed: gzip.compress(table(seed), mtime=0), ""),
    ]  # fmt: skip
    return [
        *(clean("HDF5", name, ".h5", _hdf5(**options)) for name, options in folders.items()),
        clean("HDF5", "HDF5, weights of Keras", ".weights.h5", _weights),
        *(clean(family, name, end, of_bytes(make), odd) for family, name, end, make, odd in made),
    ]
