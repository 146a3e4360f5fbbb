"""Builds the airbag and small C programs for the tests beside it, makes the guard's file, and plays the watcher."""

from __future__ import annotations

import mmap
import os
import shutil
import struct
import subprocess
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from crashcart.guard import airbag

SOURCES = Path(airbag.__file__).parent
PROGRAMS = Path(__file__).with_name("programs")
GIB, MIB = 1024**3, 1024**2
FLAGS = ["-std=gnu11", "-O2", "-fPIC", "-fvisibility=hidden", "-U_FORTIFY_SOURCE", "-Wall", "-Wextra", "-Werror"]
PREFIXED = ["-DAIRBAG_PREFIX", "-O1", "-g", "-fno-omit-frame-pointer", "-std=gnu11"]

WORDS = {
    "left": 16,
    "beat_ns": 24,
    "bound": 40,
    "floor": 48,
    "python": 72,
    "served": 80,
    "refused": 88,
}
HALVES = {"on": 12, "squeeze": 32}


class Guard:
    """The guard's file, and the watcher that stores the budget in it."""

    def __init__(self, folder: Path, directory: Path | str, bound: int = 2 * GIB, floor: int = 0) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        with (folder / "guard").open("w+b") as file:
            file.truncate(65536)
            self._map = mmap.mmap(file.fileno(), 65536)
        self._map[4096 : 4096 + len(str(directory))] = str(directory).encode()
        self.set("bound", bound)
        self.set("floor", floor)
        self.set("left", 1 << 40)
        self.set("on", 1)
        self._map[8:12] = struct.pack("<I", 2)
        self._map[:8] = b"CCGUARD\0"

    def get(self, name: str) -> int:
        if name in HALVES:
            return int(struct.unpack_from("<I", self._map, HALVES[name])[0])
        return int(struct.unpack_from("<q", self._map, WORDS[name])[0])

    def set(self, name: str, value: int) -> None:
        if name in HALVES:
            struct.pack_into("<I", self._map, HALVES[name], value)
        else:
            struct.pack_into("<q", self._map, WORDS[name], value)

    def refusals(self) -> list[tuple[int, str]]:
        found = []
        for index in range(16):
            number, size, _, _, _, _, who = struct.unpack_from("<Qqqqii24s", self._map, 96 + 64 * index)
            if number:
                found.append((size, who.split(b"\0")[0].decode()))
        return found

    def slots(self) -> list[tuple[int, ...]]:
        """Process, level, error, net, airbag and sparse bytes."""
        found = (struct.unpack_from("<i4xIIqQq", self._map, 32768 + 64 * index) for index in range(512))
        return [each for each in found if each[0]]

    @contextmanager
    def watching(self, left: int | None = None, every_s: float = 0.02) -> Iterator[None]:
        """Store the budget (none: leave it) and the beat again and again."""
        stop = threading.Event()

        def watch() -> None:
            while not stop.is_set():
                if left is not None:
                    self.set("left", left)
                self.set("beat_ns", time.monotonic_ns())
                stop.wait(every_s)

        thread = threading.Thread(target=watch)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def environment(self, *libraries: Path) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "CRASHCART_RECORDING")}
        return {**kept, "CRASHCART_RECORDING": str(self.folder), "LD_PRELOAD": " ".join(map(str, libraries))}


def compile_into(target: Path, sources: list[Path], flags: list[str]) -> Path:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler here")
    if not target.exists():
        done = subprocess.run(
            [compiler, *flags, *sources, "-o", target, "-ldl", "-pthread"], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
    return target


class Rig:
    """The library and the programs, each built once for each set of flags."""

    def __init__(self, build: Path) -> None:
        self.build = build

    @property
    def library(self) -> Path:
        """The airbag from the sources as they are, with warnings as errors."""
        flags = [*FLAGS, "-shared", "-Wl,-z,now"]
        return compile_into(self.build / airbag.LIBRARY_NAME, sorted(SOURCES.glob("*.c")), flags)

    def program(self, name: str, *flags: str) -> Path:
        """A program with its callers: a library named like NumPy's, and one that holds Py_BytesMain."""
        folder = self.build / f"{name}-{zlib.crc32(repr(flags).encode())}"
        folder.mkdir(exist_ok=True)
        shared = ["-shared", "-fPIC", "-O1", *(flag for flag in flags if "sanitize" not in flag)]
        callers = PROGRAMS / "callers.c"
        numpy = compile_into(folder / "_multiarray_umath_test.so", [callers], [*shared, "-DNAME=numpy"])
        python = compile_into(folder / "libfakepython.so", [callers], [*shared, "-DNAME=python", "-DIS_PYTHON"])
        sources = sorted(SOURCES.glob("*.c")) if "-DAIRBAG_PREFIX" in flags else []
        every = [
            "-O1",
            "-g",
            "-Wall",
            "-fno-builtin",
            *flags,
            f"-I{SOURCES}",
            f"-Wl,-rpath,{folder}",
            "-Wl,--no-as-needed",
            "-rdynamic",
        ]
        return compile_into(folder / name, [PROGRAMS / f"{name}.c", *sources, numpy, python], every)

    def interposer(self) -> Path:
        """Another malloc library, which only passes on."""
        return compile_into(self.build / "libpass.so", [PROGRAMS / "pass.c"], ["-shared", "-fPIC", "-O2", "-Wall"])


def run(
    command: list[str | Path], environment: dict[str, str], timeout_s: float = 60
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=timeout_s)
