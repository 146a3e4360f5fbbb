"""What `crashcart fit` says of a model of the zoo, and real runs of it under a limit: what the benches of safety and of the largest
batch share.

Covers: the request, the estimate by the command's own child, one run under a limit, results that outlive an interruption.
Does not cover: which runs to make.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.fit.children import versions
from bench.fit.manifest import PHASES, SUBJECTS, Subject
from crashcart.cli.fit_trial import verified
from crashcart.errors import CrashcartError
from crashcart.step import Verified

ZOO = Path(__file__).parent / "zoo.py"
TARGETS = ("device", "host")
MIB = 1 << 20
TIMEOUT_S = 1800.0
# As many as the truths are measured over; the first one builds things, and on the host the others are one call of `predict`.
STEPS = {"device": 5, "host": 7}


def parser(name: str) -> argparse.ArgumentParser:
    """The options that all of them take."""
    found = argparse.ArgumentParser(name)
    found.add_argument("names", nargs="*", help="models of the zoo; all without")
    found.add_argument("--phase", action="append", choices=PHASES)
    found.add_argument("--target", action="append", choices=TARGETS)
    found.add_argument("--write", action="store_true", help="write the section in docs/benchmarks.md")
    found.add_argument("--stored", action="store_true", help="tell what is stored, and run nothing")
    return found


def chosen(arguments: argparse.Namespace) -> Iterator[tuple[Subject, str, str]]:
    """Model, phase and target of each row."""
    for subject in SUBJECTS:
        if arguments.names and subject.name not in arguments.names:
            continue
        for phase in arguments.phase or PHASES:
            for target in arguments.target or TARGETS:
                yield subject, phase, target


def request(name: str, phase: str, batch: int, target: str, available_bytes: int | None = None) -> dict[str, Any]:
    """As the command line would ask."""
    base = {"file": str(ZOO), "name": name, "batch": batch, "phase": phase, "shapes": None, "remedies": False}
    return base | {"target": target, "available_bytes": available_bytes}


def estimated(asked: dict[str, Any]) -> dict[str, Any] | None:
    """The step as the command's child estimates it; None where it cannot."""
    with tempfile.TemporaryFile() as answers:
        subprocess.run(
            [sys.executable, "-m", "crashcart.cli.fit_child", json.dumps(asked), str(answers.fileno())],
            pass_fds=(answers.fileno(),),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2", "CUDA_VISIBLE_DEVICES": "-1"},
            timeout=TIMEOUT_S,
        )
        answers.seek(0)
        lines = answers.read().splitlines()
    found: dict[str, Any] | None = None
    for line in lines:
        found = json.loads(line).get("step", found)
    return found


def bounds(step: dict[str, Any], target: str) -> dict[str, int] | None:
    """The figure of a target and its bounds; None where it is not estimated."""
    if target == "host":
        found: dict[str, int] | None = step.get("host")
        return found
    return {"bytes": step["peak_bytes"], "low_bytes": step["low_bytes"], "high_bytes": step["high_bytes"]}


def run(asked: dict[str, Any], batch: int, limit_bytes: int) -> Verified:
    """A few steps in a child under the limit: of the allocator, or of what the process grows by. A run that ends in another way
    than by memory counts as a death, with its words."""
    try:
        return verified(asked, batch, limit_bytes, TIMEOUT_S, growth=True, steps=STEPS[asked["target"]])
    except CrashcartError as error:
        return Verified(batch, limit_bytes, False, None, str(error))


class Store:
    """Results in a JSON file, by row and versions; each is kept at once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.rows: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}

    @staticmethod
    def key(name: str, phase: str, target: str, batch: int | None = None) -> str:
        """Of one row, for the versions that are installed."""
        middle = f"/{batch}" if batch is not None else ""
        return f"{name}/{phase}{middle}/{target}/{versions()}"

    def keep(self, key: str, row: dict[str, Any]) -> None:
        """Add or replace a row."""
        self.rows[key] = row
        self._path.write_text(json.dumps(self.rows, indent=1, sort_keys=True) + "\n", encoding="utf-8")
