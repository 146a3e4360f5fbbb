"""Builds the native libraries of crashcart and ships what Jupyter looks for. The rest is said in pyproject.toml.

Covers: plain shared libraries (no Python modules: they are preloaded into programs, or called by `ctypes`), built for `pip install`, editable
installs and wheels. A machine without a compiler still gets the package, without the libraries. The setting that turns on
the part inside Jupyter's server, and the JupyterLab extension where `make lab` has built it.
Does not cover: other systems than Linux, where there is nothing to preload; building the extension, which needs Node.
"""

from __future__ import annotations

import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext

# The package that holds the sources and receives the library, and the library's name.
NATIVE_LIBRARIES = {
    "crashcart.guard.airbag": "libcrashcart_airbag",
    "crashcart.probe.native_files": "libcrashcart_files",
    "crashcart.record.native": "libcrashcart_recorder",
}

# Hidden by default: only what a library interposes may be seen by the programs it is loaded into. No fortified calls:
# they would bind to a newer C library. Bound at load time: no symbol is looked up inside of a signal handler.
COMPILE_ARGS = ["-std=gnu11", "-O2", "-g0", "-fPIC", "-fvisibility=hidden", "-fno-lto", "-U_FORTIFY_SOURCE"]
WARNINGS = ["-Wall", "-Wextra"]
LINK_ARGS = ["-fno-lto", "-Wl,-z,now", "-Wl,-z,relro", "-Wl,--as-needed"]


def _extension(package: str, library: str) -> Extension:
    folder = Path("src", *package.split("."))
    return Extension(
        f"{package}.{library}",
        sources=sorted(path.as_posix() for path in folder.glob("*.c")),
        depends=sorted(path.as_posix() for path in folder.glob("*.h")),
        extra_compile_args=[*COMPILE_ARGS, *WARNINGS],
        extra_link_args=LINK_ARGS,
        libraries=["dl"],
        optional=True,
    )


LAB_EXTENSION = Path("src/crashcart/jupyter/labextension")
LAB_FOLDER = Path("share/jupyter/labextensions/crashcart")
SERVER_SETTING = Path("etc/jupyter/jupyter_server_config.d/crashcart.json")


def _data_files() -> list[tuple[str, list[str]]]:
    """What Jupyter looks for in the environment's own share/ and etc/."""
    found = [(SERVER_SETTING.parent.as_posix(), [SERVER_SETTING.as_posix()])]
    built = [path for path in sorted(LAB_EXTENSION.rglob("*")) if path.is_file()]
    if built:
        found.append((LAB_FOLDER.as_posix(), ["lab/install.json"]))
    for path in built:
        found.append(((LAB_FOLDER / path.parent.relative_to(LAB_EXTENSION)).as_posix(), [path.as_posix()]))
    return found


class BuildNative(build_ext):
    """Names the libraries as libraries, without the suffix of Python's modules."""

    def get_ext_filename(self, fullname: str) -> str:
        """`a.native.libx` is `a/native/libx.so`; in place, the last part alone is asked for."""
        if fullname.rpartition(".")[2] in NATIVE_LIBRARIES.values():
            return f"{Path(*fullname.split('.'))}.so"
        return str(super().get_ext_filename(fullname))


class PlatformWheel(bdist_wheel):
    """The libraries depend on the platform, and on no version of Python."""

    def get_tag(self) -> tuple[str, str, str]:
        """`py3-none-<platform>`."""
        return ("py3", "none", super().get_tag()[2])


setup(
    ext_modules=[_extension(*each) for each in NATIVE_LIBRARIES.items()] if sys.platform == "linux" else [],
    data_files=_data_files(),
    cmdclass={"build_ext": BuildNative, "bdist_wheel": PlatformWheel},
)
