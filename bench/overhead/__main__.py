"""Measure what `crashcart run` costs, interleaved with plain runs, and write it to docs/benchmarks.md.

    python -m bench.overhead [--pairs 7]

Step time: the median step of a run under crashcart over that of the plain run next to it; the median of the pairs and
their spread. The watcher: its largest resident size and its processor time over the run. Nothing here is a test: the
targets are printed beside the figures.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from bench.report import table, write_section

PROGRAM = Path(__file__).parent / "programs" / "train.py"
CRASHCART = [sys.executable, "-m", "crashcart", "run", "--"]
SETTLED_S = 3.0
"""The watcher's own start takes 0.2 s of processor time; its share is measured from here on."""
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "2"}


@dataclass
class Watcher:
    """What the watching process used."""

    rss_bytes: list[int] = field(default_factory=list)
    cpu_shares: list[float] = field(default_factory=list)


def main() -> int:
    parser = argparse.ArgumentParser("bench.overhead")
    parser.add_argument("--pairs", type=int, default=7)
    pairs = parser.parse_args().pairs
    home = tempfile.mkdtemp(prefix="crashcart-bench-")
    environment = {**os.environ, **QUIET, "CRASHCART_HOME": home}
    watcher = Watcher()
    rows = []
    for model, steps in (("small", 3000), ("large", 36)):
        ratios = step_ratios(model, steps, pairs, environment, watcher)
        rows.append([f"training step, {model} model", _spread(ratios, "×"), "≤ 1.01 ×"])
    rows.append(["watcher, resident", f"{max(watcher.rss_bytes) / 1e6:.1f} MB", "≤ 25 MB"])
    rows.append(
        ["watcher, processor far from the limit", f"{statistics.median(watcher.cpu_shares):.2%} of a core", "≤ 1 %"]
    )
    rows.append(["`import crashcart`", _spread(import_ms(), "ms"), "≤ 60 ms"])
    rows.append(["from death to printed verdict", _spread(verdict_s(environment), "s"), "≤ 1 s"])
    body = table(["what", "median (least … most)", "target"], rows) + f"\n\n{pairs} interleaved pairs per model."
    print(body)
    write_section("Cost of recording", "make bench-overhead", body)
    return 0


def _spread(values: list[float], unit: str) -> str:
    digits = 3 if unit == "×" else 2 if unit == "s" else 1
    middle, least, most = statistics.median(values), min(values), max(values)
    return f"{middle:.{digits}f} {unit} ({least:.{digits}f} … {most:.{digits}f})"


def step_ratios(model: str, steps: int, pairs: int, environment: dict[str, str], watcher: Watcher) -> list[float]:
    command = [sys.executable, str(PROGRAM), model, str(steps)]
    ratios = []
    for number in range(pairs):
        order = [False, True] if number % 2 == 0 else [True, False]
        medians = {watched: _median_step(command, watched, environment, watcher) for watched in order}
        ratios.append(medians[True] / medians[False])
        print(
            f"{model} pair {number + 1}: plain {medians[False] * 1e3:.3f} ms, watched {medians[True] * 1e3:.3f} ms, {ratios[-1]:.3f} ×",
            flush=True,
        )
    return ratios


def _median_step(command: list[str], watched: bool, environment: dict[str, str], watcher: Watcher) -> float:
    started_s = time.monotonic()
    process = subprocess.Popen(
        [*(CRASHCART if watched else []), *command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
    )
    rss_bytes, cpu_s = 0, 0.0
    begun: tuple[float, float] | None = None
    while watched and process.poll() is None:
        rss_bytes, cpu_s = _use(process.pid, rss_bytes, cpu_s)
        now_s = time.monotonic()
        if begun is None and now_s - started_s >= SETTLED_S:
            begun = (now_s, cpu_s)
        time.sleep(0.5)
    ended_s = time.monotonic()
    output, _ = process.communicate(timeout=300)
    if watched and begun is not None:
        watcher.rss_bytes.append(rss_bytes)
        watcher.cpu_shares.append((cpu_s - begun[1]) / (ended_s - begun[0]))
    return statistics.median(json.loads(output))


def _use(pid: int, rss_bytes: int, cpu_s: float) -> tuple[int, float]:
    """Resident size and processor time of the watcher while the program still runs (it has a child)."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return rss_bytes, cpu_s
    if not children:
        return rss_bytes, cpu_s
    ticks = os.sysconf("SC_CLK_TCK")
    resident = int(fields[21]) * os.sysconf("SC_PAGE_SIZE")
    return max(rss_bytes, resident), (int(fields[11]) + int(fields[12])) / ticks


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
