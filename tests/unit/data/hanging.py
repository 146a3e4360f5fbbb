"""A check that takes for ever to load: always where HANGS names a folder, once where it names a file that is not there yet."""

from __future__ import annotations

import os
import time
from pathlib import Path

from tests.unit.data.checkers import check as check

JOB = "tests.unit.data.hanging:check"

if os.environ.get("HANGS"):
    mark = Path(os.environ["HANGS"])
    if mark.is_dir() or not mark.exists():
        if not mark.is_dir():
            mark.touch()
        time.sleep(600)
