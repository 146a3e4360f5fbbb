"""Measure what watching for leaks costs a training, in lockstep with plain runs and with other tools.

    python -m bench.leaks.cost [NAME…] [--rounds 4] [--blocks 30] [--peer-rounds 1] [--peer-blocks 6] [--alone] [--write]

In a round all its ways live at once and take turns block by block (`bench.lockstep`): crashcart with its default settings beside plain
runs in some rounds, then the other tools and `--precise` beside plain runs in others, which take minutes each. The figure of a round is
the median ratio to the plain blocks beside it: of two plain programs where both run, since two processes of one program differ by their
memory's layout alone. Many short blocks tell more than few long ones: the machine's speed drifts within seconds. Both clocks are told: wall time, which is what a user waits, and the processor time of the
program and its watcher together, which other load on the machine does not touch. Nothing here is a test: the aim is printed beside.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import trial
from bench.lockstep import Contender
from bench.processes import cpu_s
from bench.report import spread, table, write_section

FOLDER = Path(__file__).resolve().parent / "programs" / "cost"
AIM = 1.05
AGAIN = "plain again"
OWN = ("plain", AGAIN, "crashcart leaks")
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3"}
NOTE = """{rounds} rounds of {blocks} blocks of about half a second, and of {peer_blocks} blocks in {peer_rounds} for the other tools and `--precise`;
in a round its ways live at once and take turns block by block. A figure is the median of the rounds (least … most) of the median ratio to the
plain blocks beside it. "Plain again" is the plain program a second time, beside the first: the noise; crashcart is compared with the mean of both. Processor
time is that of the program and of its watcher. The other tools run as their manuals say for leaks: memray
with `--trace-python-allocators` (for its `--leaks` reports), `-X tracemalloc=25`, memory_profiler with `@profile` on the function
that trains. `eager loop` keeps a tensor per step, so that crashcart looks for its line as well."""


@dataclass(frozen=True)
class Work:
    """A program, and the argument that makes a block of about half a second."""

    name: str
    size: int


WORKS = (Work("fit_images", 2), Work("compiled_loop", 300), Work("eager_loop", 50))


class Timed(Contender):
    """Answers with both clocks; a watcher's processor time is added to its program's."""

    def __init__(self, name: str, command: Sequence[str], environment: Mapping[str, str], watcher: bool) -> None:
        super().__init__(name, command, environment)
        self.watcher = watcher
        self.cpu: list[float] = []

    def turn(self, lead: bool = True) -> float:
        """One block."""
        before_s = cpu_s(self.process.pid) if self.watcher else 0.0
        answers = self._block(lead)
        after_s = cpu_s(self.process.pid) if self.watcher else 0.0
        self.seconds.append(answers[0])
        self.cpu.append(answers[1] + after_s - before_s)
        return self.seconds[-1]

    def _block(self, lead: bool) -> tuple[float, float]:
        assert self.process.stdin is not None and self.process.stdout is not None
        if lead:
            os.kill(self.process.pid, signal.SIGCONT)
        self.process.stdin.write("go\n")
        words = self.process.stdout.readline().split()
        if len(words) != 2:
            raise RuntimeError(f"{self.name} ended in a block (exit code {self.process.wait()})")
        self.rest()
        return float(words[0]), float(words[1])


def commands(program: Path, size: int, side: Path) -> dict[str, list[str]]:
    """The ways to run it."""
    plain = [str(program), str(size)]
    python = sys.executable
    return {
        "plain": [python, *plain],
        AGAIN: [python, *plain],
        "crashcart leaks": [python, "-m", "crashcart", "leaks", "--", python, *plain],
        "--precise": [python, "-m", "crashcart", "leaks", "--precise", "--", python, *plain],
        "tracemalloc, 25 frames": [python, "-X", "tracemalloc=25", *plain],
        "memray": [python, "-m", "memray", "run", "--quiet", "--force", "--trace-python-allocators", "-o", str(side / "m.bin"), *plain],
        "memory_profiler": [python, "-m", "memory_profiler", *plain],
    }  # fmt: skip


Ratios = dict[str, tuple[float, float]]


def started(ways: Mapping[str, Sequence[str]], environment: Mapping[str, str], absent: dict[str, str]) -> list[Timed]:
    """All ways, warm and stopped; those that do not come up are noted as absent."""
    contenders: list[Timed] = []
    for name, command in ways.items():
        contender = Timed(name, command, environment, watcher="crashcart" in command)
        try:
            contender.wait_ready()
        except RuntimeError as error:
            absent[name] = str(error)
            continue
        time.sleep(0.2)
        contender.rest()
        contenders.append(contender)
    return contenders


def one_round(contenders: Sequence[Timed], blocks: int) -> Ratios:
    """For each way the median ratios to the plain one, of wall and of processor time."""
    try:
        for number in range(blocks):
            shift = number % len(contenders)
            for contender in [*contenders[shift:], *contenders[:shift]]:
                contender.turn()
    finally:
        for contender in contenders:
            contender.close()
    plain = sorted((each for each in contenders if each.name in ("plain", AGAIN)), key=lambda each: each.name)
    return {
        each.name: _over(each, plain[:1] if each in plain else plain) for each in contenders if each is not plain[0]
    }


def _over(mine: Timed, plain: Sequence[Timed]) -> tuple[float, float]:
    """The median ratios to the mean of the plain blocks beside, of wall and of processor time."""
    wall_s, cpu_s = ([statistics.fmean(beside) for beside in zip(*each, strict=True)] for each in _clocks(plain))
    return _median(mine.seconds, wall_s), _median(mine.cpu, cpu_s)


def _clocks(contenders: Sequence[Timed]) -> tuple[list[list[float]], list[list[float]]]:
    return [each.seconds for each in contenders], [each.cpu for each in contenders]


def _median(mine: Sequence[float], other: Sequence[float]) -> float:
    return statistics.median(a / b for a, b in zip(mine, other, strict=True))


def measure(work: Work, own: tuple[int, int], peers: tuple[int, int]) -> list[list[str]]:
    """The rows of one program; so many rounds and blocks for crashcart itself, and for the others."""
    with tempfile.TemporaryDirectory(prefix="crashcart-bench-") as folder:
        side = Path(folder)
        environment = {**trial.environment(), **QUIET, "CRASHCART_HOME": str(side / "home")}
        ways = commands(FOLDER / f"{work.name}.py", work.size, side)
        absent = {
            name: "not installed" for name in ways if name.startswith("mem") and not importlib.util.find_spec(name)
        }
        found: dict[str, list[tuple[float, float]]] = {}
        for names, (rounds, blocks) in ((OWN, own), (("plain", *(name for name in ways if name not in OWN)), peers)):
            for number in range(rounds):
                order = {name: ways[name] for name in names[:: 1 if number % 2 else -1] if name not in absent}
                ratios = one_round(started(order, environment, absent), blocks)
                for name, each in ratios.items():
                    found.setdefault(name, []).append(each)
                words = ", ".join(f"{name} {wall:.3f} × (cpu {cpu:.3f} ×)" for name, (wall, cpu) in ratios.items())
                print(f"{work.name}, round {number + 1}: {words}", flush=True)
    rows = [
        [work.name.replace("_", " "), name, spread([wall for wall, _ in each], "×"), spread([cpu for _, cpu in each], "×"),
         f"≤ {AIM:.2f} ×" if name == "crashcart leaks" else ""]
        for name, each in found.items()
    ]  # fmt: skip
    return rows + [
        [work.name.replace("_", " "), name, f"does not run: {reason}", "", ""] for name, reason in absent.items()
    ]


def main() -> int:
    parser = argparse.ArgumentParser("bench.leaks.cost")
    parser.add_argument("names", nargs="*", metavar="NAME", help="measure these alone")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--blocks", type=int, default=30)
    parser.add_argument("--peer-rounds", type=int, default=1)
    parser.add_argument("--peer-blocks", type=int, default=6)
    parser.add_argument(
        "--alone", action="store_true", help="crashcart with its default settings alone, without the other tools"
    )
    parser.add_argument("--write", action="store_true", help="write the section of docs/benchmarks.md")
    options = parser.parse_args()
    rows = []
    for work in WORKS:
        if not options.names or work.name in options.names:
            peers = (0 if options.alone else options.peer_rounds, options.peer_blocks)
            rows += measure(work, (options.rounds, options.blocks), peers)
    note = NOTE.format(**vars(options))
    body = f"{table(['training', 'under', 'wall time over plain', 'processor time over plain', 'aim'], rows)}\n\n{note}"
    print("\n" + body)
    if options.write and not options.names and not options.alone:
        write_section("Cost of watching for leaks", "make bench-leaks-cost", body)
    return 0


if __name__ == "__main__":
    sys.exit(main())
