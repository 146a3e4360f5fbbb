from __future__ import annotations

import bz2
import lzma
import os
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

from crashcart.probe import file_lacking
from crashcart.probe.file_check import check
from crashcart.probe.file_crc import _slowly, crc32c
from crashcart.probe.file_digest import full, mark
from crashcart.probe.file_magic import by_bytes, by_name
from crashcart.probe.file_native import native
from crashcart.probe.file_source import LocalFile
from crashcart.sound import KINDS, Checked, Fault, Wanted
from tests.unit.probe.made import (
    Held,
    checked,
    example,
    jpegs,
    kinds,
    picture,
    pngs,
    records,
    saved,
    some_records,
    table,
    zipped,
)


def looked_at(path: Path, **wanted: object) -> Checked:
    return check(LocalFile(str(path)), Wanted(**wanted))  # type: ignore[arg-type]


def test_what_is_no_file_is_told_and_never_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jpg")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket.jpg"))
        (tmp_path / "dangling.jpg").symlink_to("nowhere.jpg")
        (tmp_path / "circle.jpg").symlink_to("circle.jpg")
        started = time.monotonic()
        found = {
            name: kinds(looked_at(tmp_path / f"{name}.jpg"))
            for name in ("pipe", "socket", "dangling", "circle", "none")
        }
    assert found == {
        "pipe": {"not-a-file"},
        "socket": {"not-a-file"},
        "dangling": {"dangling-link"},
        "circle": {"link-loop"},
        "none": {"missing"},
    }
    assert time.monotonic() - started < 60
    assert kinds(looked_at(tmp_path)) == {"not-a-file"}
    assert kinds(check(LocalFile("a\0b"), Wanted())) == {"unreadable"}


