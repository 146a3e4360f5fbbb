"""Kernelspecs that start their kernels under crashcart.

Covers: finding the kernels that Jupyter knows, having them start through `start.py`, undoing that to the letter, and telling
which are watched. A kernelspec is changed where it lies, so that it stays the one that Jupyter finds; one that may not be
written gets a copy in the user's own folder, if Jupyter prefers that.
Does not cover: starting (`start.py`, `kernel.py`). Kernels of other languages are left alone.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crashcart.errors import CannotCheckError
from crashcart.jupyter.start import PLAIN_SUFFIX

START_FILE = "crashcart-start.py"
MARK = "crashcart"
_PYTHON = re.compile(r"^(?:python|pypy)(?:3(?:\.\d+)?)?$")
_KERNEL_SCRIPT = Path(__file__).parent / "kernel.py"
_START_SCRIPT = Path(__file__).parent / "start.py"


@dataclass(frozen=True, slots=True)
class Spec:
    """One kernel that Jupyter offers."""

    name: str
    folder: Path
    facts: Mapping[str, Any]

    @property
    def file(self) -> Path:
        """Its kernel.json."""
        return self.folder / "kernel.json"

    @property
    def plain_file(self) -> Path:
        """Its kernel.json as it was before."""
        return self.folder / f"kernel.json{PLAIN_SUFFIX}"

    @property
    def is_watched(self) -> bool:
        """Whether its kernels start under crashcart."""
        return MARK in (self.facts.get("metadata") or {})

    @property
    def options(self) -> str:
        """With what options it was enabled, in words."""
        return str((self.facts.get("metadata") or {}).get(MARK, {}).get("options", ""))

    @property
    def is_python(self) -> bool:
        """Whether its kernels run Python."""
        return str(self.facts.get("language", "")).lower() == "python"


def find_specs() -> list[Spec]:
    """All kernels that Jupyter offers, by name."""
    try:
        from jupyter_client.kernelspec import KernelSpecManager
    except ImportError as error:
        raise CannotCheckError(
            f"Jupyter's own part is missing ({error.name})", "pip install 'crashcart[jupyter]'"
        ) from None
    found = KernelSpecManager().get_all_specs()
    return [Spec(name, Path(each["resource_dir"]), each["spec"]) for name, each in sorted(found.items())]


def watch(spec: Spec, options: Sequence[str]) -> str:
    """Have the kernel start under crashcart; returns where that was written. OSError where it cannot be."""
    if not _is_writable(spec):
        return _write_copy(spec, options)
    copied = spec.is_watched and bool(spec.facts["metadata"][MARK].get("copied"))
    if spec.is_watched:
        spec = Spec(spec.name, spec.folder, _plain_facts(spec))
    else:
        shutil.copy2(spec.file, spec.plain_file)
    _write(spec, spec.folder, options, copied)
    return str(spec.file)


def unwatch(spec: Spec) -> bool:
    """Put the kernel back as it was; whether there was anything to do. OSError where it cannot be."""
    if not spec.is_watched:
        _remove_leftovers(spec)
        return False
    if spec.facts["metadata"][MARK].get("copied"):
        shutil.rmtree(spec.folder)
        return True
    if spec.plain_file.exists():
        spec.plain_file.replace(spec.file)
    else:  # somebody removed it: what it said is in ours
        _save(spec.file, _plain_facts(spec))
    _remove_leftovers(spec)
    return True


def _plain_facts(spec: Spec) -> dict[str, Any]:
    facts = json.loads(json.dumps(dict(spec.facts)))
    facts["argv"] = facts["metadata"].pop(MARK)["argv"]
    if not facts["metadata"]:
        del facts["metadata"]
    return dict(facts)


def _remove_leftovers(spec: Spec) -> None:
    """What is left beside a kernel.json that somebody replaced since: an upgrade of ipykernel does that."""
    for path in (spec.folder / START_FILE, spec.plain_file):
        path.unlink(missing_ok=True)


def _is_writable(spec: Spec) -> bool:
    return spec.file.is_file() and os.access(spec.folder, os.W_OK) and os.access(spec.file, os.W_OK)


def _write(spec: Spec, folder: Path, options: Sequence[str], copied: bool = False) -> None:
    target = Spec(spec.name, folder, spec.facts)
    shutil.copyfile(_START_SCRIPT, folder / START_FILE)
    _save(target.file, _watched_facts(target, options, copied))


def _watched_facts(spec: Spec, options: Sequence[str], copied: bool) -> dict[str, Any]:
    argv = list(spec.facts["argv"])
    first = argv[0] if _PYTHON.match(Path(argv[0]).name) else "python"
    start = [first, "-ES", f"{{resource_dir}}/{START_FILE}", sys.executable, str(_KERNEL_SCRIPT)]
    mark = {"argv": argv, "options": " ".join(options)} | ({"copied": True} if copied else {})
    return {
        **spec.facts,
        "argv": [*start, *options, "--connection", "{connection_file}", "--", *argv],
        "metadata": {**(spec.facts.get("metadata") or {}), MARK: mark},
    }


def _write_copy(spec: Spec, options: Sequence[str]) -> str:
    """A watched copy in the user's own folder, if that is the one that Jupyter will find."""
    from jupyter_core.paths import jupyter_data_dir

    folder = Path(jupyter_data_dir()) / "kernels" / spec.name
    shutil.copytree(spec.folder, folder)
    try:
        _write(spec, folder, options, copied=True)
        found = next((each for each in find_specs() if each.name == spec.name), None)
        if found is None or found.folder != folder:
            raise PermissionError(
                13, "Jupyter prefers it to a copy of one's own, and it may not be written", str(spec.folder)
            )
    except OSError:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return str(folder / "kernel.json")


def _save(file: Path, facts: Mapping[str, Any]) -> None:
    """Whole or not at all: a kernel may be starting."""
    scratch = file.with_suffix(".new")
    scratch.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    scratch.replace(file)


def stale(specs: Sequence[Spec]) -> Iterator[Spec]:
    """Kernels that were enabled once and whose kernel.json somebody has replaced since."""
    for spec in specs:
        if not spec.is_watched and (spec.folder / START_FILE).exists():
            yield spec
