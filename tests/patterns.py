"""Every compiled pattern of the rules and the log parser, and texts that make bad patterns slow.

A pattern is found wherever it is held: a module's name, a tuple, a table row, a dataclass.
"""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
import re
from collections.abc import Iterator
from types import ModuleType

PACKAGES = ("crashcart.probe", "crashcart.why")


def patterns() -> dict[str, re.Pattern[str] | re.Pattern[bytes]]:
    """All patterns by where they stand: `crashcart.why._kinds _REPR`."""
    found: dict[str, re.Pattern[str] | re.Pattern[bytes]] = {}
    for module in _modules():
        for name, value in vars(module).items():
            for index, pattern in enumerate(_held(value, 0)):
                found[f"{module.__name__} {name}[{index}]"] = pattern
    return found


def _modules() -> Iterator[ModuleType]:
    for package in PACKAGES:
        folder = importlib.import_module(package).__path__
        for info in pkgutil.iter_modules(folder, package + "."):
            if package == "crashcart.why" or info.name.rpartition(".")[2].startswith(("log", "python_dump")):
                yield importlib.import_module(info.name)


def _held(value: object, depth: int) -> Iterator[re.Pattern[str] | re.Pattern[bytes]]:
    if isinstance(value, re.Pattern):
        yield value
    elif depth > 4:
        return
    elif isinstance(value, (tuple, list, frozenset)):
        for each in value:
            yield from _held(each, depth + 1)
    elif isinstance(value, dict):
        for each in value.values():
            yield from _held(each, depth + 1)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for each in dataclasses.fields(value):
            yield from _held(getattr(value, each.name), depth + 1)


def attacks(pattern: str, length: int) -> Iterator[str]:
    """Texts of the length that come close to a match again and again and never make one."""
    plain = re.sub(r"\\[a-zA-Z]|\{\d*,?\d*\}", "\n", pattern)
    literals = re.findall(r"[A-Za-z0-9_ :./'\[(-]{2,}", plain)
    seeds = [
        *sorted(set(literals), key=len, reverse=True)[:6],
        " ".join(literals[:4]),
        "a",
        " ",
        "0",
        "0 ",
        "a.",
        "[1, ",
        "(",
        "'a",
        'File "',
        "\t",
        "a: ",
        "/a",
        "-",
    ]
    for seed in dict.fromkeys(seeds):
        if seed:
            yield (seed * (length // len(seed) + 1))[:length] + "\x00"
