"""What `cc.bounded` and `cc.explain_errors` cost where the plain pipeline fits and nothing fails.

    python -m bench.pipeline.bounded_speed [--rounds 12] [--only NAME] [--write]

Covers: epochs of real pipelines, plain, bounded and explained in turns (`bench.lockstep`), so that the noise of a shared machine hits all alike.
Does not cover: memory (`bench.pipeline.bounded`).
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.lockstep import Contender
from bench.pipeline.aims import aim
from bench.pipeline.speed_cases import CASES
from bench.report import table, write_section

BUDGET = "2GiB"
AIM = 0.9
"""Of the plain one's throughput."""


FORMS = ("plain", "bounded", "explained")


def child(name: str, form: str) -> None:
    """An epoch for each line on stdin, and its seconds as the answer."""
    import crashcart as cc

    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        dataset = CASES[name](Path(folder))
        if form == "bounded":
            dataset = cc.bounded(dataset, BUDGET)
        elif form == "explained":
            dataset = cc.explain_errors(dataset)
        _epoch(dataset)
        print("ready", flush=True)
        for _ in sys.stdin:
            print(_epoch(dataset), flush=True)


def _epoch(dataset: Any) -> float:
    began = time.perf_counter()
    for _ in dataset:
        pass
    return time.perf_counter() - began


def compared(name: str, rounds: int) -> dict[str, list[float]]:
    """Seconds of each form's epochs, round by round, in an order that turns so that none is always first."""
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    code = "from bench.pipeline.bounded_speed import child; child({!r}, {!r})"
    contenders = [Contender(form, [sys.executable, "-c", code.format(name, form)], environment) for form in FORMS]
    try:
        for each in contenders:
            each.wait_ready()
            each.rest()
        for index in range(rounds):
            shift = index % len(contenders)
            for each in contenders[shift:] + contenders[:shift]:
                each.turn()
    finally:
        for each in contenders:
            each.process.kill()
    return {each.name: each.seconds for each in contenders}


def ratios(seconds: dict[str, list[float]], form: str) -> tuple[float, float, float]:
    """Throughput beside the plain one: quartiles of the rounds' ratios."""
    found = [a / b for a, b in zip(seconds["plain"], seconds[form], strict=True)]
    low, middle, high = statistics.quantiles(found, n=4)
    return low, middle, high


def cells(name: str, seconds: dict[str, list[float]]) -> list[str]:
    parts = [
        f"{middle:.2f} × ({low:.2f} … {high:.2f})"
        for low, middle, high in (ratios(seconds, each) for each in FORMS[1:])
    ]
    return [name, f"{statistics.median(seconds['plain']):.2f} s", *parts]


def report(found: dict[str, dict[str, list[float]]], rounds: int) -> str:
    """The table, and whether the aim was met."""
    slowest = min((ratios(each, "bounded")[1], name) for name, each in found.items())
    head = ["pipeline", "plain, an epoch", "`cc.bounded`", "`cc.explain_errors`"]
    lines = [
        f"Throughput beside the plain pipeline, where that one fits (a budget of {BUDGET}): the median of {rounds} rounds, and their quartiles.",
        "All forms live at once and take turns epoch by epoch; who is first changes from round to round.",
        "",
        table(head, [cells(name, each) for name, each in found.items()]),
        "",
        aim(
            f"bounded pipelines have at least {AIM} of the plain one's throughput",
            slowest[0] >= AIM,
            f"the slowest: {slowest[1]}, {slowest[0]:.2f}",
        ),
    ]
    return "\n".join(lines)


def main(argv: Sequence[str]) -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--only", choices=tuple(CASES))
    parser.add_argument(
        "--write", action="store_true", help="write the section in docs/benchmarks.md; only of all cases"
    )
    asked = parser.parse_args(argv)
    if asked.rounds < 2:
        parser.error("--rounds takes 2 or more: quartiles need them")
    found = {}
    for name in [asked.only] if asked.only else CASES:
        found[name] = compared(name, asked.rounds)
        print(" | ".join(cells(name, found[name])), flush=True)
    body = report(found, asked.rounds)
    print(body)
    if asked.write and not asked.only:
        write_section("The speed of bounded pipelines", "make bench-pipeline", body)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
