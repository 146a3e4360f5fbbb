"""Libraries that some checks need: imported when they are first needed, and named with the command that installs them.

Covers: the packages of the extra `crashcart[data]`.
Does not cover: what they are used for (`file_*.py`).
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any

_PACKAGES = ("numpy", "pillow", "simplejpeg", "google-crc32c", "pyarrow", "h5py", "soundfile")
"""Those of the extra that decode; a test compares them."""


class LackingError(Exception):
    """A library that a format needs is not here, or does not load."""

    def __init__(self, package: str, why: str) -> None:
        super().__init__(f"{package} {why}; pip install 'crashcart[data]'")
        self.package = package


@cache
def _load(module: str, package: str) -> Any:
    try:
        return import_module(module)
    except ModuleNotFoundError:
        return LackingError(package, "is not installed")
    except (ImportError, OSError) as error:
        return LackingError(package, f"does not load ({' '.join(str(error).split())[:120]})")


def library(module: str, package: str | None = None) -> Any:
    """A module; raises LackingError where it is not to be had."""
    found = _load(module, package or module)
    if isinstance(found, LackingError):
        raise found
    return found


def pillow() -> Any:
    """Pillow's Image module, without its own limit on pixels: ours is known before anything is decoded."""
    image = library("PIL.Image", "pillow")
    image.MAX_IMAGE_PIXELS = None
    return image


def versions() -> dict[str, str | None]:
    """The packages that decode, and Python, which does the rest: a file may be sound to one version and not to another."""
    listed: dict[str, str] = {}
    for name in _distributions():
        package, _, version = name.removesuffix(".dist-info").partition("-")
        listed.setdefault(package.lower().replace("_", "-"), version)
    return {"python": sys.version.split()[0], **{each: listed.get(each) for each in _PACKAGES}}


def _distributions() -> Iterator[str]:
    """The names of what is installed, in the order in which Python looks. They hold the versions: asking `importlib.metadata`
    for them takes as long as importing Pillow.
    """
    for folder in sys.path:
        with contextlib.suppress(OSError):
            yield from (each for each in os.listdir(folder or ".") if each.endswith(".dist-info"))
