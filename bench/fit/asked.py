"""What `crashcart fit` says of a model of the zoo, and real runs of it under a limit: what the benches of safety and of the largest
batch share.

Covers: the request, the estimate by the command's own child, one run under a limit, results that outlive an interruption.
Does not cover: which runs to make.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.fit.children import versions
from bench.fit.forked import Say, heard
from bench.fit.host import machine
from bench.fit.manifest import PHASES, SUBJECTS, Subject
from crashcart.blackbox.codec import to_plain
from crashcart.cli.contained import Hold, held
from crashcart.cli.fit_trial import verified
from crashcart.errors import CrashcartError
from crashcart.probe.onednn import VARIABLE
from crashcart.step import Verified

ZOO = Path(__file__).parent / "zoo.py"
TARGETS = ("device", "host")
MIB = 1 << 20
TIMEOUT_S = 1800.0
RUN_S = 600.0
# What a process has beside the allocator's memory: TensorFlow, the traced step, the heap of its libraries.
PROCESS_BYTES = 3 << 30
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


def estimated(asked: dict[str, Any], others: tuple[int, ...] = ()) -> dict[int, dict[str, Any]]:
    """The step as the command's child estimates it, by batch: at the asked one, with the largest that fits, and at the others by the
    same trace. None of them where it cannot."""
    steps, failed = heard(_estimate, (asked, others), {}, TIMEOUT_S)
    if failed:
        print(f"{asked['name']} {asked['phase']}: {failed}", flush=True)
    return {each["batch"]: each for each in steps}


def _estimate(say: Say, asked: dict[str, Any], others: tuple[int, ...]) -> None:
    from crashcart.cli.fit_step import Estimator
    from crashcart.probe import tensorflow_load

    model, given = tensorflow_load.load(asked["file"], asked["name"], weights=False)
    estimator = Estimator(model, given, asked, lambda phase: None)
    say(to_plain(estimator.step()))
    for batch in others:
        say(to_plain(estimator.at(batch)))


def bounds(step: dict[str, Any], target: str) -> dict[str, int] | None:
    """The figure of a target and its bounds; None where it is not estimated."""
    if target == "host":
        found: dict[str, int] | None = step.get("host")
        return found
    return {"bytes": step["peak_bytes"], "low_bytes": step["low_bytes"], "high_bytes": step["high_bytes"]}


def run(asked: dict[str, Any], batch: int, limit_bytes: int, steps: int | None = None) -> Verified:
    """A few steps in a child under the limit: of the allocator, or of what the process grows by. A run that ends in another way
    than by memory counts as a death, with its words."""
    way = ran if asked["target"] == "device" else fresh
    return way(asked, batch, limit_bytes, steps or STEPS[asked["target"]])


def fresh(asked: dict[str, Any], batch: int, limit_bytes: int, steps: int) -> Verified:
    """As `crashcart fit --verify` does it: in a process of its own from the start."""
    try:
        return verified(asked, batch, limit_bytes, TIMEOUT_S, growth=True, steps=steps)
    except CrashcartError as error:
        return Verified(batch, limit_bytes, False, None, str(error))


def ran(asked: dict[str, Any], batch: int, limit_bytes: int, steps: int) -> Verified:
    """The same on the device, in a forked process; the group is there for the machine's sake."""
    told = asked | {"sizes": [batch], "steps": steps - 1, "plainly": False, "device_limit_bytes": limit_bytes}
    variables = {"TF_CPU_ALLOCATOR_USE_BFC": "1", "TF_CPU_BFC_MEM_LIMIT_IN_MB": str(limit_bytes >> 20), VARIABLE: "0"}
    with held(limit_bytes + PROCESS_BYTES) as hold:
        answers, failed = heard(_try, (told, hold), variables, RUN_S)
    seen = {name: value for answer in answers for name, value in answer.items()}
    if seen.get("done"):
        return Verified(batch, limit_bytes, True, seen["point"]["device_bytes"], f"{steps} steps ran")
    return Verified(batch, limit_bytes, False, None, seen.get("raised") or seen.get("error") or failed or "did not end")


def _try(say: Say, told: dict[str, Any], hold: Hold) -> None:
    from crashcart.cli.fit_trial_child import main

    main(told, hold, say)


class Store:
    """Results in a JSON file, by row and versions; each is kept at once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.rows: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}

    @staticmethod
    def key(name: str, phase: str, target: str, batch: int | None = None) -> str:
        """Of one row, for the versions that are installed, and on the host for the kernels and the allocator there."""
        middle = f"/{batch}" if batch is not None else ""
        where = f"/{machine()}" if target == "host" else ""
        return f"{name}/{phase}{middle}/{target}/{versions()}{where}"

    def keep(self, key: str, row: dict[str, Any]) -> None:
        """Add or replace a row."""
        self.rows[key] = row
        self._path.write_text(json.dumps(self.rows, indent=1, sort_keys=True) + "\n", encoding="utf-8")
