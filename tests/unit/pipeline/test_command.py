"""`crashcart pipeline` and `cc.pipeline` on real files: answers, and errors with their exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from crashcart.errors import CannotCheckError, UsageError
from crashcart.report.pipeline import render_pipeline
from crashcart.report.wrap import cells
from tests.conftest import Crashcart

tf = pytest.importorskip("tensorflow")

SOURCE = """
import tensorflow as tf
D = tf.data.Dataset
def killer():
    big = D.range(10**9).map(lambda i: tf.fill((250_000,), tf.cast(i, tf.float32)))
    return big.shuffle(12_000).batch(32).prefetch(tf.data.AUTOTUNE)
small = D.range(100).batch(10)
def fails():
    raise ValueError("no such folder")
def nothing():
    return None
def needs(folder):
    return D.range(3)
def pair():
    return object(), D.range(3)
def waits():
    import os, tempfile
    pipe = os.path.join(tempfile.mkdtemp(), "pipe")
    os.mkfifo(pipe)
    return D.from_tensor_slices([pipe]).map(tf.io.read_file).batch(1)
def two():
    return {"train": D.range(10).batch(2), "validation": D.range(0).batch(2)}
def grouped():
    return D.range(99).group_by_window(lambda each: each % 2, lambda _, group: group.batch(4), window_size=4)
def different():
    wide = lambda i: tf.random.stateless_uniform([2048], [i, 1], 0, 1 << 30, tf.int32)
    return D.range(40_000).map(wide).unique().batch(64)
def array():
    return D.from_tensor_slices(tf.ones((1000, 12_500))).batch(500)
