"""`cc.bounded` in memory groups: pipelines that are killed as written finish with the same elements.

    python -m bench.pipeline.bounded [--write]    # each pipeline of the zoo, plain and bounded, in the same group

The exit code is 1 where a bounded one was killed, grew above its budget, or gave other elements than the plain one.

Covers: growth of the resident memory over the moment before the dataset is bounded, a slow consumer, the elements, the kernel's kills.
Does not cover: speed (`bench.pipeline.bounded_speed`), pipelines whose elements do not fit at all.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.group import enter, memory_group, oom_kills, unavailable
from bench.pipeline.aims import aim
from bench.pipeline.bounded_zoo import ZOO
from bench.report import table, write_section

BUDGET_MB = 512
BASE_MB = 700
"""What Python and TensorFlow take before the first element, and some room for it."""
LIMIT_MB = BASE_MB + BUDGET_MB
ROOMY_MB = 12000
"""For the plain run that the elements are compared with."""
MARK = "row "
TIMEOUT_S = 600.0


def child(name: str, budget: str, pause_s: float, epochs: int = 1) -> None:
    """Run one pipeline of the zoo, bounded where a budget is given, and say what it held and gave."""
    import tensorflow as tf

    import crashcart as cc
    from crashcart.probe.own_memory import forget_peak, status_bytes

    with tempfile.TemporaryDirectory() as folder:
        dataset = ZOO[name](Path(folder))
        sum(1 for _ in tf.data.Dataset.range(10).map(_warm))
        forget_peak()
        base = status_bytes("VmRSS")
        began = time.perf_counter()
        if budget:
            dataset = cc.bounded(dataset, budget)
        numbers = _numbers(dataset, pause_s, epochs)
        seconds = time.perf_counter() - began
        row = {
            "growth_bytes": status_bytes("VmHWM") - base,
            "base_bytes": base,
            "elements": len(numbers),
            "multiset": hashlib.sha1(json.dumps(sorted(numbers)).encode()).hexdigest()[:12],
            "order": hashlib.sha1(json.dumps(numbers).encode()).hexdigest()[:12],
            "seconds": seconds,
            "report": str(dataset.report) if budget else None,
        }
    print(MARK + json.dumps(row), flush=True)


def _warm(each: Any) -> Any:
    return each + 1


def _numbers(dataset: Any, pause_s: float, epochs: int) -> list[int]:
    """Which elements came, in their order. The consumer pauses at first, so that every buffer fills."""
    import numpy as np

    found: list[int] = []
    for _ in range(epochs):
        for index, element in enumerate(dataset):
            if index == 2:
                time.sleep(pause_s)
            last = element[-1] if isinstance(element, tuple) else element
            found += np.atleast_1d(last.numpy()).tolist()
    return found


def run(name: str, budget: str, limit_mb: int | None, pause_s: float = 3.0) -> tuple[dict[str, Any] | None, int]:
    """One child in a group of its own: what it said, and how often the kernel killed there."""
    call = f"from bench.pipeline.bounded import child; child({name!r}, {budget!r}, {pause_s})"
    with memory_group(limit_mb) as group:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", call],
            env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: enter(group),
            timeout=TIMEOUT_S,
        )
        kills = oom_kills(group) if group is not None else 0
    rows = [json.loads(line.removeprefix(MARK)) for line in done.stdout.splitlines() if line.startswith(MARK)]
    return (rows[0] if rows else None), kills


def tried(name: str, reference: bool) -> dict[str, Any]:
    """One pipeline plain and bounded in the same group; the elements beside those of a plain run with room, where asked."""
    plain, kills = run(name, "", LIMIT_MB)
    held, held_kills = run(name, f"{BUDGET_MB}MiB", LIMIT_MB)
    free = run(name, "", ROOMY_MB, pause_s=0.0)[0] if reference else None
    both = free is not None and held is not None
    return {
        "name": name,
        "plain": "finished" if plain else f"killed ({kills})",
        "kills": held_kills,
        "growth_bytes": held["growth_bytes"] if held else None,
        "elements": held["elements"] if held else None,
        "same": free["multiset"] == held["multiset"] if both and free and held else None,
        "order": free["order"] == held["order"] if both and free and held else None,
        "report": held["report"] if held else None,
    }


def is_good(row: dict[str, Any]) -> bool:
    """It lived, stayed within the budget, and gave the elements of the plain one as far as those are known."""
    grown = row["growth_bytes"]
    return grown is not None and grown <= BUDGET_MB << 20 and not row["kills"] and row["same"] is not False


def cells(row: dict[str, Any]) -> list[str]:
    grown = row["growth_bytes"]
    said = {True: "the same", False: "**others**", None: "not compared"}
    order = {True: ", the same order", False: ", another order", None: ""}[row["order"]]
    return [
        row["name"].replace("_", " "),
        row["plain"],
        f"killed ({row['kills']})" if grown is None else f"{grown >> 20} MiB",
        "–" if row["elements"] is None else f"{row['elements']}: {said[row['same']]}{order}",
    ]


def report(rows: list[dict[str, Any]]) -> str:
    """The table, and whether the aim was met."""
    lines = [
        f"In a memory group of {LIMIT_MB} MiB, of which Python and TensorFlow take up to {BASE_MB}: each pipeline as it is written, and as",
        f"`cc.bounded(dataset, '{BUDGET_MB}MiB')`, with a consumer that pauses until all buffers are full. Growth is that of the resident",
        "memory over the moment before the dataset is bounded. The elements are compared with those of a plain run that has room.",
        "",
        table(["pipeline", "plain", "bounded grew by", "elements"], [cells(each) for each in rows]),
        "",
    ]
    good, killed = sum(map(is_good, rows)), sum(each["plain"] != "finished" for each in rows)
    lived = sum(each["growth_bytes"] is not None for each in rows)
    lines += [
        f"As written, {killed} of {len(rows)} were killed; bounded, {lived} of {len(rows)} finished.",
        "",
        aim("every bounded one stays within the budget and gives the same elements", good == len(rows), f"{good} of {len(rows)}"),
    ]  # fmt: skip
    return "\n".join(lines)


def main(argv: Sequence[str]) -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="one pipeline of the zoo")
    parser.add_argument("--no-reference", action="store_true", help="do not run the plain one with room, too")
    parser.add_argument(
        "--write", action="store_true", help="write the section in docs/benchmarks.md; only of the whole zoo"
    )
    asked = parser.parse_args(argv)
    if why := unavailable():
        print(why)
        return 3
    rows = []
    for name in [asked.only] if asked.only else list(ZOO):
        rows.append(tried(name, not asked.no_reference))
        print(" | ".join(cells(rows[-1])), flush=True)
        print("   " + str(rows[-1]["report"]).replace("\n", "\n   "), flush=True)
    body = report(rows)
    print(body)
    if asked.write and not asked.only:
        write_section("Pipelines in a budget", "make bench-pipeline", body)
    return 0 if all(map(is_good, rows)) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
