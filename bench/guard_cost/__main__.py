"""Measure what the guard costs far from the limit, in lockstep with plain runs and with other tools.

    python -m bench.guard_cost [--rounds 2] [--blocks 12] [--only NAME]

In a round all ways that can run the program live at once and take turns block by block (`bench.lockstep`); its figure is
the median ratio to the plain block beside it. The tools do more than a guard does (they say where memory goes), so they are
no rivals in this: they show what it costs to see every allocation. Nothing here is a test: the targets are printed beside.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import trial
from bench.guard_cost.contenders import WAYS, why_not
from bench.lockstep import compare
from bench.report import table, write_section

HERE = Path(__file__).resolve().parent
TRAIN = HERE.parent / "overhead" / "programs" / "train.py"
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "2"}
NOTE = """{rounds} rounds of {blocks} blocks each, about half a second to two seconds per block; in a round all programs of a row live
at once and take turns block by block. "Plain again" is the plain program a second time: the noise of this run. Memray, Fil and Scalene record where memory goes, which a guard does not; they stand
here for the price of seeing every allocation, each run with its own defaults and with nothing switched off."""


@dataclass(frozen=True)
class Work:
    """A program that answers blocks, and what the guard may cost it."""

    name: str
    program: Path
    args: tuple[str, ...]
    target: float


WORKS = (
    Work("training step, small model", TRAIN, ("small", "150"), 1.02),
    Work("training step, large model", TRAIN, ("large", "3"), 1.02),
    Work("a million small objects", HERE / "programs" / "objects.py", ("1000000",), 1.05),
    Work("tables with many temporaries", HERE / "programs" / "frames.py", ("8",), 1.05),
)


def main() -> int:
    parser = argparse.ArgumentParser("bench.guard_cost")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--blocks", type=int, default=12)
    parser.add_argument("--only", action="append", metavar="WAY", help="compare this way with plain; may be repeated")
    options = parser.parse_args()
    ways = [name for name in WAYS if name.startswith("plain") or not options.only or name in options.only]
    rows, reasons = [], []
    for work in WORKS:
        found, absent = measure(work, ways, options.rounds, options.blocks)
        reasons += [f"{name}, {work.name}: {reason}" for name, reason in absent.items()]
        rows.append([work.name, *(_spread(found.get(name)) for name in ways[1:]), f"≤ {work.target:.2f} ×"])
    note = NOTE.format(rounds=options.rounds, blocks=options.blocks)
    parts = [table(["what", *ways[1:], "target of crashcart"], rows), note]
    parts += ["Does not run: " + "; ".join(reasons) + "."] if reasons else []
    print("\n" + "\n\n".join(parts))
    if not options.only:
        write_section("Cost of the guard", "make bench-guard-cost", "\n\n".join(parts))
    return 0


def measure(
    work: Work, ways: Sequence[str], rounds: int, blocks: int
) -> tuple[dict[str, list[float]], Mapping[str, str]]:
    """The ratios of each way, one per round, and why the others do not run."""
    with tempfile.TemporaryDirectory(prefix="crashcart-bench-") as folder:
        side = Path(folder)
        environment = {**trial.environment(), **QUIET, "CRASHCART_HOME": str(side / "home")}
        commands = {name: WAYS[name](work.program, work.args, side) for name in ways}
        absent = {
            name: reason
            for name, command in commands.items()
            if (reason := why_not(name, command, environment, side)) is not None
        }
        running = {name: command for name, command in commands.items() if name not in absent}
        ratios: dict[str, list[float]] = {name: [] for name in running if name != "plain"}
        for number in range(rounds):
            running = dict(reversed(running.items()))  # who starts first gets the better memory now and then
            for name, ratio in compare(running, environment, blocks).items():
                ratios[name].append(ratio)
            words = ", ".join(f"{name} {values[-1]:.3f} ×" for name, values in ratios.items())
            print(f"{work.name}, round {number + 1}: {words}", flush=True)
        for name, reason in absent.items():
            print(f"{work.name}, {name} does not run: {reason}", flush=True)
        return ratios, absent


def _spread(ratios: Sequence[float] | None) -> str:
    if not ratios:
        return "does not run"
    return f"{statistics.median(ratios):.3f} × ({min(ratios):.3f} … {max(ratios):.3f})"


if __name__ == "__main__":
    sys.exit(main())
