"""Run every program plain and under the guard: output and ending have to be the same, and the guard has to keep silent.

python -m bench.alarms [--jobs 2] [NAME…]
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from bench import many, trial
from bench.alarms.manifest import ALARMS, Peaceful
from bench.report import table
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
    options = many.parse(many.parser("bench.alarms"))
    rows = many.run(ALARMS, options, measure)
    many.publish("False alarms", "bench-alarms", summarise(rows), whole=not options.names)
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
