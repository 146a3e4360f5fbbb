"""Where a function was written, as people would say it: the file and the line, or the cell of the notebook.

Covers: functions of files and of cells that this kernel ran. Does not cover: cells of other kernels (`blackbox/cells.py`).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import CodeType
from typing import Any

_NOT_THE_USERS = ("site-packages", "dist-packages", "/crashcart/")


def place_of(function: Any) -> str | None:
    """`train.py:12` or `cell [7]:3`; None where nothing is known, and for code that is not the user's."""
    code = getattr(getattr(function, "__wrapped__", function), "__code__", None)
    if not isinstance(code, CodeType):
        return None
    if any(each in code.co_filename for each in _NOT_THE_USERS):
        return None
    return f"{_cell(code.co_filename) or _short(code.co_filename)}:{code.co_firstlineno}"


def _short(file: str) -> str:
    """From the working directory where it lies below that, else its name."""
    below = os.path.relpath(file)
    return Path(file).name if below.startswith(os.pardir) else below


def _cell(file: str) -> str | None:
    """The cell that has this file name for its code."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    numbers = getattr(getattr(shell, "compile", None), "_filename_map", {})
    return f"cell [{numbers[file]}]" if file in numbers else None
