"""Measure what the guard costs far from the limit, in lockstep with plain runs and with other tools.

    python -m bench.guard_cost [--rounds 9] [--peer-rounds 2] [--blocks 10] [--work NAME]

In a round the ways that can run the program live at once and take turns block by block (`bench.lockstep`); its figure is
the median ratio to the plain block beside it, over the mean of two plain processes. Two processes of one program differ by some percent from the layout of their
memory alone, so the small cost of the guard needs many rounds; the other tools cost far more than that noise and take part
in the first few only. They do more than a guard does (they say where memory goes), so they are
no rivals in this: they show what it costs to see every allocation. Nothing here is a test: the targets are printed beside.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import trial
from bench.guard_cost.contenders import AGAIN, PEERS, WAYS, why_not
from bench.guard_cost.instructions import extra_share
from bench.lockstep import compare
from bench.report import spread, table, write_section

HERE = Path(__file__).resolve().parent
TRAIN = HERE.parent / "overhead" / "programs" / "train.py"
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "2"}
NOTE = """{rounds} rounds of {blocks} blocks each, about half a second to two seconds per block, the other tools in the first
{peers} of them; in a round all programs of a row live at once and take turns block by block. A figure is the median of the rounds
(least … most). "Plain again" is the plain program a second time over the first: the noise of this run; all others are over the mean of the two. Memray, Fil and Scalene record where memory goes, which a guard does not; they stand
here for the price of seeing every allocation, each run with its own defaults and with nothing switched off. "Instructions" are
those that the guard adds to the program's own, counted by valgrind in smaller blocks: a figure that no noise of the machine touches."""


@dataclass(frozen=True)
class Work:
    """A program that answers blocks, and what the guard may cost it."""

    name: str
    program: Path
    args: tuple[str, ...]
    target: float
    counted: tuple[str, ...] | None = None
    """Smaller blocks, in which valgrind counts instructions; for programs of one thread, whose count is the same each time."""


@dataclass(frozen=True)
class Shape:
    """How much is measured."""

    rounds: int
    peer_rounds: int
    blocks: int


WORKS = (
    Work("training step, small model", TRAIN, ("small", "150"), 1.02),
    Work("training step, large model", TRAIN, ("large", "3"), 1.02),
    Work("a million small objects", HERE / "programs" / "objects.py", ("1000000",), 1.05, ("20000",)),
    Work("tables with many temporaries", HERE / "programs" / "frames.py", ("8",), 1.05),
)


def main() -> int:
    parser = argparse.ArgumentParser("bench.guard_cost")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--peer-rounds", type=int, default=2, help="rounds in which the other tools take part")
    parser.add_argument("--blocks", type=int, default=10)
    parser.add_argument("--work", help="only programs whose name contains this; nothing is written then")
    options = parser.parse_args()
    chosen = [each for each in WORKS if not options.work or options.work in each.name]
    if not chosen:
        parser.error(f"no program is named {options.work!r}; there are {', '.join(each.name for each in WORKS)}")
    shape = Shape(options.rounds, options.peer_rounds, options.blocks)
    rows, reasons = [], []
    for work in chosen:
        found, absent = measure(work, shape)
        reasons += [f"{name}, {work.name}: {reason}" for name, reason in absent.items()]
        others = [_ratio(found.get(name), name in absent) for name in WAYS if name != "plain"]
        rows.append([work.name, *others, _instructions(work), f"≤ {work.target:.2f} ×"])
    note = NOTE.format(rounds=shape.rounds, peers=shape.peer_rounds, blocks=shape.blocks)
    parts = [
        table(
            ["what", *(name for name in WAYS if name != "plain"), "crashcart, instructions", "target of crashcart"],
            rows,
        ),
        note,
    ]
    parts += ["Does not run: " + "; ".join(reasons) + "."] if reasons else []
    print("\n" + "\n\n".join(parts))
    if not options.work:
        write_section("Cost of the guard", "make bench-guard-cost", "\n\n".join(parts))
    return 0


def _instructions(work: Work) -> str:
    if work.counted is None:
        return "–"
    with tempfile.TemporaryDirectory(prefix="crashcart-bench-") as home:
        share = extra_share(work.program, work.counted, {**trial.environment(), "CRASHCART_HOME": home})
    print(f"{work.name}, instructions: {'not counted' if share is None else f'{share:+.2%}'}", flush=True)
    return "not counted" if share is None else f"{share:+.1%}"


def measure(work: Work, shape: Shape) -> tuple[dict[str, list[float]], Mapping[str, str]]:
    """The ratios of each way, one per round it took part in, and why the others do not run."""
    with tempfile.TemporaryDirectory(prefix="crashcart-bench-") as folder:
        side = Path(folder)
        environment = {**trial.environment(), **QUIET, "CRASHCART_HOME": str(side / "home")}
        commands = {name: way(work.program, work.args, side) for name, way in WAYS.items()}
        absent = {
            name: reason
            for name, command in commands.items()
            if (reason := why_not(name, command, environment, side)) is not None
        }
        for name, reason in absent.items():
            print(f"{work.name}, {name} does not run: {reason}", flush=True)
        ratios: dict[str, list[float]] = {name: [] for name in commands if name not in absent and name != "plain"}
        for number in range(shape.rounds):
            apart = set(absent) if number < shape.peer_rounds else set(PEERS)
            taking_part = [name for name in commands if name not in apart]
            order = taking_part[:: 1 if number % 2 else -1]  # who starts first gets the better memory now and then
            found = _over_both(compare({name: commands[name] for name in order}, environment, shape.blocks))
            for name, ratio in found.items():
                ratios[name].append(ratio)
            words = ", ".join(f"{name} {ratio:.3f} ×" for name, ratio in found.items())
            print(f"{work.name}, round {number + 1}: {words}", flush=True)
        return ratios, absent


def _over_both(ratios: Mapping[str, float]) -> dict[str, float]:
    """Ratios to the mean of the two plain processes; the second plain one stays over the first, as the noise of the round."""
    plain = (1 + ratios[AGAIN]) / 2
    return {name: ratio if name == AGAIN else ratio / plain for name, ratio in ratios.items()}


def _ratio(ratios: Sequence[float] | None, absent: bool) -> str:
    return spread(ratios, "×") if ratios else "does not run" if absent else "–"


if __name__ == "__main__":
    sys.exit(main())
