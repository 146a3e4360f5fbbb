"""NaN and infinite values are found however deep they lie, and in nothing but values."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy
import pyarrow
import pyarrow.compute
import pyarrow.ipc
import pyarrow.parquet
import pytest

from crashcart.probe.file_finite import column_not_finite, not_finite
from tests.unit.probe.made import checked, kinds

h5py = pytest.importorskip("h5py")
NAN = float("nan")
ITEM = pyarrow.list_(pyarrow.float32(), 2)
TENSOR = pyarrow.fixed_shape_tensor(pyarrow.float32(), (2,))


def columns(value: float) -> dict[str, Any]:
    """One of each kind; the value is in each of them once."""
    one, half = [[1.0, value], None, []], pyarrow.float16()
    pairs = pyarrow.map_(pyarrow.string(), pyarrow.float32())
    return {
        "list": pyarrow.array(one),
        "large list of lists": pyarrow.array([one], pyarrow.large_list(pyarrow.list_(pyarrow.float64()))),
        "list of a fixed size": pyarrow.array([[1.0, value], None], ITEM),
        "struct": pyarrow.array([{"a": 1.0, "b": "x"}, {"a": value, "b": None}, None]),
        "struct of a list": pyarrow.array([{"a": [1.0, value]}, {"a": None}]),
        "half": pyarrow.array(numpy.array([1, value, 2], "f2")),
        "list of half": pyarrow.array([[numpy.float16(value)]], pyarrow.list_(half)),
        "map": pyarrow.array([[("a", 1.0)], [("b", value)], None], pairs),
        "dictionary": pyarrow.array([1.0, value, 1.0]).dictionary_encode(),
        "tensor": pyarrow.ExtensionArray.from_storage(TENSOR, pyarrow.array([[1.0, value]], ITEM)),
        "run ends": pyarrow.compute.run_end_encode(pyarrow.array([1.0, 1.0, value])),
        "plain": pyarrow.array([None, value, 1.0]),
    }


@pytest.mark.parametrize("kind", columns(0))
def test_columns_of_any_kind(kind: str) -> None:
    assert column_not_finite(columns(NAN)[kind]) == 1
    assert column_not_finite(columns(float("-inf"))[kind]) == 1
    assert column_not_finite(columns(2.5)[kind]) == 0


def test_what_lies_outside_of_a_part_is_not_counted() -> None:
    for kind in ("list", "struct", "map", "list of a fixed size"):
        column = columns(NAN)[kind]
        assert column_not_finite(column.slice(len(column) - 1)) == 0, kind
    assert column_not_finite(pyarrow.array(["a", None])) == column_not_finite(pyarrow.array([[1], None])) == 0


def parquet(columns: dict[str, Any]) -> bytes:
    held = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns), held)
    return held.getvalue()


@pytest.mark.parametrize("kind", ["list", "struct", "struct of a list", "half", "list of half", "map", "tensor"])
def test_nested_values_of_parquet_files(kind: str) -> None:
    found = checked("a.parquet", parquet({"x": columns(NAN)[kind]}))
    assert kinds(found, "odd") == kinds(found) == {"nan"}
    assert found.faults[0].count == 1 and "'x'" in found.faults[0].detail
    assert checked("a.parquet", parquet({"x": columns(0.5)[kind]})).faults == ()


def structured(value: float) -> numpy.ndarray:
    kind = numpy.dtype([("id", "i4"), ("inner", [("x", "f2"), ("y", "f8", (3,))]), ("name", "S3")])
    made = numpy.zeros(50, kind)
    made["inner"]["y"][7, 1] = made["inner"]["x"][9] = value
    return made


def test_structured_arrays_of_numpy() -> None:
    held = {value: io.BytesIO() for value in (NAN, 1.0)}
    for value, file in held.items():
        numpy.save(file, structured(value))
    found = checked("a.npy", held[NAN].getvalue())
    assert [(f.kind, f.where, f.weight, f.count) for f in found.faults] == [("nan", "value 7", "odd", 2)]
    assert found.faults[0].detail == "2 values are NaN or infinite"
    assert checked("a.npy", held[1.0].getvalue()).faults == ()
    assert not_finite(structured(NAN)) == (2, 7)


def hdf5(path: Path, value: float) -> bytes:
    with h5py.File(path, "w") as file:
        file["compound"] = structured(value)
        file["array"] = numpy.zeros(4, numpy.dtype([("a", "f4", (2, 2))]))
        file["one"] = structured(value)[7]
        loose = file.create_dataset("loose", (3,), dtype=h5py.vlen_dtype("f4"))
        loose[1] = numpy.array([1, value], "f4")
        file.create_dataset("words", data=["a", "nan"], dtype=h5py.string_dtype())
    return path.read_bytes()


def test_compounds_and_arrays_of_hdf5(tmp_path: Path) -> None:
    found = checked("a.h5", hdf5(tmp_path / "a.h5", NAN))
    assert kinds(found, "odd") == kinds(found) == {"nan"}
    assert found.faults[0].count == 2 + 1 + 1
    assert checked("a.h5", hdf5(tmp_path / "b.h5", 3.5)).faults == ()


def test_values_that_numpy_has_no_type_for_are_not_checked(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        space = h5py.h5s.create_simple((2,))
        h5py.h5d.create(file.id, b"times", h5py.h5t.UNIX_D32LE, space)
        file["x"] = [1.0, NAN]
    found = checked("a.h5", (tmp_path / "a.h5").read_bytes())
    assert kinds(found, "unchecked") == {"not-checked"} and kinds(found, "odd") == {"nan"} and not found.damaged


def test_kinds_that_this_pyarrow_does_not_read_are_not_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: object, *_: object, **__: object) -> None:
        raise pyarrow.ArrowNotImplementedError("Support for codec 'lzo' not built")

    monkeypatch.setattr(pyarrow.parquet.ParquetFile, "iter_batches", refuse)
    found = checked("a.parquet", parquet({"x": [1, 2]}))
    assert kinds(found) == kinds(found, "unchecked") == {"not-checked"} and "lzo" in found.faults[0].detail
