"""Results of the benches in docs/benchmarks.md: one section per bench, replaced when the bench runs again.

Covers: the page, what was measured on, and how figures are written. Does not cover: measuring.
"""

from __future__ import annotations

import os
import platform
import re
import statistics
import time
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs" / "benchmarks.md"
_HEAD = "# Benchmarks\n\nEach section is written by its command; figures are from one machine and one run.\n"


def ground() -> str:
    """Date, machine and versions, in a line."""
    names = ("tensorflow-cpu", "tensorflow", "keras", "numpy")
    versions = [f"{name} {found}" for name in names if (found := _version(name))]
    memory_gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1024**3
    return (
        f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores, {memory_gib:.0f} GiB, Linux {platform.release().split('-')[0]} "
        f"{platform.machine()}, Python {platform.python_version()}, {', '.join(versions)}"
    )


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def write_section(title: str, command: str, body: str) -> None:
    """Put a bench's section on the page in place of its older one."""
    text = PAGE.read_text(encoding="utf-8") if PAGE.exists() else _HEAD
    section = f"## {title}\n\n`{command}` · {ground()}\n\n{body.strip()}\n"
    pattern = re.compile(rf"^## {re.escape(title)}\n.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
    text = pattern.sub(lambda _: section + "\n", text) if pattern.search(text) else f"{text.rstrip()}\n\n{section}"
    PAGE.write_text(text.rstrip() + "\n", encoding="utf-8")


def spread(values: Sequence[float], unit: str) -> str:
    """The median, and in parentheses the least and the most, with the digits that mean something in that unit."""
    digits = 3 if unit == "×" else 2 if unit == "s" else 1
    middle, least, most = statistics.median(values), min(values), max(values)
    return f"{middle:.{digits}f} {unit} ({least:.{digits}f} … {most:.{digits}f})"


def table(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
