"""Files and folders that settings of the environment name: are they there?

Covers: LD_PRELOAD (full paths, and names that the loader looks up), PYTHONHOME, PYTHONPATH, TMPDIR, and the toolkit's folder
in XLA_FLAGS.
Does not cover: what is in them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from crashcart.probe._read import ROOT, under
from crashcart.probe.libraries import loader_cache

_CUDA_FOLDER = re.compile(r"--xla_gpu_cuda_data_dir=(\S+)")
_MOST_PATHS = 100


def preloaded(value: str) -> list[str]:
    """The entries of LD_PRELOAD: colons and blanks separate them."""
    return [each for each in re.split(r"[:\s]+", value) if each]


def cuda_folder(flags: str) -> str | None:
    """The folder that XLA_FLAGS names for the toolkit."""
    match = _CUDA_FOLDER.search(flags)
    return match[1].strip("'\"") if match else None


def read_named_paths(variables: Mapping[str, str], root: Path = ROOT) -> dict[str, int | None]:
    """Bytes by the path as it is written; None where nothing is there."""
    return {each: _size(each, variables, root) for each in list(_named(variables))[:_MOST_PATHS]}


def _named(variables: Mapping[str, str]) -> Iterator[str]:
    yield from preloaded(variables.get("LD_PRELOAD", ""))
    for name in ("PYTHONHOME", "TMPDIR"):
        if variables.get(name):
            yield variables[name]
    yield from (each for each in variables.get("PYTHONPATH", "").split(":") if each)
    folder = cuda_folder(variables.get("XLA_FLAGS", ""))
    if folder:
        yield folder


def _size(path: str, variables: Mapping[str, str], root: Path) -> int | None:
    if "/" in path:
        return _bytes(path, root)
    cached = (each for each in loader_cache(root) or () if each.rpartition("/")[2] == path)
    folders = (f"{each}/{path}" for each in variables.get("LD_LIBRARY_PATH", "").split(":") if each)
    sizes = (_bytes(each, root) for each in (*folders, *cached))
    return next((each for each in sizes if each is not None), None)


def _bytes(path: str, root: Path) -> int | None:
    try:
        return Path(under(root, path) if path.startswith("/") else path).stat().st_size
    except (OSError, ValueError):
        return None
