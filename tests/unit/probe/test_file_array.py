from __future__ import annotations

import base64
import io
import subprocess
import sys
from pathlib import Path

import numpy
import pyarrow
import pyarrow.feather
import pyarrow.parquet
import pytest

from crashcart.probe.file_check import check
from crashcart.probe.file_source import LocalFile
from crashcart.sound import Wanted
from tests.unit.probe.made import checked, damages, flipped, kinds

h5py = pytest.importorskip("h5py")


def npy(array: numpy.ndarray) -> bytes:
    held = io.BytesIO()
    numpy.save(held, array)
    return held.getvalue()


def npz(compressed: bool = False, **arrays: numpy.ndarray) -> bytes:
    held = io.BytesIO()
    (numpy.savez_compressed if compressed else numpy.savez)(held, **arrays)
    return held.getvalue()


RANDOM = numpy.random.default_rng(0)
VALUES = RANDOM.random((500, 20))
ARRAYS = {
    "floats.npy": npy(VALUES),
    "fortran.npy": npy(numpy.asfortranarray(VALUES)),
    "scalar.npy": npy(numpy.array(3)),
    "empty.npy": npy(numpy.zeros((0, 3))),
    "strings.npy": npy(numpy.array(["a", "bc"])),
    "fields.npy": npy(numpy.zeros(3, [("a", "f4"), ("b", "i8")])),
    "dates.npy": npy(numpy.array(["2024-01-01"], "datetime64[D]")),
    "two.npy": npy(VALUES) + npy(VALUES),
    "a.npz": npz(x=VALUES, y=numpy.arange(5)),
    "packed.npz": npz(True, x=VALUES),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_clean_arrays_have_no_fault(name: str) -> None:
    assert checked(name, ARRAYS[name]).faults == ()


def test_arrays_tell_their_shape() -> None:
    facts = checked("a.npy", ARRAYS["floats.npy"]).facts
    assert (facts["dtype"], facts["shape"]) == ("float64", [500, 20])
    assert checked("a.npz", ARRAYS["a.npz"]).facts["arrays"]["y"] == {"dtype": "int64", "shape": [5]}


def test_arrays_that_are_cut_or_broken_are_damage() -> None:
    data = ARRAYS["floats.npy"]
    for cut in (3, 8, 60, 127, 129, 5000, len(data) - 1):
        assert checked("a.npy", data[:cut]).damaged, cut
        if cut > 127:
            assert checked("a.npy", data[:cut], quick=True).damaged, cut
    assert kinds(checked("a.npy", data.replace(b"<f8", b"<q9"))) == {"not-decodable"}
    packed = ARRAYS["a.npz"]
    assert kinds(checked("a.npz", packed[:-40]), "damage") == {"truncated"}
    assert kinds(checked("a.npz", flipped(packed, 5000, 1)), "damage") == {"crc-mismatch"}
    assert kinds(checked("a.npy", data + b"more"), "odd") == {"trailing-bytes"}


def test_values_that_are_not_finite_and_labels() -> None:
    fault = checked("a.npy", npy(numpy.array([1.0, numpy.nan, numpy.inf]))).faults[0]
    assert (fault.kind, fault.count, fault.where, fault.weight) == ("nan", 2, "value 1", "odd")
    labels = npy(numpy.array([0, 4, 9]))
    assert checked("labels.npy", labels, classes=10).faults == ()
    fault = checked("labels.npy", labels, classes=5).faults[0]
    assert (fault.kind, fault.where) == ("label-out-of-range", "value 2")
    assert checked("images.npy", labels, classes=5).faults == ()
    assert kinds(checked("a.npz", npz(x=VALUES, y=numpy.array([7])), classes=5)) == {"label-out-of-range"}


def test_objects_are_not_loaded() -> None:
    class Trap:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return exec, ("raise SystemExit('code from a file ran')",)

    data = npy(numpy.array([Trap()], dtype=object))
    found = checked("a.npy", data)
    assert kinds(found, "unchecked") == {"needs-pickle"} and not found.good
    assert "needs-pickle" in kinds(checked("a.npz", npz(x=numpy.array([Trap()], dtype=object))))


TABLE = pyarrow.table(
    {
        "a": list(range(3000)),
        "x": RANDOM.random(3000),
        "s": [str(n) for n in range(3000)],
        "label": [n % 3 for n in range(3000)],
    }
)


def parquet(table: pyarrow.Table, **options: object) -> bytes:
    held = io.BytesIO()
    pyarrow.parquet.write_table(table, held, **options)
    return held.getvalue()


def arrow(table: pyarrow.Table, stream: bool = False) -> bytes:
    held = io.BytesIO()
    with (pyarrow.ipc.new_stream if stream else pyarrow.ipc.new_file)(held, table.schema) as writer:
        writer.write_table(table, 500)
    return held.getvalue()


def feather(table: pyarrow.Table, **options: object) -> bytes:
    held = io.BytesIO()
    pyarrow.feather.write_feather(table, held, **options)
    return held.getvalue()


TABLES = {
    "a.parquet": parquet(TABLE),
    "groups.parquet": parquet(TABLE, row_group_size=700, compression="zstd", write_page_checksum=True),
    "plain.parquet": parquet(TABLE, compression="none", use_dictionary=False),
    "a.arrow": arrow(TABLE),
    "stream.arrow": arrow(TABLE, stream=True),
    "a.feather": feather(TABLE),
    "packed.feather": feather(TABLE, compression="zstd"),
}


@pytest.mark.parametrize("name", TABLES)
def test_clean_tables_have_no_fault(name: str, tmp_path: object) -> None:
    found = checked(name, TABLES[name])
    assert found.faults == ()
    assert found.facts["rows"] == 3000 and found.facts["columns"]["x"] == "double"
    assert (found.facts["label_min"], found.facts["label_max"]) == (0, 2)


@pytest.mark.parametrize("name", TABLES)
def test_tables_that_are_cut_are_damage(name: str) -> None:
    data = TABLES[name]
    for cut in range(20, len(data) - 9, len(data) // 15):
        assert checked(name, data[:cut]).damaged, cut


def test_a_stream_that_does_not_end_as_it_should() -> None:
    data = TABLES["stream.arrow"]
    assert kinds(checked("a.arrow", data[:-8]), "odd") == {"truncated"}
    half = len(data) // 2 // 8 * 8
    assert checked("a.arrow", data[:half] + bytes(len(data) - half)).damaged


def test_a_stream_without_an_end_mark_may_end_in_zeros(tmp_path: Path) -> None:
    whole = arrow(pyarrow.table({"x": pyarrow.array([0] * 64, "int64")}), stream=True)
    assert not any(whole[-16:-8])
    for data in (whole[:-8], whole + bytes(512), whole + whole):
        found = checked("a.arrow", data)
        assert found.good and found.faults, found
    for data in (whole[:-8] + bytes(8), whole[:-8] + bytes(512)):
        assert kinds(checked("a.arrow", data), "damage") == {"zero-filled"}
        (tmp_path / "a.arrow").write_bytes(data)
        assert kinds(check(LocalFile(str(tmp_path / "a.arrow")), Wanted()), "damage") == {"zero-filled"}


@pytest.mark.parametrize("plain_footer", [True, False])
def test_encrypted_parquet_files_are_unchecked(plain_footer: bool) -> None:
    encryption = pytest.importorskip("pyarrow.parquet.encryption")

    class Keys(encryption.KmsClient):  # type: ignore[misc, name-defined]
        def __init__(self, _: object) -> None:
            super().__init__()

        def wrap_key(self, key: bytes, _: str) -> bytes:
            return base64.b64encode(key)

    asked = encryption.EncryptionConfiguration(
        footer_key="f", column_keys={"c": ["x"]}, plaintext_footer=plain_footer
    )  # fmt: skip
    factory = encryption.CryptoFactory(Keys)
    properties = factory.file_encryption_properties(encryption.KmsConnectionConfig(), asked)
    held = io.BytesIO()
    with pyarrow.parquet.ParquetWriter(held, TABLE.schema, encryption_properties=properties) as writer:
        writer.write_table(TABLE)
    found = checked("a.parquet", held.getvalue())
    assert kinds(found) == kinds(found, "unchecked") == {"not-checked"}


def test_page_checksums_find_every_flipped_bit() -> None:
    data = TABLES["groups.parquet"]
    for at in range(100, 8000, 701):
        assert checked("a.parquet", flipped(data, at, 3)).damaged, at


def test_values_of_tables() -> None:
    nan = parquet(pyarrow.table({"x": [1.0, float("nan"), None]}))
    assert kinds(checked("a.parquet", nan), "odd") == {"nan"}
    assert checked("a.parquet", parquet(pyarrow.table({"x": [1.0, None]}))).faults == ()
    assert kinds(checked("a.parquet", TABLES["a.parquet"], classes=2)) == {"label-out-of-range"}
    assert checked("a.parquet", TABLES["a.parquet"], classes=3).faults == ()


def hdf5(path: object, **options: object) -> bytes:
    with h5py.File(path, "w") as file:
        file["plain"] = VALUES
        file.create_dataset("group/packed", data=VALUES, chunks=(50, 20), compression="gzip", fletcher32=True)
        file["text"] = "words"
        file["again"] = h5py.SoftLink("/plain")
        file.create_dataset("strings", data=["a", "bc"], dtype=h5py.string_dtype())
        file.create_dataset("none", data=h5py.Empty("f4"))
    with open(path, "rb") as held:
        return held.read()


def test_hdf5_files_are_read_data_set_by_data_set(tmp_path: object) -> None:
    path = f"{tmp_path}/a.h5"
    data = hdf5(path)
    assert checked("a.h5", data).faults == ()
    found = check(LocalFile(path), Wanted())
    assert found.faults == () and found.facts["datasets"]["/group/packed"] == ["float64", [500, 20]]
    for cut in (30, 500, 5000, len(data) - 2000):
        assert checked("a.h5", data[:cut]).damaged, cut
    with h5py.File(path, "r") as file:
        place = file["group/packed"].id.get_chunk_info(2)
    assert checked("a.h5", flipped(data, place.byte_offset + 100, 0)).damaged


def test_hdf5_links_and_values(tmp_path: object) -> None:
    path = f"{tmp_path}/a.h5"
    with h5py.File(path, "w") as file:
        file["x"] = numpy.array([numpy.nan])
        file["lost"] = h5py.SoftLink("/nowhere")
        file["away"] = h5py.ExternalLink("other.h5", "/x")
    found = check(LocalFile(path), Wanted())
    assert kinds(found, "odd") == {"nan", "not-decodable"} and kinds(found, "unchecked") == {"not-checked"}


def test_large_data_sets_are_read_in_parts(tmp_path: object) -> None:
    from crashcart.probe.file_hdf5 import _slices

    parts = list(_slices((5, 1000, 10), 2500))
    covered = numpy.zeros((5, 1000, 10), int)
    for part in parts:
        assert covered[part].size <= 2500
        covered[part] += 1
    assert (covered == 1).all()


def test_values_of_any_length_are_read_a_few_at_a_time(tmp_path: object) -> None:
    from crashcart.probe.file_hdf5 import _LOOSE_VALUES, _parts

    with h5py.File(f"{tmp_path}/a.h5", "w") as file:
        made = file.create_dataset("x", (2000,), dtype=h5py.vlen_dtype("u1"), chunks=(1500,))
        made[0] = numpy.arange(9, dtype="u1")
        file.create_dataset("one", data="words")
    with h5py.File(f"{tmp_path}/a.h5", "r") as file:
        sizes = [file["x"][part].size for part in _parts(file["x"])]
        assert list(_parts(file["one"])) == [()]
    assert sum(sizes) == 2000 and max(sizes) <= _LOOSE_VALUES
    assert check(LocalFile(f"{tmp_path}/a.h5"), Wanted()).faults == ()


NARROW = """
import re, resource, sys
import h5py, numpy, pyarrow.parquet, pyarrow.compute, pyarrow.ipc
from crashcart.probe.file_check import check
from crashcart.probe.file_source import LocalFile
from crashcart.sound import Wanted
held_bytes = int(re.search(r"VmSize:\\s+(\\d+)", open("/proc/self/status").read())[1]) << 10
resource.setrlimit(resource.RLIMIT_AS, (held_bytes + (100 << 20),) * 2)
try:
    print(*(fault.kind + " " + fault.weight for fault in check(LocalFile(sys.argv[1]), Wanted()).faults))
except MemoryError:
    print("MemoryError")
"""


def in_a_narrow_process(path: str) -> str:
    done = subprocess.run([sys.executable, "-c", NARROW, path], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_a_process_without_memory_says_nothing_against_an_hdf5_file(tmp_path: object) -> None:
    path = f"{tmp_path}/a.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", (1 << 29,), "u1", chunks=(1 << 29,))
    assert in_a_narrow_process(path) == "MemoryError"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", (1 << 29,), "u1", chunks=(1 << 20,))
    assert in_a_narrow_process(path) == ""


def test_a_process_without_memory_says_nothing_against_a_parquet_file(tmp_path: object) -> None:
    path = f"{tmp_path}/a.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"x": [b"\0" * (200 << 20)]}), path, compression="zstd")
    assert in_a_narrow_process(path) == "MemoryError"
    pyarrow.parquet.write_table(pyarrow.table({"x": [b"\0" * (2 << 20)]}), path, compression="zstd")
    assert in_a_narrow_process(path) == ""


def test_large_rows_are_read_few_at_a_time(tmp_path: object) -> None:
    from crashcart.probe.file_arrow import _BATCH_BYTES, _batch_rows

    path = f"{tmp_path}/a.parquet"
    values = [bytes([number]) * (1 << 20) for number in range(40)]
    pyarrow.parquet.write_table(pyarrow.table({"x": values}), path, use_dictionary=False)
    assert _batch_rows(pyarrow.parquet.ParquetFile(path).metadata) * (1 << 20) <= _BATCH_BYTES
    assert check(LocalFile(path), Wanted()).facts["rows"] == 40
    assert _batch_rows(pyarrow.parquet.ParquetFile(io.BytesIO(TABLES["a.parquet"])).metadata) > 3000


def test_no_damage_makes_the_check_itself_fail() -> None:
    held = {**ARRAYS, **TABLES}
    for place, (name, data) in enumerate(held.items()):
        for kind, changed in damages(data, 6, place):
            for fault in checked(name, changed).faults:
                assert "the check failed" not in fault.detail, (name, kind, fault)
