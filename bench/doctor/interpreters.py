"""Interpreters of other versions, where they are here: on the PATH, or under pyenv."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path


@cache
def interpreter(version: str) -> str | None:
    """A Python of this minor version; None where there is none here."""
    named = shutil.which(f"python{version}")
    if named and _is(named, version):
        return named
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    found = sorted(root.glob(f"versions/{version}.*/bin/python"))
    return str(found[-1]) if found else None


def _is(python: str, version: str) -> bool:
    """A shim of pyenv answers to a name that it has no Python for."""
    done = subprocess.run(
        [python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], capture_output=True, text=True
    )
    return done.stdout.strip() == version
