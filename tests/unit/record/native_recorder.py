"""Builds the recorder and small C programs for the tests beside it, and runs commands under the recorder."""

from __future__ import annotations

import os
import shutil
import subprocess
import zlib
from dataclasses import dataclass
from pathlib import Path

import pytest

from crashcart.blackbox.output import OutputTail, create_output, read_output
from crashcart.record import native

SOURCES = Path(native.__file__).parent
PROGRAMS = Path(__file__).with_name("native_programs")


@dataclass(frozen=True)
class Recorder:
    library: Path
    directory: Path

    def __post_init__(self) -> None:
        create_output(self.directory / "output")

    def replace_output(self, ring_bytes: int) -> None:
        (self.directory / "output").unlink()
        create_output(self.directory / "output", ring_bytes=ring_bytes)

    def environment(self, preload: bool = True) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "CRASHCART_RECORDING")}
        if not preload:
            return kept
        return {**kept, "LD_PRELOAD": str(self.library), "CRASHCART_RECORDING": str(self.directory)}

    def run(self, *command: str, preload: bool = True) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(command, env=self.environment(preload), capture_output=True, timeout=60)

    def streams(self) -> tuple[OutputTail, OutputTail]:
        streams = read_output(self.directory / "output")
        assert streams is not None
        return streams


def compile_into(target: Path, sources: list[Path], flags: list[str]) -> Path:
    compiler = shutil.which("c++" if sources[0].suffix == ".cpp" else "cc")
    if compiler is None:
        pytest.skip("no C or C++ compiler here")
    if not target.exists():
        subprocess.run([compiler, "-Wall", *flags, *sources, "-o", target, "-ldl"], check=True)
    return target


def compiled(build: Path, source: str, *flags: str) -> Path:
    """One of the programs, built once for each set of flags."""
    target = build / f"{source}-{zlib.crc32(repr(flags).encode())}"
    return compile_into(target, [PROGRAMS / source], list(flags))


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("programs")


@pytest.fixture(scope="session")
def recorder_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The recorder from the sources as they are, with warnings as errors."""
    flags = ["-std=gnu11", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-U_FORTIFY_SOURCE", "-Wextra", "-Werror"]
    target = tmp_path_factory.mktemp("recorder") / native.LIBRARY_NAME
    return compile_into(target, sorted(SOURCES.glob("*.c")), [*flags, "-Wl,-z,now"])
