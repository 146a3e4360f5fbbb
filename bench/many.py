"""The command line of a bench that runs many programs: which of them, how many at once, and where the results go.

Covers: the options that these benches share, the refusal where no memory group can be made, the run, the page.
Does not cover: measuring and judging one program, and what is said about all; each bench does.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeVar

from bench import group
from bench.report import write_section


class Named(Protocol):
    """One program of a bench."""

    @property
    def name(self) -> str:
        """By which it can be chosen."""


Program = TypeVar("Program", bound=Named)
Row = TypeVar("Row")


def parser(bench: str, jobs: int = 2) -> argparse.ArgumentParser:
    """With the options that all have; a bench adds its own."""
    found = argparse.ArgumentParser(bench)
    found.add_argument("names", nargs="*", metavar="NAME", help="run these alone; writes nothing")
    found.add_argument("--only", action="append", metavar="NAME", default=[], help="the same; may be repeated")
    found.add_argument("--jobs", type=int, default=jobs, help=f"how many run at once (default {jobs})")
    return found


def parse(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """The options; ends with code 3 where no memory group can be made."""
    options = parser.parse_args()
    if group.unavailable():
        print(group.unavailable())
        sys.exit(3)
    options.names += options.only
    return options


def chosen(programs: Sequence[Program], options: argparse.Namespace) -> list[Program]:
    """Those that were named; all where none was."""
    return [each for each in programs if not options.names or each.name in options.names]


def run(programs: Sequence[Program], options: argparse.Namespace, measure: Callable[[Program], Row]) -> list[Row]:
    """Measure the chosen ones, in their order."""
    with ThreadPoolExecutor(options.jobs) as pool:
        return list(pool.map(measure, chosen(programs, options)))


def publish(title: str, target: str, summary: str, whole: bool) -> None:
    """Print the summary, and put it on the page of the benches where it is of all programs and of all ways."""
    print("\n" + summary)
    if whole:
        write_section(title, f"make {target}", summary)
