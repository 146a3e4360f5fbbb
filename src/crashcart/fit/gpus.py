"""GPUs that one need not have: what TensorFlow's allocator gets of each, by the GPU's name.

Covers: names as people type them, the near ones where a name is not known, the share that a process cannot use.
Does not cover: the GPUs that are here (`available.py`). The figures and where they come from: `facts/gpus.json`.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from crashcart.errors import UsageError
from crashcart.units import MIB

_MAKER = re.compile(r"nvidia|geforce|tesla|sxm\d?|pcie|hbm\d?e?")
_NOT_NAME = re.compile(r"[^a-z0-9]")
_GIGABYTES = re.compile(r"(\d)gi?b")
_MOST_NEAR = 6


@dataclass(frozen=True, slots=True)
class Gpu:
    """A kind of GPU."""

    name: str
    total_bytes: int
    usable_bytes: int
    """What the allocator of one process gets when nobody else is there."""


def find_gpu(name: str) -> Gpu:
    """The GPU of that name. UsageError with the near ones where there is none, or several."""
    known = _by_key()
    found = known.get(_key(name))
    if found is None:
        near = _near(name)
        raise UsageError(
            f"received --gpu {name!r}; expected a GPU that is known"
            + (
                f", such as {', '.join(near)}"
                if near
                else f": {', '.join(sorted({each.name for each in known.values()}))}"
            ),
            "With another one, say how much memory it has: --memory 24G --target device.",
        )
    return found


def reserve_bytes(capability: str | None, available_bytes: int) -> int:
    """What TensorFlow leaves of a GPU for the driver and the libraries; an unknown generation counts as a new one."""
    if available_bytes < 2048 * MIB:
        return 225 * MIB
    reserves: dict[str, int] = _facts()["reserve_mib"]
    major = int(capability.partition(".")[0]) if capability else 9
    return reserves[str(min(9, max(6, major)))] * MIB


def context_bytes() -> int:
    """What the driver and CUDA's context of a process take of a GPU, besides."""
    return int(_facts()["context_mib"]) * MIB


def _near(name: str) -> list[str]:
    known, wanted = _by_key(), _key(name)
    begins = [gpu.name for key, gpu in known.items() if wanted and (key.startswith(wanted) or wanted.startswith(key))]
    alike = [known[key].name for key in difflib.get_close_matches(wanted, known, _MOST_NEAR, 0.5)]
    return list(dict.fromkeys([*begins, *alike]))[:_MOST_NEAR]


def _key(name: str) -> str:
    """A name without what people write in different ways: the maker, the socket, signs, GB or G."""
    plain = _NOT_NAME.sub("", _MAKER.sub("", name.lower()))
    return _GIGABYTES.sub(r"\1g", plain)


@cache
def _facts() -> dict[str, Any]:
    text = resources.files("crashcart.fit").joinpath("facts", "gpus.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


@cache
def _by_key() -> Mapping[str, Gpu]:
    found: dict[str, Gpu] = {}
    for row in _facts()["devices"]:
        gpu = _gpu(row)
        for name in (row["name"], *row.get("also", ())):
            found[_key(name)] = gpu
    return found


def _gpu(row: Mapping[str, Any]) -> Gpu:
    total = row["total_mib"] * MIB
    seen = row.get("seen_mib")
    usable = seen[0] * MIB if seen else total - reserve_bytes(row["capability"], total) - context_bytes()
    return Gpu(row["name"], total, usable)
