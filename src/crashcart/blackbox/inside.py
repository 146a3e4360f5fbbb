"""Modules that are loaded by their file, as the start-up hook loads them inside of programs.

Covers: `load`, for a process that runs already.
Does not cover: the hook's own way, which has no package to import from.
"""

from __future__ import annotations

import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType


def load(path: Path) -> ModuleType:
    """The module of a file under the name that the start-up hook would have given it: in a watched program it is there."""
    module = sys.modules.get(path.stem)
    if module is None:
        module = ModuleType(path.stem)
        module.__file__ = str(path)
        sys.modules[path.stem] = module
        SourceFileLoader(path.stem, str(path)).exec_module(module)
    return module
