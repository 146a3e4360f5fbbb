"""`crashcart doctor FILE`: what it prints, and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from crashcart.cli.main import main


def ask(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    capsys.readouterr()
    status = main(["doctor", *words])
    out, err = capsys.readouterr()
    return status, out, err


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_plan_without_a_cap_on_numpy(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "requirements.txt").write_text("tensorflow==2.10\n")
    status, out, _ = ask(capsys, "requirements.txt", "--python-version", "3.10")
    assert status == 1
    assert "pip would choose numpy 2." in out
    assert "in requirements.txt: numpy==1." in out


def test_the_change_stands_with_its_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "requirements.txt").write_text("# ours\ntensorflow==2.15.0\nnumpy>=2\n")
    status, out, _ = ask(capsys, "requirements.txt", "--python-version", "3.11", "--json")
    document = json.loads(out)
    finding = document["findings"][0]
    assert (status, finding["code"], finding["confidence"]) == (1, "D701", "certain")
    assert finding["remedy"][0] == "in requirements.txt line 3, instead of numpy>=2: numpy==1.26.4"
    assert document["subject"] == "requirements.txt (Python 3.11, tensorflow 2.15.0)"


def test_two_files_are_judged_together(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a.txt").write_text("tensorflow==2.15.0\n")
    (folder / "b.txt").write_text("numpy>=2\n")
    assert ask(capsys, "a.txt", "--python-version", "3.11")[0] == 0
    status, out, _ = ask(capsys, "a.txt", "b.txt", "--python-version", "3.11")
    assert status == 1 and "a.txt, b.txt cannot be installed" in out


def test_a_plan_without_tensorflow_says_so(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "requirements.txt").write_text("flask\n")
    status, out, _ = ask(capsys, "requirements.txt")
    assert status == 0 and "no TensorFlow" in " ".join(out.split())


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["nowhere.txt"], 3, "No such file"),
        (["empty.txt"], 3, "is empty"),
        (["binary.txt"], 3, "not text"),
        (["broken.toml"], 3, "not valid TOML"),
        (["broken.yml"], 3, "not understood"),
        (["good.txt", "--python-version", "2.7"], 2, "no version of Python 3"),
        (["good.txt", "--python-version", "3.99"], 2, "is not known"),
        (["good.txt", "--python-version", "eleven"], 2, "no version of Python 3"),
        (["--python-version", "3.11"], 2, "is for a plan"),
        (["good.txt", "--python", "/nowhere/python"], 3, "cannot be asked"),
    ],
)
def test_bad_input(folder: Path, capsys: pytest.CaptureFixture[str], words: list[str], status: int, said: str) -> None:
    (folder / "good.txt").write_text("tensorflow\n")
    (folder / "empty.txt").write_text("")
    (folder / "binary.txt").write_bytes(bytes(range(256)))
    (folder / "broken.toml").write_text("[project\n")
    (folder / "broken.yml").write_text("a: [\n  b\n}\n")
    found, out, err = ask(capsys, *words)
    assert (found, out) == (status, "")
    assert said in err and "Traceback" not in err and len(err.splitlines()) == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["good.txt", "train.py"], "good.txt is a plan and train.py is code"),
        (["good.txt", "nosuchfile.py"], "good.txt is a plan and nosuchfile.py is code"),
        (["--import", "good.txt"], "--import needs what is installed"),
    ],
)
def test_nothing_that_was_asked_is_left_out_in_silence(
    folder: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    (folder / "good.txt").write_text("tensorflow\n")
    (folder / "train.py").write_text("import tensorflow\n")
    found, out, err = ask(capsys, *words)
    assert (found, out) == (2, "")
    assert said in err and len(err.splitlines()) == 2


def test_no_secret_of_a_plan_gets_into_any_report(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "environment.yml").write_text(
        "dependencies:\n  - python=3.11\n  - numpy\n  - pip:\n    - tensorflow==2.15.0\n"
        "    - -e git+https://me:hunter2@code.example/it.git\n"
        "variables:\n  AWS_SECRET_ACCESS_KEY: hunter2\n  TF_TOKEN: hunter2\n  TF_FORCE_GPU_ALLOW_GROWTH: 'true'\n"
    )
    _, text, _ = ask(capsys, "environment.yml", "--html", "page.html")
    _, document, _ = ask(capsys, "environment.yml", "--json")
    page = (folder / "page.html").read_text()
    assert "[redacted]@code.example" in "".join(text.split())
    assert "TF_FORCE_GPU_ALLOW_GROWTH" in page
    for each in (text, document, page):
        assert "hunter2" not in each and "AWS_SECRET_ACCESS_KEY" not in each


def test_a_file_that_includes_itself_is_said_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "requirements.txt").write_text("tensorflow\n-r requirements.txt\n-c requirements.txt\n-r more.txt\n")
    (folder / "more.txt").write_text("-r requirements.txt\n")
    status, out, _ = ask(capsys, "requirements.txt", "--python-version", "3.11", "--json")
    headlines = [each["headline"] for each in json.loads(out)["findings"] if each["code"] == "D701"]
    assert (status, headlines) == (1, ["requirements.txt cannot be installed: a file includes itself"])
