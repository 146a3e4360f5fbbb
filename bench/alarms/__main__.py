"""Run every program plain and under the guard: output and ending have to be the same, and the guard has to keep silent.

python -m bench.alarms [--only NAME] [--jobs 1]
"""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from bench import group, trial
from bench.alarms.manifest import ALARMS, Peaceful
from bench.report import table, write_section
from bench.trial import Ran


@dataclass(frozen=True)
class Row:
    """One program and its two runs."""

    peaceful: Peaceful
    plain: Ran
    guarded: Ran

    @property
    def disturbed(self) -> str | None:
        """In what the guarded run differs; None where it does not."""
        if self.plain.status != 0:
            return f"plain run failed ({self.plain.status}): {_last_line(self.plain.stderr)}"
        events = [line for line in self.guarded.stderr.splitlines() if line.startswith("crashcart:")]
        if events:
            return f"the guard spoke: {events[0]}"
        if self.guarded.status != self.plain.status:
            return f"ended with {self.guarded.status}: {_last_line(self.guarded.stderr)}"
        return _difference(self.plain.stdout, self.guarded.stdout)


def main() -> int:
    parser = argparse.ArgumentParser("bench.alarms")
    parser.add_argument("--only", action="append", metavar="NAME", help="run this program; may be repeated")
    parser.add_argument("--jobs", type=int, default=2, help="how many programs run at once (default 2)")
    options = parser.parse_args()
    if group.unavailable():
        print(group.unavailable())
        return 3
    chosen = [each for each in ALARMS if not options.only or each.name in options.only]
    with ThreadPoolExecutor(options.jobs) as pool:
        rows = list(pool.map(measure, chosen))
    summary = summarise(rows)
    print("\n" + summary)
    if not options.only:
        write_section("False alarms", "make bench-alarms", summary)
    return 0


def measure(peaceful: Peaceful) -> Row:
    row = Row(peaceful, trial.run(peaceful.program, guarded=False), trial.run(peaceful.program, guarded=True))
    times = f"{row.plain.seconds:5.1f} s {row.guarded.seconds:5.1f} s"
    print(f"{peaceful.name:20} {peaceful.program.limit_mb:5} MB {times}  {row.disturbed or 'undisturbed'}", flush=True)
    return row


def summarise(rows: Sequence[Row]) -> str:
    quiet = sum(row.disturbed is None for row in rows)
    return "\n\n".join(
        (
            f"{quiet} of {len(rows)} programs that rightly use memory ran undisturbed: the same output and exit status as without "
            "the guard, and not a word from it.",
            table(["program", "what it does", "limit", "plain", "guarded", "result"], [_row(row) for row in rows]),
        )
    )


def _row(row: Row) -> list[str]:
    times = [f"{ran.seconds:.1f} s" for ran in (row.plain, row.guarded)]
    limit = f"{row.peaceful.program.limit_mb} MB"
    return [row.peaceful.name, row.peaceful.does, limit, *times, row.disturbed or "undisturbed"]


def _difference(plain: str, guarded: str) -> str | None:
    if plain == guarded:
        return None
    changed = [line for line in difflib.ndiff(plain.splitlines(), guarded.splitlines()) if line[:1] in "+-"]
    return "printed otherwise: " + "; ".join(changed)


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["no output"])[-1]


if __name__ == "__main__":
    sys.exit(main())
