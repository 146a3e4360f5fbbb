"""`--classes` and `--label`, as a user gives them: what matches nothing is no pass."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Crashcart


@pytest.fixture
def data(crashcart: Crashcart) -> Path:
    folder = crashcart.scratch / "data"
    folder.mkdir()
    (folder / "a.txt").write_text("a note\n")
    return folder


@pytest.mark.parametrize(
    ("table", "arguments", "code"),
    [
        ("id,label\n1,2\n", ["--label", "labl"], 3),
        ("id,label\n1,2\n", ["--label", "label"], 0),
        ("id,label\n1,9\n", ["--label", "label"], 1),
        ("id,Label\n1,9\n", [], 1),
        ("id,Label\n1,2\n", [], 0),
        ("1,2\n2,3\n", [], 3),
        ("1,2\n2,3\n", ["--label", "2"], 0),
        ("1,2\n2,9\n", ["--label", "2"], 1),
        ("1,2\n2,9\n", ["--label", "7"], 3),
        ("id,label\n1,cat\n", [], 3),
    ],
    ids=["misspelt", "there", "there, wrong", "large letter, wrong", "large letter", "no names", "number", "number, wrong",
         "no such number", "words"],
)  # fmt: skip
def test_labels_of_a_table(crashcart: Crashcart, data: Path, table: str, arguments: list[str], code: int) -> None:
    (data / "t.csv").write_text(table)
    done = crashcart("data", str(data), "--classes", "4", *arguments)
    assert done.returncode == code, done.stdout
    assert ("no label was found: --classes 4" in done.stdout) is (code == 3)
    assert ("labels were not checked" in done.stdout.splitlines()[0]) is (code == 3)


def test_what_was_found_besides_counts_for_more(crashcart: Crashcart, data: Path) -> None:
    (data / "empty.png").touch()
    done = crashcart("data", str(data), "--label", "labl", "--json")
    read = json.loads(done.stdout)
    assert (done.returncode, read["label"], read["classes"], read["label_files"]) == (1, "labl", None, 0)
    assert {each["code"] for each in read["findings"]} == {"S102", "S116"}
