"""A recording that is truncated, corrupt, foreign or newer gets a clear message or partial evidence, never a crash."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import pytest

from crashcart.blackbox.read import read_recording
from crashcart.why import explain
from crashcart.why.collect import collect
from tests.conftest import Crashcart


@pytest.fixture
def recording(crashcart: Crashcart) -> Path:
    folder = crashcart.run("import sys\nprint('x', file=sys.stderr)\nraise ValueError('bad')").folder
    assert folder is not None
    return folder


@pytest.mark.parametrize("seed", range(25))
def test_any_file_damaged_anywhere(recording: Path, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    copy = shutil.copytree(recording, tmp_path / "copy")
    for path in copy.iterdir():
        content = bytearray(path.read_bytes())
        if path.name != "run.json" and content:
            for _ in range(chance.randrange(1, 40)):
                content[chance.randrange(len(content))] = chance.randrange(256)
            path.write_bytes(content[: chance.randrange(len(content) + 1)])
    report = explain(collect(copy))
    assert report.checked or report.unchecked


@pytest.mark.parametrize("name", ["ending.json", "kept.json", "events.ring", "samples.ring", "output"])
def test_any_file_absent(recording: Path, name: str) -> None:
    (recording / name).unlink()
    assert explain(collect(recording)).verdict is not None


def test_each_bad_recording_has_its_own_message_and_exit_code_3(
    crashcart: Crashcart, recording: Path, tmp_path: Path
) -> None:
    empty = tmp_path / "empty-folder"
    empty.mkdir()
    newer = shutil.copytree(recording, tmp_path / "newer")
    run = json.loads((newer / "run.json").read_text())
    (newer / "run.json").write_text(json.dumps({**run, "schema": 7}))
    for folder, words in [(empty, "is no recording"), (newer, "was written in format 7")]:
        done = crashcart("why", str(folder))
        assert done.returncode == 3
        assert words in done.stderr
        assert "Traceback" not in done.stderr
    missing = crashcart("why", "no-such-recording")
    assert missing.returncode == 3
    assert "there is no recording 'no-such-recording'" in missing.stderr


def test_no_recording_yet(crashcart: Crashcart) -> None:
    done = crashcart("why")
    assert done.returncode == 3
    assert "there is no recording yet" in done.stderr
    assert crashcart("list").stdout.startswith("no recordings yet")


def test_a_recording_with_fields_of_a_later_version_is_read(recording: Path) -> None:
    ending = json.loads((recording / "ending.json").read_text())
    ending["ending"]["mood"] = "calm"
    (recording / "ending.json").write_text(json.dumps(ending))
    found = read_recording(recording).ending
    assert found is not None
    assert found.exit_code == 1
