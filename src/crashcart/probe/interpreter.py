"""A Python interpreter: which one it is, and where it looks for packages.

Covers: the one that runs us or any other, asked in a bounded child process that imports nothing but the standard
library: a program would be started in the same way, and would see the same path. What kind of environment it is (venv,
conda, system) and what installs into it.
Does not cover: what is installed (`distributions.py`).
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crashcart.errors import CannotCheckError
from crashcart.installation import Interpreter
from crashcart.probe._child import run_child
from crashcart.probe._read import read_regular

_TIMEOUT_S = 20.0
_MOST_SAID = 200
_MOST_SETTINGS_BYTES = 1 << 16
_MARK = "crashcart-interpreter "
_NEXT = "Name an interpreter: --python PATH."
# Runs in any Python from 2.7 on. -I would hide PYTHONPATH and the user's site-packages, which programs do see. The current
# directory is left out: a file there may have the name of a module that the question needs.
_QUESTION = (
    f"MARK = {_MARK!r}"
    + """
import sys
sys.path = [each for each in sys.path if each]
import json, os, platform, site, struct, sys
own = getattr(sys, "implementation", None)
libc = ""
try:
    libc = os.confstr("CS_GNU_LIBC_VERSION") or ""
except (AttributeError, ValueError, OSError):
    pass
user = None
try:
    user = site.getusersitepackages() if site.ENABLE_USER_SITE else None
except Exception:
    pass
print("\\n" + MARK + json.dumps({
    "version": platform.python_version(), "implementation": getattr(own, "name", "cpython"), "bits": struct.calcsize("P") * 8,
    "executable": sys.executable, "prefix": sys.prefix, "base_prefix": getattr(sys, "base_prefix", sys.prefix),
    "system": platform.system(), "architecture": platform.machine(), "libc": libc, "user_site": user,
    "path": [each for each in sys.path if each], "multiarch": getattr(own, "_multiarch", ""),
}))
"""
)


@dataclass(frozen=True, slots=True)
class Asked:
    """An interpreter and its search path."""

    interpreter: Interpreter
    search_path: tuple[str, ...]


def ask_interpreter(executable: str | None = None) -> Asked:
    """The interpreter, or the one that runs us. CannotCheckError where it does not answer."""
    python = executable or sys.executable
    try:
        done = run_child([python, "-c", _QUESTION], _TIMEOUT_S)
    except OSError as error:
        raise CannotCheckError(f"{python} cannot be asked: {error.strerror or error}", _NEXT) from error
    if done.code is None:
        raise CannotCheckError(f"{python} cannot be asked: it gave no answer in {_TIMEOUT_S:.0f} s", _NEXT)
    try:
        return _asked(_answer(done.output))
    except (ValueError, KeyError, TypeError) as error:
        said = (done.output.strip().splitlines() or [f"exit code {done.code}, no message"])[-1][:_MOST_SAID]
        raise CannotCheckError(f"{python} does not answer as a Python: {said}", _NEXT) from error


def _answer(output: str) -> dict[str, Any]:
    """What stands behind the last mark: others may print before and after it. ValueError where there is none."""
    lines = [line.removeprefix(_MARK) for line in output.splitlines() if line.startswith(_MARK)]
    found = json.loads(lines[-1]) if lines else None
    if not isinstance(found, dict):
        raise ValueError("no answer")
    return found


def _asked(answer: dict[str, Any]) -> Asked:
    prefix = Path(answer["prefix"])
    kind = _kind(prefix, answer["prefix"] != answer["base_prefix"])
    libc, version = _libc(answer["libc"], answer["multiarch"])
    path = tuple(str(each) for each in answer["path"])
    user_site = answer["user_site"] if answer["user_site"] in path else None
    interpreter = Interpreter(
        version=answer["version"],
        executable=answer["executable"] or None,
        prefix=answer["prefix"],
        implementation=answer["implementation"],
        bits=answer["bits"],
        system=answer["system"],
        architecture=answer["architecture"] or None,
        libc=libc,
        libc_version=version,
        kind=kind,
        tool=_tool(prefix, kind),
        user_site=user_site,
    )
    return Asked(interpreter, path)


def _kind(prefix: Path, apart: bool) -> str:
    if (prefix / "conda-meta").is_dir():
        return "conda"
    return "venv" if apart or (prefix / "pyvenv.cfg").is_file() else "system"


def _tool(prefix: Path, kind: str) -> str:
    """Uv writes itself into the environment's settings, and puts no pip there."""
    if kind == "conda":
        return "conda"
    try:
        settings = read_regular(prefix / "pyvenv.cfg", _MOST_SETTINGS_BYTES).decode("utf-8", "replace")
    except OSError:
        return "pip"
    return "uv" if any(line.split("=")[0].strip() == "uv" for line in settings.splitlines()) else "pip"


def _libc(said: str, multiarch: str) -> tuple[str | None, str | None]:
    """`glibc 2.36` is what glibc says of itself; musl says nothing, but the interpreter's build names it."""
    name, _, version = said.partition(" ")
    if name == "glibc":
        return "glibc", version or None
    return ("musl", None) if "musl" in multiarch else (None, None)
