"""What some programs need before they start: compiled libraries, packages of other versions.

Covers: building small native libraries with the system's compiler, fetching wheels with pip.
Does not cover: data files; the programs write their own into `tmp`. Wheels are kept in a cache directory between runs,
so only the first run needs the package index.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

from bench.deaths.death import PROGRAMS, Setup


def compiled(source: str, library: str, *flags: str) -> Setup:
    """Compile a source beneath `programs/` into the shared library `tmp/library`."""

    def setup(tmp: Path) -> None:
        compiler = "g++" if source.endswith(".cpp") else "gcc"
        command = [compiler, "-g", "-shared", "-fPIC", "-o", str(tmp / library), str(PROGRAMS / source), *flags]
        subprocess.run(command, check=True)

    return setup


def extension(source: str, module: str, *flags: str) -> Setup:
    """Compile a source beneath `programs/` into the Python extension module `tmp/module…so`."""
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    return compiled(source, f"{module}{suffix}", f"-I{sysconfig.get_path('include')}", *flags)


def linked_to_absent(source: str, library: str, absent: str) -> Setup:
    """Compile a library that needs another one, `absent`, which is not there when it is loaded."""

    def setup(tmp: Path) -> None:
        stub = ["gcc", "-shared", "-o", str(tmp / absent), f"-Wl,-soname,{absent}", "-x", "c", "/dev/null"]
        subprocess.run(stub, check=True)
        link = ["-Wl,--no-as-needed", str(tmp / absent)]
        compiled(source, library, *link)(tmp)
        (tmp / absent).unlink()

    return setup


def packages(*requirements: str, python: str | None = None) -> Setup:
    """Install the requirements, without their dependencies, into `tmp/packages`."""

    def setup(tmp: Path) -> None:
        target = _cache_dir() / "-".join([*requirements, python or "here"]).replace("=", "_")
        if not target.is_dir():
            _install(target, requirements, python)
        shutil.copytree(target, tmp / "packages")

    return setup


def _install(target: Path, requirements: tuple[str, ...], python: str | None) -> None:
    with tempfile.TemporaryDirectory(dir=_cache_dir()) as part:
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--only-binary=:all:"]
        command += ["--python-version", python] if python else []
        subprocess.run([*command, "--target", f"{part}/new", *requirements], check=True, stderr=subprocess.DEVNULL)
        os.rename(f"{part}/new", target)


def library_from_wheel(requirement: str, member: str, *copies: str) -> Setup:
    """Take one shared library out of a wheel and place it at each of the paths beneath `tmp`."""

    def setup(tmp: Path) -> None:
        kept = _cache_dir() / f"{requirement.replace('=', '_')}-{member}"
        if not kept.is_file():
            _extract(requirement, member, kept)
        for copy in copies:
            (tmp / copy).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(kept, tmp / copy)

    return setup


def _extract(requirement: str, member: str, kept: Path) -> None:
    with tempfile.TemporaryDirectory(dir=_cache_dir()) as part:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
        subprocess.run([*command, "--dest", part, requirement], check=True, stderr=subprocess.DEVNULL)
        with zipfile.ZipFile(next(Path(part).glob("*.whl"))) as wheel:
            name = next(each for each in wheel.namelist() if each.endswith(f"/{member}"))
            (Path(part) / member).write_bytes(wheel.read(name))
        os.rename(f"{part}/{member}", kept)


def _cache_dir() -> Path:
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    directory = base / "crashcart-bench"
    directory.mkdir(parents=True, exist_ok=True)
    return directory