def test_a_link_to_a_file_is_that_file(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(pngs()["RGB.png"])
    (tmp_path / "link.png").symlink_to("a.png")
    found = looked_at(tmp_path / "link.png")
    assert found.faults == () and found.bytes == (tmp_path / "a.png").stat().st_size and found.modified_ns is not None


def test_a_file_that_may_not_be_read() -> None:
    class Forbidden(Held):
        def open(self) -> object:  # type: ignore[override]
            raise PermissionError(13, "Permission denied")

    fault = check(Forbidden("a.jpg", b"x"), Wanted()).faults[0]
    assert fault.kind == "unreadable" and "Permission denied" in fault.detail


def test_a_file_elsewhere_that_is_gone() -> None:
    class Gone(Held):
        def size(self) -> int | None:
            return None

        def open(self) -> object:  # type: ignore[override]
            raise FileNotFoundError("s3://bucket/a.jpg")

    assert kinds(check(Gone("s3://bucket/a.jpg", b""), Wanted())) == {"missing"}


def test_a_file_of_unknown_size_is_read_all_the_same() -> None:
    class Unknown(Held):
        def size(self) -> int | None:
            return None

    files = {
        "a.jpg": jpegs()["444.jpg"],
        "a.tfrecord": some_records(9),
        "a.csv": table(),
        "a.zip": zipped({"a.txt": b"x"}),
    }
    for name, data in files.items():
        assert check(Unknown(name, data), Wanted(duplicates=True)).faults == ()
        assert check(Unknown(name, data[: len(data) // 2]), Wanted()).damaged
    assert kinds(check(Unknown("a.jpg", b""), Wanted())) == {"zero-bytes"}


def test_a_read_that_fails_in_the_middle() -> None:
    class Failing(Held):
        def open(self) -> object:  # type: ignore[override]
            file = super().open()
            file.read = lambda *_: (_ for _ in ()).throw(OSError(5, "Input/output error"))  # type: ignore[method-assign]
            return file

    assert kinds(check(Failing("a.csv", b"a,b\n"), Wanted())) == {"unreadable"}


def test_empty_files_of_every_name() -> None:
    for name in ("a.jpg", "a.tfrecord", "a.csv", "a.zip", "a"):
        assert kinds(checked(name, b"")) == {"zero-bytes"}
        # TensorFlow leaves such a file of a shard without records, and reads it as one.
        assert checked(name, b"").damaged == (name not in ("a", "a.tfrecord"))


def test_content_goes_before_the_name() -> None:
    jpeg, png, webp = jpegs()["baseline.jpg"], pngs()["RGB.png"], saved(picture(), "WEBP")
    swapped = checked("a.png", jpeg)
    assert kinds(swapped, "odd") == {"wrong-extension"} and swapped.format == "jpeg" and swapped.good
    assert kinds(checked("a.jpg", webp), "damage") == {"wrong-extension"}
    assert kinds(checked("a.tfrecord", png), "damage") == {"wrong-extension"}
    assert kinds(checked("a.npy", zipped({})), "damage") == {"wrong-extension"}
    assert checked("no-extension", png).faults == ()
    assert kinds(checked("a.JPG", jpeg)) == set()
    assert kinds(checked("a.png", jpeg[: len(jpeg) // 2])) == {"wrong-extension", "truncated"}


def test_what_nobody_knows_is_not_called_sound() -> None:
    found = checked("a.xyz", bytes(range(128, 256)) * 5)
    assert kinds(found, "unchecked") == {"unknown-format"} and not found.good and not found.damaged
    assert kinds(checked("a.mp4", b"\0\0\0\x18ftypmp42" + bytes(50)), "unchecked") == {"not-checked"}
    assert kinds(checked("a.jpg", bytes(5000)), "damage") == {"zero-filled"}
    assert kinds(checked("a.png", b"\x01\x02\x03" * 50), "damage") == {"not-decodable"}


@pytest.mark.parametrize(
    ("module", "name"),
    [("h5py", "a.h5"), ("pyarrow", "a.parquet"), ("soundfile", "a.flac"), ("numpy", "a.npy"), ("PIL.Image", "a.gif")],
)
def test_without_a_library_its_format_is_not_checked(monkeypatch: pytest.MonkeyPatch, module: str, name: str) -> None:
    starts = {
        "a.h5": b"\x89HDF\r\n\x1a\n",
        "a.parquet": b"PAR1",
        "a.flac": b"fLaC\0" + bytes(60),
        "a.npy": b"\x93NUMPY",
    }
    data = starts.get(name, b"") + bytes(20) if name != "a.gif" else saved(picture().convert("P"), "GIF")
    file_lacking._load.cache_clear()
    monkeypatch.setitem(sys.modules, module, None)
    found = checked(name, data)
    file_lacking._load.cache_clear()
    assert kinds(found, "unchecked") == {"no-library"} and not found.damaged
    assert "pip install 'crashcart[data]'" in found.faults[0].detail


def test_what_no_library_reads_is_not_told_as_a_missing_one() -> None:
    for name, data in (
        ("a.ogg", b"OggS\0\2" + bytes(60)),
        ("a.bz2", bz2.compress(b"a")),
        ("a.xz", lzma.compress(b"a")),
    ):
        assert kinds(checked(name, data)) == kinds(checked(name, data), "unchecked") == {"not-checked"}


def test_json_beyond_the_depth_of_the_parser_is_not_a_matter_of_memory() -> None:
    fault = checked("a.json", b"[" * 100_000 + b"]" * 100_000).faults[0]
    assert (fault.kind, fault.weight) == ("not-checked", "unchecked") and "nested too deeply" in fault.detail


def test_a_mistake_of_ours_is_not_the_file_s_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> dict[str, object]:
        raise ZeroDivisionError("ours")

    monkeypatch.setattr("crashcart.probe.file_check._check_of", lambda format: fails)
    found = checked("a.tfrecord", some_records(2))
    assert kinds(found, "unchecked") == {"not-checked"} and not found.damaged


def test_marks_and_digests_of_content(tmp_path: Path) -> None:
    data = some_records(50) * 200
    assert len(data) > 1 << 20
    for name in ("a.tfrecord", "b.tfrecord"):
        (tmp_path / name).write_bytes(data)
    (tmp_path / "c.tfrecord").write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    a, b, c = (looked_at(tmp_path / f"{name}.tfrecord", duplicates=True).digest for name in "abc")
    assert a == b == mark(LocalFile(str(tmp_path / "a.tfrecord"))) != c and a is not None
    files = [LocalFile(str(tmp_path / f"{name}.tfrecord")) for name in "abc"]
    assert full(files[0]) == full(files[1]) != full(files[2])
    assert looked_at(tmp_path / "a.tfrecord").digest is None
    assert mark(LocalFile(str(tmp_path / "none"))) is None and full(LocalFile(str(tmp_path / "none"))) is None
    small = checked("a.csv", table(), duplicates=True).digest
    assert (
        small == checked("b.csv", table(), duplicates=True).digest != checked("c.csv", table(3), duplicates=True).digest
    )


def test_crc32c_is_right_by_every_way() -> None:
    # The check value of the catalogue of CRCs, and sizes around the strides of the native form.
    assert crc32c(b"123456789") == _slowly(b"123456789", 0) == 0xE3069283
    data = os.urandom(40_000)
    for size in (0, 1, 7, 8, 9, 767, 768, 769, 12_287, 12_288, 12_289, 40_000):
        assert crc32c(data[:size]) == _slowly(data[:size], 0), size
    assert crc32c(data[100:], crc32c(data[:100])) == crc32c(data)
    library = native()
    if library is not None:
        assert library._library.crashcart_crc32c_tables(0, data, len(data)) & 0xFFFFFFFF == crc32c(data)


def test_memory_is_bounded_whatever_the_size(tmp_path: Path) -> None:
    pytest.importorskip("numpy")
    size = 300 << 20
    header = (
        b"\x93NUMPY\x01\0\x76\0"
        + b"{'descr': '<f4', 'fortran_order': False, 'shape': (78643200,), }".ljust(117)
        + b"\n"
    )
    fmt = struct.pack("<4sIHHIIHH4sI", b"fmt ", 16, 1, 1, 16_000, 32_000, 2, 16, b"data", size)
    starts = {"a.npy": header, "a.wav": b"RIFF" + struct.pack("<I", size + 36) + b"WAVE" + fmt}
    for name, start in starts.items():
        with open(tmp_path / name, "wb") as file:
            file.write(start)
            file.truncate(len(start) + size)
    (tmp_path / "a.txt").write_bytes(b"some text\n" * 3_000_000)
    code = (
        "import re, sys; from crashcart.probe.file_check import check; from crashcart.probe.file_source import LocalFile;"
        "from crashcart.sound import Wanted;"
        "print(*(fault.kind for path in sys.argv[1:] for fault in check(LocalFile(path), Wanted(duplicates=True)).faults),"
        "int(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1]) >> 10)"
    )
    paths = [str(tmp_path / name) for name in ("a.npy", "a.wav", "a.txt")]
    done = subprocess.run([sys.executable, "-c", code, *paths], capture_output=True, text=True, check=True)
    *found, peak_mib = done.stdout.split()
    assert found == ["silence"] and int(peak_mib) < 150


def test_faults_are_of_known_kinds_and_survive_json() -> None:
    with pytest.raises(ValueError, match="expected one of"):
        Fault("no-such-kind", "x")
    with pytest.raises(ValueError, match="weight"):
        Fault("truncated", "x", weight="heavy")
    found = checked("a.png", jpegs()["baseline.jpg"][:1000], duplicates=True)
    assert found.faults and Checked.from_json(found.to_json()) == found
    assert all(sentence.endswith(".") for sentence in KINDS.values())


def test_names_and_bytes() -> None:
    assert by_name("a/b.tar.gz") == "tar" and by_name("x.csv.gz") == "gzip" and by_name("no") is None
    assert by_name("x.tfrecord-00001-of-00010") == "tfrecord"
    assert by_bytes(b"BMW is a car maker, and this is a text") is None
    assert by_bytes(b"") is None


LEGAL = {
    "frames.mp3": b"\xff\xfb\x90\x64" + bytes(range(256)) * 9,
    "old-frames.mp3": b"\xff\xf3\x40\xc4" + bytes(range(256)) * 9,
    "tagged.mp3": b"ID3\x04\0\0\0\0\0\x0a" + bytes(range(256)) * 9,
    "general.avif": b"\0\0\0\x1cftypmif1" + bytes(range(256)) * 9,
    "encrypted.parquet": b"PARE" + bytes(range(256)) * 9 + b"\x20\0\0\0PARE",
}


@pytest.mark.parametrize("name", LEGAL)
def test_what_has_no_check_is_unchecked_and_not_damage(name: str) -> None:
    assert [(fault.kind, fault.weight) for fault in checked(name, LEGAL[name]).faults] == [("not-checked", "unchecked")]


def test_what_cannot_be_of_its_name_is_damage_still() -> None:
    assert kinds(checked("a.mp3", b"404 not found, sorry\n"), "damage") == {"wrong-extension"}
    assert kinds(checked("a.mp3", bytes(5000)), "damage") == {"zero-filled"}
    assert kinds(checked("a.parquet", b"PARE" + bytes(range(256)) * 9), "damage") == {"truncated"}
    assert kinds(checked("a.tif", b"\xff\xfb\x90\x64" + bytes(range(256)) * 9), "damage") == {"not-decodable"}


def test_large_tiff_files_are_tiff_files() -> None:
    assert checked("a.tif", saved(picture(), "TIFF", big_tiff=True)).format == "tiff"
    assert not checked("a.tif", saved(picture(), "TIFF", big_tiff=True)).damaged


@pytest.mark.parametrize(
    "start", ["ID3 tags", "BZh is a mark", "PARENTS", "PAR1 is", "OggS and", "fLaC, the", "FEA1: x"]
)
def test_text_that_begins_like_a_mark_is_text(start: str) -> None:
    assert checked("a.txt", f"{start} are words of a text\n".encode()).faults == ()


def test_marks_need_what_follows_them() -> None:
    assert by_bytes(b"\xff" * 64) is None and by_bytes(b"\xff\xff\xff\xff" + bytes(60)) is None
    assert by_bytes(bz2.compress(b"x")) == by_bytes(bz2.compress(b"")) == "bzip2"
    assert checked("mask.bin", b"\xff" * 5000).faults[0].weight == "unchecked"


@pytest.mark.parametrize("length", [0x0AFF, 0x8B1F, 0x088B1F, 0x334449])
def test_the_length_of_a_record_is_not_taken_for_the_mark_of_another_format(length: int) -> None:
    data = records([example(x=[bytes(length - len(example(x=[bytes(length - 30)])) + length - 30)])])
    assert int.from_bytes(data[:8], "little") == length
    assert checked("a.tfrecord", data).faults == ()


def test_nothing_heavy_is_imported_before_it_is_needed() -> None:
    code = "import sys, crashcart.probe.file_check; print(*sys.modules)"
    loaded = set(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    )
    assert not loaded & {"numpy", "PIL", "pyarrow", "h5py", "soundfile", "simplejpeg", "tensorflow", "google_crc32c"}
