"""A file is read once, for the check and for the mark that finds duplicates, wherever that can be."""

from __future__ import annotations

import gzip
import io
import zipfile
from pathlib import Path
from typing import Any

import numpy
import pyarrow
import pyarrow.parquet
import pytest

from crashcart.probe import file_crc
from crashcart.probe.file_check import check
from crashcart.probe.file_digest import mark, mark_of
from crashcart.sound import Checked, Wanted
from tests.unit.probe.made import json_lines, picture, saved, some_records, tarred, zipped


class Counted(io.BytesIO):
    """A file that knows how many bytes were read of it."""

    def __init__(self, source: Source) -> None:
        super().__init__(source.data)
        self._source = source

    def read(self, size: int | None = -1) -> bytes:
        data = super().read(size)
        self._source.bytes_read += len(data)
        return data

    def readinto(self, buffer: Any) -> int:
        count = super().readinto(buffer)
        self._source.bytes_read += count
        return count


class Source:
    """A file elsewhere that knows how often it was opened."""

    local = None

    def __init__(self, path: str, data: bytes) -> None:
        self.path, self.data, self.opened, self.bytes_read = path, data, 0, 0

    def size(self) -> int | None:
        return len(self.data)

    def open(self) -> Any:
        self.opened += 1
        return Counted(self)


def looked(source: Any, quick: bool = False) -> Checked:
    return check(source, Wanted(duplicates=True, quick=quick))


def noise(count: int) -> bytes:
    return numpy.random.default_rng(0).bytes(count)


RECORDS = some_records(9) * 2000
PASSING = {
    "a.tfrecord": RECORDS,
    "cut.tfrecord": RECORDS[:-3],
    "broken.tfrecord": RECORDS[:50_000] + b"\7\7\7\7" + RECORDS[50_004:],
    "a.jsonl": json_lines() * 700,
    "a.json": json_lines() * 700,
    "a.csv": b"a,b\n" + b"1,2\n" * 400_000,
    "a.txt": b"some words\n" * 200_000,
    "a.txt.gz": gzip.compress(noise(2_000_000).hex().encode()) + bytes(40),
    "a.tfrecord.gz": gzip.compress(RECORDS, 0),
    "unknown": noise(2_000_000),
    "a.png": saved(picture(1200, 900), "PNG", compress_level=0),
}


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("name", PASSING)
def test_what_is_read_in_its_order_is_read_once(name: str, quick: bool) -> None:
    source = Source(name, PASSING[name])
    assert source.size() > 1 << 20
    assert looked(source, quick).digest == mark_of(source.data)
    assert (source.opened, source.bytes_read) == (1, len(source.data))


def test_without_the_native_library_the_mark_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = mark_of(RECORDS)
    monkeypatch.setattr(file_crc, "native", lambda: None)
    assert looked(Source("a.tfrecord", RECORDS)).digest == expected


def sought() -> dict[str, bytes]:
    table, array = io.BytesIO(), io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table({"x": numpy.arange(300_000)}), table, compression="none")
    numpy.save(array, numpy.arange(300_000))
    return {
        "a.parquet": table.getvalue(),
        "a.npy": array.getvalue(),
        "a.zip": zipped({"a.txt": b"some words\n" * 200_000}, zipfile.ZIP_STORED),
        "a.tar": tarred({"a.txt": b"some words\n" * 200_000}),
    }


@pytest.mark.parametrize("name", sought())
def test_what_is_sought_in_elsewhere_is_not_fetched_again(name: str) -> None:
    data = sought()[name]
    source, copy, other = Source(name, data), Source(f"b/{name}", data), Source(name, data + bytes(8))
    first, second, third = (looked(each).digest for each in (source, copy, other))
    assert source.opened == 1 and source.bytes_read < 1.2 * len(data)
    assert first == second != third and first is not None


@pytest.mark.parametrize("name", sought())
def test_what_is_sought_in_here_has_the_mark_of_all_its_bytes(name: str, tmp_path: Path) -> None:
    from crashcart.probe.file_source import LocalFile

    path = tmp_path / name
    path.write_bytes(sought()[name])
    source = LocalFile(str(path))
    assert looked(source).digest == mark(source) == mark_of(sought()[name])


def test_a_file_whose_rest_cannot_be_read_has_no_mark() -> None:
    class Broken(Counted):
        def read(self, size: int | None = -1) -> bytes:
            if self.tell() > 4096:
                raise OSError(5, "gone")
            return super().read(size)

    class Gone(Source):
        def open(self) -> Any:
            return Broken(self)

    found = looked(Gone("unknown", noise(2_000_000)))
    assert found.digest is None and {fault.kind for fault in found.faults} == {"unknown-format"}
