"""Whole files of a kind that no library here reads: not checked, never good, and never damaged."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import numpy
import pytest

from crashcart.probe.file_check import check
from crashcart.probe.file_source import LocalFile
from crashcart.sound import Checked, Wanted
from tests.unit.probe.made import checked, jpegs, kinds, picture, saved, tiff, zipped

h5py = pytest.importorskip("h5py")
GENERATOR = numpy.random.default_rng(0)
BANDS = GENERATOR.integers(0, 60_000, (9, 11, 13)).astype("<u2")
FLOATS = GENERATOR.random((9, 11, 3)).astype("<f4")
TIFFS = {
    "13 bands of 16 bits": tiff(BANDS),
    "13 bands of 16 bits, compression 1": tiff(BANDS, big=True),
    "3 bands of 32 bits (floats)": tiff(FLOATS, photometric=2),
    "1 band of 64 bits (floats)": tiff(FLOATS[:, :, :1].astype("<f8")),
    "compression 34887": tiff(BANDS[:, :, :1], compression=34887),
    "compression 50001": tiff(BANDS[:, :, :3].astype("u1"), compression=50001, photometric=2),
}


def reason(found: Checked) -> str:
    """The words of the one fault that leaves a file unchecked."""
    assert not found.damaged and found.unchecked and not found.good
    (fault,) = (each for each in found.faults if each.weight == "unchecked")
    assert fault.kind == "not-checked" and "0x" not in fault.detail
    return fault.detail


@pytest.mark.parametrize("words", TIFFS)
def test_tiffs_that_pillow_does_not_read_are_not_checked(words: str) -> None:
    assert words in reason(checked("a.tif", TIFFS[words]))


@pytest.mark.parametrize("words", TIFFS)
def test_the_same_tiffs_are_damage_where_they_are_cut(words: str) -> None:
    data = TIFFS[words]
    for cut in range(12, len(data) - 1, len(data) // 9):
        found = checked("a.tif", data[:cut])
        assert kinds(found, "damage") == {"truncated"}, cut


def test_tiffs_that_pillow_reads_are_judged_as_before() -> None:
    for options in ({}, {"compression": "tiff_lzw"}, {"compression": "tiff_deflate"}, {"compression": "jpeg"}):
        data = saved(picture(), "TIFF", **options)
        assert kinds(checked("a.tif", data)) == {"not-for-tensorflow"}
        for cut in (20, 100, len(data) // 2, len(data) - 10):
            assert checked("a.tif", data[:cut]).damaged, (options, cut)
    packed = saved(picture(), "TIFF", compression="tiff_deflate")
    holed = packed[:2000] + b"\x55" * 300 + packed[2300:]
    assert kinds(checked("a.tif", holed), "damage") == {"not-decodable"}
    assert kinds(checked("a.tif", packed[:4] + bytes(len(packed) - 4)), "damage") == {"not-decodable"}


def test_avif_that_is_cut_is_told_from_avif_that_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    from PIL import AvifImagePlugin, Image

    data = saved(picture(), "AVIF")
    for cut in (40, 100, len(data) // 2, len(data) - 10):
        assert kinds(checked("a.avif", data[:cut]), "damage") == {"truncated"}, cut
    Image.init()
    monkeypatch.setitem(Image.OPEN, "AVIF", (AvifImagePlugin.AvifImageFile, lambda prefix: "not installed"))
    assert "does not know" in reason(checked("a.avif", data))


def packed_by(path: Path, code: int) -> bytes:
    """A data set whose chunk was packed by a filter that is not here."""
    with h5py.File(path, "w") as file:
        file["plain"] = numpy.arange(5.0)
        plan = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plan.set_chunk((64,))
        plan.set_filter(code, h5py.h5z.FLAG_OPTIONAL, (2, 2, 4, 256))
        space = h5py.h5s.create_simple((64,))
        made = h5py.h5d.create(file.id, b"packed", h5py.h5t.IEEE_F32LE, space, plan)
        h5py.Dataset(made).id.write_direct_chunk((0,), b"\2\1\x21\4" + bytes(range(90)))
    return path.read_bytes()


def test_chunks_packed_by_a_filter_that_is_not_installed_are_not_checked(tmp_path: Path) -> None:
    if h5py.h5z.filter_avail(32001):
        pytest.skip("Blosc is installed")
    words = reason(checked("a.h5", packed_by(tmp_path / "a.h5", 32001)))
    assert "32001 (Blosc)" in words and "'/packed'" in words and "hdf5plugin" in words
    assert "filter 40000" in reason(checked("a.h5", packed_by(tmp_path / "b.h5", 40000)))


def with_method(method: int) -> bytes:
    """An archive whose member says that it was packed by this method."""
    data = bytearray(zipped({"a.txt": b"some words\n" * 9, "b.txt": b"more\n"}))
    data[8:10] = method.to_bytes(2, "little")
    at = data.index(b"PK\1\2")
    data[at + 10 : at + 12] = method.to_bytes(2, "little")
    return bytes(data)


@pytest.mark.parametrize(("method", "name"), [(9, "Deflate64"), (98, "PPMd"), (95, "XZ")])
def test_members_packed_by_a_method_that_python_does_not_know_are_not_checked(method: int, name: str) -> None:
    found = checked("a.zip", with_method(method))
    assert name in reason(found)
    assert found.faults[0].where == "member a.txt" and found.facts["members"] == 1


def test_a_method_that_no_archive_has_is_damage() -> None:
    assert kinds(checked("a.zip", with_method(23456)), "damage") == {"not-decodable"}


def test_hdf_is_a_name_of_hdf4_and_of_hdf5() -> None:
    old = b"\x0e\x03\x13\x01" + bytes(range(200)) * 30
    for name in ("a.hdf", "a"):
        found = checked(name, old)
        assert found.format == "hdf4" and "hdf4" in reason(found)
    assert kinds(checked("a.h5", old), "damage") == {"wrong-extension"}
    held = io.BytesIO()
    with h5py.File(held, "w") as file:
        file["x"] = numpy.arange(9)
    assert checked("a.hdf", held.getvalue()).faults == ()
    assert kinds(checked("a.hdf", bytes(5000)), "damage") == {"zero-filled"}
    assert kinds(checked("a.hdf", b"<html><body>404</body></html>"), "damage") == {"wrong-extension"}


def test_details_do_not_tell_where_objects_lie_in_memory() -> None:
    from crashcart.probe.file_content import Faults

    faults = Faults()
    faults.add("not-decodable", "cannot identify image file <_io.BytesIO object at 0x7f01387d6fc0>; byte 0x12")
    assert faults.all()[0].detail == "cannot identify image file <_io.BytesIO object>; byte 0x12"


def test_jpegs_that_libjpeg_is_not_built_for_are_not_checked() -> None:
    data = jpegs()["baseline.jpg"]
    at = data.index(b"\xff\xc0")
    for marker, depth, words in ((0xC3, 16, "lossless, 16 bits"), (0xC1, 12, "extended, 12 bits"), (0xC7, 8, "SOF7")):
        other = data[: at + 1] + bytes([marker]) + data[at + 2 : at + 4] + bytes([depth]) + data[at + 5 :]
        assert words in reason(checked("a.jpg", other))
        assert kinds(checked("a.jpg", other[:-900]), "damage") == {"truncated"}
        assert kinds(checked("a.jpg", other[:300]), "damage") == {"truncated"}


def test_flac_of_widths_that_libsndfile_does_not_read_is_not_checked() -> None:
    soundfile = pytest.importorskip("soundfile")
    held = io.BytesIO()
    soundfile.write(held, numpy.sin(numpy.arange(4000) / 9) * 0.5, 16_000, format="FLAC")
    data = held.getvalue()
    for bits in (12, 20, 32):
        packed = int.from_bytes(data[18:26], "big") & ~(31 << 36) | (bits - 1) << 36
        assert f"{bits} bits" in reason(checked("a.flac", data[:18] + packed.to_bytes(8, "big") + data[26:]))


def test_hdf5_that_another_program_writes_is_read_without_its_lock(tmp_path: Path) -> None:
    """Another process: HDF5 shares what one process has opened."""
    code = "import h5py, sys; f = h5py.File(sys.argv[1], 'w'); f['x'] = [1.0]; f.flush(); print(flush=True); input()"
    path = tmp_path / "a.h5"
    with subprocess.Popen([sys.executable, "-c", code, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        assert writer.stdin is not None and writer.stdout is not None
        writer.stdout.readline()
        found = check(LocalFile(str(path)), Wanted())
        writer.stdin.write(b"\n")
        writer.stdin.flush()
        assert writer.wait(60) == 0
    assert found.faults == () and found.facts["datasets_count"] == 1


def test_data_sets_that_lie_in_other_files_are_not_checked(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("x", (4,), "f4", external=[("not-there.raw", 0, 16)])
    assert "another file" in reason(check(LocalFile(str(tmp_path / "a.h5")), Wanted()))