empty = D.from_tensor_slices(tf.constant([], tf.string)).map(tf.io.read_file).shuffle(10)
"""
TIMEOUT_S = 300


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("user") / "train.py"
    path.write_text(SOURCE)
    return path


def test_a_killer_is_told_with_a_change_that_fits(crashcart: Crashcart, file: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = crashcart("pipeline", f"{file}:killer", "--memory", "8G", "--json", "--html", str(page), timeout_s=TIMEOUT_S)
    assert done.returncode == 1, done.stderr
    document = json.loads(done.stdout)
    assert document["fits"] is False and document["findings"][0]["code"] == "P101"
    assert 12e9 < document["held_bytes"] < document["high_bytes"] < 17e9
    shuffle = next(each for each in document["stages"] if each["name"] == "shuffle(12000)")
    assert 12e9 < shuffle["bytes"] < 12.1e9
    assert any(each["held_bytes"] < 1e9 for each in document["changes"])
    assert document["held_bytes"] == sum(each["bytes"] for each in document["stages"])
    assert "shuffle(12000)" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [
        ("fails", 3, "fails() raised ValueError: no such folder (train.py:9)"),
        ("nothing", 2, "gives None, not a tf.data.Dataset"),
        ("needs", 2, "needs folder"),
        ("smal", 2, "Did you mean"),
    ],
)
def test_what_is_wrong_is_said(crashcart: Crashcart, file: Path, name: str, code: int, said: str) -> None:
    done = crashcart("pipeline", f"{file}:{name}", timeout_s=TIMEOUT_S)
    assert done.returncode == code and said in done.stderr and not done.stdout


def test_wrong_usage_starts_nothing(crashcart: Crashcart, file: Path) -> None:
    for words in (["no_such.py:x"], [f"{file}:small", "--memory", "much"], [f"{file}:small", "--steps", "0"]):
        done = crashcart("pipeline", *words)
        assert done.returncode == 2, done.stderr


def test_a_dataset_that_fits_is_told_in_eighty_columns(crashcart: Crashcart, file: Path) -> None:
    done = crashcart("pipeline", f"{file}:pair", "--memory", "4G", timeout_s=TIMEOUT_S)
    assert done.returncode == 0, done.stderr
    assert "available: fits" in done.stdout
    assert all(cells(line) <= 80 for line in done.stdout.splitlines())


def test_a_live_dataset_is_looked_at_as_it_is() -> None:
    import crashcart as cc

    big = tf.data.Dataset.range(10**9).map(lambda i: tf.fill((250_000,), tf.cast(i, tf.float32))).shuffle(5000)
    found = cc.pipeline(big, memory="2G", steps=10)
    assert found.fits is False and found.verdict is not None and found.verdict.code == "P101"
    assert 5e9 < found.held_bytes < found.high_bytes
    assert "killed while the shuffle buffer fills" in " ".join(str(found).split())
    assert "<table" in found.to_html()
    assert cc.pipeline(lambda: tf.data.Dataset.range(5), memory="2G").fits is True


def test_a_live_question_that_makes_no_sense_is_an_error() -> None:
    import crashcart as cc

    with pytest.raises(UsageError, match=r"expected a tf\.data\.Dataset"):
        cc.pipeline("train.py:make")
    with pytest.raises(UsageError, match=r"not a tf\.data\.Dataset"):
        cc.pipeline(5)
    with pytest.raises(UsageError, match="steps"):
        cc.pipeline(tf.data.Dataset.range(3), steps=0)

    def fails() -> Any:
        raise RuntimeError("broken")

    with pytest.raises(CannotCheckError, match="RuntimeError: broken"):
        cc.pipeline(fails)


@pytest.mark.parametrize("width", [48, 80, 120])
def test_no_line_is_wider_than_asked(width: int) -> None:
    import crashcart as cc

    found = cc.pipeline(tf.data.Dataset.range(10**6).shuffle(10**6).cache().batch(32), memory="700M")
    text = render_pipeline(found.memory, found.report, width, False)
    assert all(cells(line) <= width for line in text.splitlines())
    assert render_pipeline(found.memory, found.report, width, False, ascii_only=True).isascii()


def test_figures_are_those_of_the_text_with_what_was_built(crashcart: Crashcart, file: Path) -> None:
    done = crashcart("pipeline", f"{file}:array", "--memory", "4G", "--json", timeout_s=TIMEOUT_S)
    document = json.loads(done.stdout)
    built = document["stages"][-1]
    assert (built["stage"], built["bytes"]) == ("built", document["built_bytes"]) and built["bytes"] > 40e6
    assert document["held_bytes"] == sum(each["bytes"] for each in document["stages"]) > 60e6
    assert document["high_bytes"] == sum(each["high_bytes"] for each in document["stages"])
    text = crashcart("pipeline", f"{file}:array", "--memory", "4G", timeout_s=TIMEOUT_S).stdout
    said = float(text.split("holds ")[1].split(" MiB")[0])
    assert said == pytest.approx(document["held_bytes"] / (1 << 20), rel=0.1)  # each run measures anew


def test_an_element_that_never_comes_is_a_finding(crashcart: Crashcart, file: Path) -> None:
    done = crashcart("pipeline", f"{file}:waits", "--measure", "1", "--json", timeout_s=TIMEOUT_S)
    assert done.returncode == 1, done.stderr
    (finding,) = [each for each in json.loads(done.stdout)["findings"] if each["code"] == "P115"]
    assert finding["headline"] == "an element of map cannot be had: TimeoutError"


def test_a_dataset_without_elements_is_told(crashcart: Crashcart, file: Path) -> None:
    done = crashcart("pipeline", f"{file}:empty", timeout_s=TIMEOUT_S)
    assert done.returncode == 1, done.stderr
    assert "the dataset has no element (P111)" in done.stdout and "nobody knows" not in done.stdout


def test_each_of_several_datasets_is_judged(crashcart: Crashcart, file: Path) -> None:
    done = crashcart("pipeline", f"{file}:two", "--steps", "100", "--memory", "4G", "--json", timeout_s=TIMEOUT_S)
    assert done.returncode == 1, done.stderr
    said = sorted(each["headline"] for each in json.loads(done.stdout)["findings"] if each["code"] == "P111")
    assert said == [
        "dataset 1 of 2 ends after 5 elements of the 100 that are asked for",
        "dataset 2 of 2 has no element",
    ]


def test_a_stage_whose_share_nobody_knows_is_not_passed(crashcart: Crashcart, file: Path) -> None:
    done = crashcart("pipeline", f"{file}:grouped", "--memory", "4G", timeout_s=TIMEOUT_S)
    assert done.returncode == 3, done.stderr
    assert "nobody knows what group_by_window() will hold" in " ".join(done.stdout.split())
    done = crashcart("pipeline", f"{file}:grouped", "--memory", "4G", "--json", timeout_s=TIMEOUT_S)
    document = json.loads(done.stdout)
    assert (done.returncode, document["findings"], document["fits"]) == (3, [], None)
    (unchecked,) = document["unchecked"]
    assert unchecked["code"] == "P101" and "group_by_window()" in " ".join(unchecked["missing"])
    assert "P101" not in document["checked"]


def test_elements_of_unique_that_may_not_fit_are_told_with_what_to_do(crashcart: Crashcart, file: Path) -> None:
    done = crashcart("pipeline", f"{file}:different", "--memory", "800M", timeout_s=TIMEOUT_S)
    assert done.returncode == 1, done.stderr
    text = " ".join(done.stdout.split())
    assert "may well be killed while the unique buffer fills" in text and "assert_cardinality(n)" in text
