"""Makes an environment of the bench: a real venv, filled with the recorded metadata and small stubs of the modules.

Covers: finding an interpreter of the wanted version (on the PATH or under pyenv), dist-info folders with METADATA, INSTALLER
and RECORD as pip writes them, in the order in which pip would have written them, so that a later package overwrites an
earlier one's files. Does not cover: code that could be imported; nothing here is.
"""

from __future__ import annotations

import atexit
import base64
import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from bench.doctor.damage import DAMAGE
from bench.doctor.environment import Environment
from bench.doctor.interpreters import interpreter
from bench.doctor.record import key, recorded

_MODULES = {
    "absl-py": "absl",
    "google-pasta": "pasta",
    "opencv-python": "cv2",
    "protobuf": "google/protobuf",
    "tensorflow-cpu": "tensorflow",
    "tensorflow-gpu": "",
    "keras-nightly": "keras",
    "tf-nightly": "tensorflow",
    "typing-extensions": "typing_extensions",
}
_OWN_FILES = ("__init__.py", "version.py", "core.py", "python/__init__.py", "python/ops.py")


def packages(environment: Environment) -> dict[str, str]:
    """The versions that lie there, in the order in which they were installed."""
    found = dict(recorded()["resolved"][key(environment.python, environment.base)]) if environment.base else {}
    for name, version in environment.put.items():
        found.pop(name, None)
        found[name] = version
    return {name: version for name, version in found.items() if name not in environment.without}


def build(environment: Environment, folder: Path) -> Path:
    """The environment in the folder; its interpreter."""
    shutil.copytree(_empty(environment.python), folder, symlinks=True)
    (site,) = folder.glob("lib/python*/site-packages")
    metadata = recorded()["metadata"]
    for name, version in packages(environment).items():
        _install(site, name, version, metadata.get(f"{name} {version}", {}))
    for each in environment.damage:
        DAMAGE[each](site)
    return folder / "bin" / "python"


@cache
def _empty(version: str) -> str:
    """A venv of this Python with nothing in it, to be copied: making one takes longer than judging it."""
    python = interpreter(version)
    if python is None:
        raise LookupError(f"no Python {version} here")
    folder = tempfile.mkdtemp(prefix="crashcart-empty-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    subprocess.run([python, "-m", "venv", "--without-pip", folder], check=True, capture_output=True)
    return folder


def _install(site: Path, name: str, version: str, metadata: Mapping[str, Any]) -> None:
    files = [_write(site, path, text) for path, text in _module(name, version).items()]
    info = f"{name.replace('-', '_')}-{version}.dist-info"
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    lines += [f"Requires-Python: {metadata['requires_python']}"] if metadata.get("requires_python") else []
    lines += [f"Requires-Dist: {each}" for each in metadata.get("requires_dist", ())]
    files.append(_write(site, f"{info}/METADATA", "\n".join(lines) + "\n\nA recorded distribution.\n"))
    files.append(_write(site, f"{info}/INSTALLER", "pip\n"))
    (site / info / "RECORD").write_text("\n".join([*files, f"{info}/RECORD,,"]) + "\n", encoding="utf-8")


def _module(name: str, version: str) -> dict[str, str]:
    module = _MODULES.get(name, name.replace("-", "_"))
    if not module:
        return {}
    files = _OWN_FILES if module in ("tensorflow", "keras", "numpy") else _OWN_FILES[:1]
    head = f'"""{name} {version}."""\n'
    # Releases differ in size as real ones do: by which of two a file was written is seen from it.
    return {f"{module}/{each}": head + f"# {each}\n" * (1 + sum(map(ord, version)) % 7) for each in files}


def _write(site: Path, path: str, text: str) -> str:
    """Write a file; its line in RECORD."""
    file = site / path
    file.parent.mkdir(parents=True, exist_ok=True)
    raw = text.encode()
    file.write_bytes(raw)
    digest = base64.urlsafe_b64encode(hashlib.sha256(raw).digest()).rstrip(b"=").decode()
    return f"{path},sha256={digest},{len(raw)}"
