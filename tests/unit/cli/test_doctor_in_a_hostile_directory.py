"""`python -m crashcart doctor` in a directory whose files hide modules, of Python itself or of TensorFlow."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

STANDARD = ("random", "json", "platform", "argparse", "subprocess", "pathlib", "logging")


def test_files_that_hide_modules_are_found_and_do_not_stop_the_command(tmp_path: Path) -> None:
    for name in (*STANDARD, "numpy"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('hidden')\n")
    command = [sys.executable, "-m", "crashcart", "doctor", "--json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=100)
    assert done.returncode == 1, done.stderr
    found = [each for each in json.loads(done.stdout)["findings"] if each["code"] == "D109"]
    assert [each["headline"] for each in found if "numpy" in each["headline"]] == [
        f"{tmp_path / 'numpy.py'} hides the installed numpy"
    ]
    assert "hide modules of Python itself" in " ".join(each["headline"] for each in found)
    assert str(tmp_path / "random.py") in " ".join(line for each in found for line in each["because"])
