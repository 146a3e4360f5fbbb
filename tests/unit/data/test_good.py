"""The list of good files: what is in it can be read by training, and nothing else is in it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from tests.conftest import ROOT, Crashcart


@pytest.fixture
def data(crashcart: Crashcart) -> Path:
    folder = crashcart.scratch / "data"
    (folder / "sub").mkdir(parents=True)
    Image.new("RGB", (8, 8), "red").save(folder / "a.jpg")
    Image.new("RGB", (8, 8), "blue").save(folder / "sub" / "b.PNG", "png")
    return folder


def good(crashcart: Crashcart, data: Path) -> list[str]:
    return [str(Path(line).relative_to(data)) for line in (crashcart.scratch / "good.txt").read_text().splitlines()]


def test_a_folder_that_a_link_leads_back_to_is_no_file(crashcart: Crashcart, data: Path) -> None:
    (data / "sub" / "up").symlink_to("..")
    done = crashcart("data", str(data), "--good", "good.txt")
    assert done.returncode == 0, done.stdout
    assert "all 2 files are sound" in done.stdout and "links back to a folder that they lie in" in done.stdout
    assert good(crashcart, data) == ["a.jpg", "sub/b.PNG"]


def test_what_tensorflow_does_not_read_is_not_good_and_is_not_moved(crashcart: Crashcart, data: Path) -> None:
    Image.new("RGB", (8, 8), "red").save(data / "c.tiff")
    Image.new("1", (8, 8)).save(data / "d.bmp")
    done = crashcart("data", str(data), "--good", "good.txt", "--quarantine", "bad")
    assert done.returncode == 1 and "all 4 files are sound, 2 of them not for TensorFlow" in done.stdout
    assert "2 files that TensorFlow does not read: not in it" in " ".join(done.stdout.split())
    assert good(crashcart, data) == ["a.jpg", "sub/b.PNG"]
    assert (data / "c.tiff").exists() and (data / "d.bmp").exists()
    read = json.loads(crashcart("data", str(data), "--json").stdout)
    assert (read["good_files"], read["foreign_files"], read["damaged_files"], read["unchecked_files"]) == (2, 2, 0, 0)
    assert read["known_files"] == 4
    alone = crashcart("data", str(data / "c.tiff"))
    assert (alone.returncode, alone.stdout.splitlines()[0]) == (1, "1 file is sound, but not for TensorFlow")


def test_labels_that_are_alike_in_train_and_val_are_no_finding(crashcart: Crashcart, data: Path) -> None:
    for part in ("train", "val"):
        (data / part).mkdir()
        (data / part / "0.txt").write_text("0 0.5 0.5 1 1\n")
    done = crashcart("data", str(data))
    assert done.returncode == 0, done.stdout
    assert "1 file of text, or of a few bytes, is a copy of another" in done.stdout
    assert "keep one of each" not in done.stdout
    for part in ("train", "val"):
        Image.effect_noise((64, 64), 90).resize((64, 64)).save(data / part / "0.png")
    (data / "val" / "0.png").write_bytes((data / "train" / "0.png").read_bytes())
    done = crashcart("data", str(data))
    assert done.returncode == 1 and "1 group lies in train and val" in " ".join(done.stdout.split())


def test_the_recipe_of_the_page_reads_images_beside_a_table(crashcart: Crashcart, data: Path) -> None:
    pytest.importorskip("tensorflow")
    (data / "labels.csv").write_text("name,label\na.jpg,0\nsub/b.PNG,1\n")
    (data / "empty.jpg").touch()
    assert crashcart("data", str(data), "--good", "good.txt").returncode == 1
    assert "labels.csv" in good(crashcart, data), "a table is a good file, and no picture"
    page = (ROOT / "docs" / "data.md").read_text(encoding="utf-8")
    recipe = re.search(r"((?: {4}.*\n)*    files = tf.data.TextLineDataset.*\n(?: {4}.*\n)*)", page)
    assert recipe is not None
    lines = "\n".join(line[4:] for line in recipe[1].splitlines())
    program = f"import tensorflow as tf\n{lines}\nprint(sorted(tuple(each.shape) for each in images))\n"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=crashcart.environment,
        cwd=crashcart.scratch,
        capture_output=True,
        text=True,
    )
    assert done.stdout == "[(8, 8, 3), (8, 8, 3)]\n", done.stderr
