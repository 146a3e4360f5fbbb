"""Shared libraries by where they lie: what the dynamic loader would find, and what packages bring themselves.

Covers: the loader's cache (/etc/ld.so.cache), LD_LIBRARY_PATH, an environment's own `lib`, NVIDIA's wheels
(site-packages/nvidia/*/lib), the folders of bundled libraries (`NAME.libs`, `NAME/.dylibs`, `NAME/lib`), and toolkits that
nobody looks into; the versions that a libstdc++ offers.
Does not cover: the search paths written into single libraries (RPATH), and loading anything.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from crashcart.installation import Interpreter, SharedLibrary
from crashcart.probe._read import ROOT, read_bytes, under

_TOLD = re.compile(
    r"lib(?:cuda|cudart|cublas|cublasLt|cufft|cusolver|cusparse|cudnn|nvidia-ml|stdc\+\+|iomp5|omp|gomp)(?:-[0-9a-f]+)?"
    r"(?:\.so(?:\.[0-9.]+)?|(?:\.[0-9]+)?\.dylib)"
)
"""The libraries that rules ask for. Of cuDNN's many parts the first is enough."""
_CACHE = "/etc/ld.so.cache"
_CACHE_MAGIC = b"glibc-ld.so.cache1.1"
_CACHE_HEADER_BYTES = 48
_CACHE_ENTRY = struct.Struct("<iIIIQ")
# Where toolkits and the driver of Windows' Linux subsystem lie, whether or not the loader knows.
_ASIDE = ("/usr/local/cuda/lib64", "/usr/lib/wsl/lib")
_USUAL = ("/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib")
# A folder of libraries has tens of them (torch/lib 30, conda's lib 2000).
_MOST_ENTRIES = 20_000
_MOST_PACKAGES = 4_000
_MOST_LIBRARY_BYTES = 16 << 20
# One pattern for each: they begin with plain letters, which is what makes a search of two megabytes take 2 ms, not 90.
_FAMILIES = {
    family: re.compile(family.encode() + rb"_([0-9]{1,4}(?:\.[0-9]{1,6}){1,3})\0") for family in ("CXXABI", "GLIBCXX")
}


def read_libraries(
    interpreter: Interpreter, search_path: Iterable[str], variables: Mapping[str, str], root: Path = ROOT
) -> tuple[SharedLibrary, ...]:
    """The libraries that matter, in the loader's own order: what comes first is what it takes."""
    found: dict[str, SharedLibrary] = {}
    for each in _all(interpreter, search_path, variables, root):
        found.setdefault(each.path, each)
    return tuple(found.values())


def _all(
    interpreter: Interpreter, search_path: Iterable[str], variables: Mapping[str, str], root: Path
) -> Iterator[SharedLibrary]:
    for folder in variables.get("LD_LIBRARY_PATH", "").split(":"):
        yield from _in_folder(folder, "LD_LIBRARY_PATH", root)
    if interpreter.prefix:
        own = str(Path(interpreter.prefix, "lib"))
        yield from _in_folder(own, "conda" if interpreter.kind == "conda" else None, root)
    cached = loader_cache(root)
    for path in cached if cached is not None else ():
        if _TOLD.fullmatch(Path(path).name):
            yield _library(path, "system", root)
    for folder in _USUAL if cached is None else ():
        yield from _in_folder(folder, "system", root)
    for folder in dict.fromkeys(search_path):
        yield from _of_packages(folder, root)
    for folder in _ASIDE:
        yield from _in_folder(folder, None, root)


def loader_cache(root: Path = ROOT) -> tuple[str, ...] | None:
    """The paths in the loader's cache, in its order; None where there is none, or its form is not known."""
    raw = read_bytes(root, _CACHE, 16 << 20)
    start = -1 if raw is None else raw.find(_CACHE_MAGIC)
    if raw is None or start < 0 or len(raw) < start + _CACHE_HEADER_BYTES:
        return None
    table = raw[start:]
    (count,) = struct.unpack_from("<I", table, len(_CACHE_MAGIC))
    paths: list[str] = []
    for number in range(min(count, (len(table) - _CACHE_HEADER_BYTES) // _CACHE_ENTRY.size)):
        _, _, value, _, _ = _CACHE_ENTRY.unpack_from(table, _CACHE_HEADER_BYTES + number * _CACHE_ENTRY.size)
        end = table.find(b"\0", value)
        if value < len(table) and end > value:
            paths.append(table[value:end].decode("utf-8", "replace"))
    return tuple(paths)


def _of_packages(site: str, root: Path) -> Iterator[SharedLibrary]:
    """What the packages of one directory bring: one look into each folder that by custom holds libraries."""
    for package in _folders(under(root, site)):
        shown = f"{site}/{package}"
        if package == "nvidia":
            for part in _folders(under(root, shown)):
                yield from _in_folder(f"{shown}/{part}/lib", f"nvidia/{part}", root)
        elif package.endswith(".libs"):
            yield from _in_folder(shown, package.removesuffix(".libs"), root)
        else:
            for inner in ("lib", ".dylibs"):
                yield from _in_folder(f"{shown}/{inner}", package, root)


def _folders(path: str) -> list[str]:
    """The folders in a folder, without metadata and caches."""
    try:
        with os.scandir(path) as entries:
            names = [entry.name for entry in entries if not entry.name.endswith((".dist-info", ".egg-info", ".py"))]
            return sorted(names)[:_MOST_PACKAGES]
    except (OSError, ValueError):
        return []


def _in_folder(folder: str, owner: str | None, root: Path) -> Iterator[SharedLibrary]:
    try:
        names = os.listdir(under(root, folder)) if folder.startswith("/") else []
    except (OSError, ValueError):
        return
    for name in sorted(names[:_MOST_ENTRIES]):
        if _TOLD.fullmatch(name):
            yield _library(f"{folder.rstrip('/')}/{name}", owner, root)


def _library(path: str, owner: str | None, root: Path) -> SharedLibrary:
    name = Path(path).name
    versions = offered_versions(path, root) if name == "libstdc++.so.6" else ()
    return SharedLibrary(name, _real(path, root), owner, versions)


def _real(path: str, root: Path) -> str:
    """The file behind the links; its name often tells the version (libcudnn.so.9 → libcudnn.so.9.1.0)."""
    try:
        real = os.path.realpath(under(root, path))
    except (OSError, ValueError):
        return path
    prefix = os.path.realpath(root)
    return real if prefix == "/" or not real.startswith(prefix + "/") else real[len(prefix) :]


def offered_versions(path: str, root: Path = ROOT) -> tuple[str, ...]:
    """The newest version of each family that a libstdc++ names; they stand as whole strings in its table of names."""
    raw = read_bytes(root, path, _MOST_LIBRARY_BYTES) or b"" if Path(under(root, path)).is_file() else b""
    newest: list[str] = []
    for family, pattern in _FAMILIES.items():
        versions = [tuple(int(part) for part in match[1].split(b".")) for match in pattern.finditer(raw)]
        if versions:
            newest.append(f"{family}_{'.'.join(map(str, max(versions)))}")
    return tuple(newest)
