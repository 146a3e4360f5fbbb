"""Measure what `crashcart run` costs, interleaved with plain runs, and write it to docs/benchmarks.md.

    python -m bench.overhead [--pairs 7]

Step time: a plain and a watched program train at the same time, block by block in turn (`bench.lockstep`), so that the
noise of the machine hits both; the median of the pairs and their spread. The watcher: its largest resident size and its
share of a core while the program trains without a pause. Nothing here is a test: the targets are printed beside the
figures.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.lockstep import Contender, compare, with_and_without_lead
from bench.processes import cpu_s
from bench.report import spread, table, write_section

PROGRAM = Path(__file__).parent / "programs" / "train.py"
CRASHCART = [sys.executable, "-m", "crashcart", "run", "--"]
BLOCKS = 10
WATCHED_S = 20.0
NOTE = """{pairs} sets of processes per model; in each, {blocks} blocks of steps (about half a second each) of the plain, the
watched and a second plain program alternate, the others and their watchers being stopped meanwhile; a figure is the median of
block ratios. Two processes differ by their memory's layout alone, so the last line of each model compares one process with
itself: its watcher running, and stopped."""
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "2"}


def main() -> int:
    parser = argparse.ArgumentParser("bench.overhead")
    parser.add_argument("--pairs", type=int, default=7)
    pairs = parser.parse_args().pairs
    home = tempfile.mkdtemp(prefix="crashcart-bench-")
    environment = {**os.environ, **QUIET, "CRASHCART_HOME": home}
    rows = []
    for model, steps in (("small", 150), ("large", 3)):
        watched, again = step_ratios(model, steps, pairs, environment)
        rows.append([f"training step, {model} model, over plain", spread(watched, "×"), "≤ 1.01 ×"])
        rows.append(["the same, a second plain process over the first", spread(again, "×"), "1: the noise"])
        watching = watching_ratios(model, steps, environment)
        rows.append(["the same, watcher running over watcher stopped", spread(watching, "×"), "≤ 1.01 ×"])
    resident_bytes, share = watcher_use(environment)
    rows.append(["watcher, resident", f"{resident_bytes / 1e6:.1f} MB", "≤ 25 MB"])
    rows.append(["watcher, processor far from the limit", f"{share:.2%} of a core", "≤ 1 %"])
    rows.append(["`import crashcart`", spread(import_ms(), "ms"), "≤ 60 ms"])
    rows.append(["from death to printed verdict", spread(verdict_s(environment), "s"), "≤ 1 s"])
    body = table(["what", "median (least … most)", "target"], rows) + f"\n\n{NOTE.format(pairs=pairs, blocks=BLOCKS)}"
    print(body)
    write_section("Cost of recording", "make bench-overhead", body)
    return 0


def step_ratios(model: str, steps: int, pairs: int, environment: dict[str, str]) -> tuple[list[float], list[float]]:
    """For each set of processes, the watched one over the plain one, and a second plain one over the first; all take turns,
    block by block."""
    command = [sys.executable, str(PROGRAM), model, str(steps)]
    contenders = {"plain": command, "watched": [*CRASHCART, *command], "again": command}
    watched, again = [], []
    for number in range(pairs):
        contenders = dict(reversed(contenders.items()))  # who starts first gets the better memory now and then
        found = compare(contenders, environment, BLOCKS)
        watched.append(found["watched"])
        again.append(found["again"])
        print(f"{model} {number + 1}: watched {watched[-1]:.3f} ×, plain again {again[-1]:.3f} ×", flush=True)
    return watched, again


def watching_ratios(model: str, steps: int, environment: dict[str, str]) -> list[float]:
    """One and the same process with its watcher running and stopped: what does not depend on a process's luck."""
    command = [*CRASHCART, sys.executable, str(PROGRAM), model, str(steps)]
    return [with_and_without_lead("watched", command, environment, 2 * BLOCKS) for _ in range(3)]


def watcher_use(environment: dict[str, str]) -> tuple[int, float]:
    """The watcher's largest resident size, and its share of a core while the program trains without a pause."""
    command = [*CRASHCART, sys.executable, str(PROGRAM), "small", "20000"]
    contender = Contender("watched", command, environment)
    try:
        contender.wait_ready()
        assert contender.process.stdin is not None
        contender.process.stdin.write("go\n")
        began_s, began_cpu_s = time.monotonic(), cpu_s(contender.process.pid)
        largest = 0
        while time.monotonic() - began_s < WATCHED_S:
            time.sleep(0.5)
            largest = max(largest, contender.resident_bytes())
        share = (cpu_s(contender.process.pid) - began_cpu_s) / (time.monotonic() - began_s)
        return largest, share
    finally:
        contender.process.terminate()
        contender.close()


def import_ms() -> list[float]:
    """The difference of `import crashcart` and an empty interpreter, a pair at a time."""
    differences = []
    for _ in range(15):
        times = {}
        for code in ("pass", "import crashcart"):
            start_s = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True)
            times[code] = time.perf_counter() - start_s
        differences.append((times["import crashcart"] - times["pass"]) * 1e3)
    return differences


def verdict_s(environment: dict[str, str]) -> list[float]:
    """From the moment a program kills itself to the first byte of the verdict on stderr."""
    code = "import os, time\nprint(time.time(), flush=True)\nos.kill(os.getpid(), 9)\n"
    found = []
    for _ in range(9):
        with subprocess.Popen(
            [*CRASHCART, sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
        ) as run:
            assert run.stdout is not None and run.stderr is not None
            died_s = float(run.stdout.readline())
            run.stderr.read(1)
            found.append(time.time() - died_s)
            run.stderr.read()
    return found


if __name__ == "__main__":
    sys.exit(main())
