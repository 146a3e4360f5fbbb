"""Labels are found by their name, in large letters or small ones, wherever a format keeps them; else by their number."""

from __future__ import annotations

import io
from pathlib import Path

import h5py
import numpy
import pyarrow
import pyarrow.parquet
import pytest

from tests.unit.probe.made import checked, example, kinds, records, tarred, zipped


def parquet(**columns: list[int]) -> bytes:
    file = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns), file)
    return file.getvalue()


def npz(**arrays: list[int]) -> bytes:
    file = io.BytesIO()
    numpy.savez(file, **{name: numpy.array(values) for name, values in arrays.items()})  # type: ignore[arg-type]
    return file.getvalue()


@pytest.mark.parametrize("wished", [None, "label", "LABEL"])
@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("a.csv", b"id,Label\n1,2\n2,9\n"),
        ("a.jsonl", b'{"id": 1}\n{"id": 1, "Label": 2}\n{"id": 2, "Label": 9}\n'),
        ("a.parquet", parquet(id=[1, 2], Label=[2, 9])),
        ("a.tfrecord", records([example(Label=[2]), example(Label=[9])])),
        ("a.npz", npz(id=[1, 2], Label=[2, 9])),
        ("a.zip", zipped({"x.csv": b"id,label\n1,2\n", "y.csv": b"id,label\n2,9\n"})),
        ("a.tar", tarred({"x.csv": b"id,label\n1,2\n", "y.csv": b"id,label\n2,9\n"})),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_labels_are_found_whatever_the_size_of_letters(path: str, data: bytes, wished: str | None) -> None:
    found = checked(path, data, classes=4, label=wished)
    assert kinds(found) == {"label-out-of-range"}
    assert (found.facts["label_min"], found.facts["label_max"]) == (2, 9)
    assert checked(path, data, classes=10, label=wished).faults == ()


def test_the_name_as_it_was_typed_comes_first() -> None:
    assert checked("a.csv", b"Kind,kind\n7,1\n", label="kind").facts["label_max"] == 1
    assert checked("a.csv", b"Kind,kind\n7,1\n", label="KIND").facts["label_max"] == 7


def test_a_column_without_a_name_is_named_by_its_number_from_1() -> None:
    bare = b"1,5,x\n2,6,y\n"
    assert checked("a.csv", bare, label="2").facts["label_max"] == 6
    assert kinds(checked("a.csv", bare, classes=6, label="2")) == {"label-out-of-range"}
    assert checked("a.csv", b"id,kind\n1,5\n", label="2").facts["label_max"] == 5
    assert checked("a.csv", b"2,kind\n1,5\n", label="1").facts["label_max"] == 2, (
        "the first row holds a number: no names"
    )
    for wished in (None, "0", "4", "kind"):
        assert "label_max" not in checked("a.csv", bare, label=wished).facts


@pytest.mark.parametrize("wished", [None, "Labels", "train/labels", "/train/labels"])
def test_labels_in_hdf5(tmp_path: Path, wished: str | None) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["train/labels"] = numpy.array([[1, 2], [3, 9]])
        file["train/empty_labels"] = numpy.array([], dtype="int64")
        file["train/x"] = numpy.array([100])
    data = (tmp_path / "a.h5").read_bytes()
    found = checked("a.h5", data, classes=4, label=wished)
    (fault,) = found.faults
    assert (fault.kind, fault.where, fault.count) == ("label-out-of-range", "/train/labels", 1)
    assert (found.facts["label_min"], found.facts["label_max"]) == (1, 9)
    assert checked("a.h5", data, classes=10, label=wished).faults == ()
