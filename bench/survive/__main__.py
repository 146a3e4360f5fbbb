"""Run every program plain, which the kernel has to kill, and under the guard, which has to keep it alive.

    python -m bench.survive [--no-plain] [--jobs 2] [NAME…]

Each run has a fresh memory group that holds the program and its watcher. `--roomy` runs the programs plain in 8 GB instead:
there they finish undisturbed and have to print the result that the manifest names.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from bench import many, trial
from bench.report import table
from bench.survive import outcome
from bench.survive.manifest import THREATS
from bench.survive.outcome import Outcome
from bench.survive.threat import Threat

_ROOMY_MB = 8000


@dataclass(frozen=True)
class Row:
    """One program, without the guard and with it; None where it was not run that way."""

    threat: Threat
    plain: Outcome | None
    guarded: Outcome | None
    seconds: float


def main() -> int:
    parser = many.parser("bench.survive")
    parser.add_argument("--plain-too", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--no-plain", action="store_false", dest="plain_too", help="the same as --no-plain-too")
    parser.add_argument("--no-guarded", action="store_true", help="the plain runs alone")
    parser.add_argument("--roomy", action="store_true", help="check the results in a group that is large enough")
    options = many.parse(parser)
    if options.roomy:
        return check_results(many.chosen(THREATS, options))
    rows = many.run(THREATS, options, lambda each: measure(each, options.plain_too, not options.no_guarded))
    whole = not options.names and options.plain_too and not options.no_guarded
    many.publish("Survival", "bench-survive", summarise(rows), whole)
    return 0


def measure(threat: Threat, plain_too: bool, guarded_too: bool) -> Row:
    program, seconds = threat.as_program(), 0.0
    plain = guarded = None
    if plain_too:
        ran = trial.run(program, guarded=False)
        plain, seconds = outcome.of_plain(threat, ran), ran.seconds
    if guarded_too:
        ran = trial.run(program, guarded=True, report=True)
        guarded, seconds = outcome.of_guarded(threat, ran), ran.seconds
    words = " | ".join(each.words for each in (plain, guarded) if each is not None)
    print(f"{threat.name:24} {threat.limit_mb:5} MB {seconds:5.1f} s  {words}", flush=True)
    return Row(threat, plain, guarded, seconds)


def check_results(threats: Sequence[Threat]) -> int:
    """Each program with more memory than it wants: what it prints then is the truth."""
    wrong = 0
    for threat in threats:
        found = trial.run(dataclasses.replace(threat.as_program(), limit_mb=_ROOMY_MB), guarded=False)
        said = outcome.of_guarded(threat, found)
        right = said == Outcome(True, "finished")
        wrong += not right
        print(f"{threat.name:24} {'right' if right else said.words} {found.stderr[-300:] if not right else ''}")
    return 1 if wrong else 0


def summarise(rows: Sequence[Row]) -> str:
    guarded = [row for row in rows if row.guarded is not None]
    parts = []
    if any(row.plain for row in rows):
        killed = sum(row.plain is not None and not row.plain.lived for row in rows)
        parts.append(f"{killed} of {len(rows)} programs are killed for memory by the kernel without the guard.")
    if guarded:
        lived = [row.guarded.words for row in guarded if row.guarded and row.guarded.lived]
        ways = Counter(words.partition(":")[0] for words in lived)
        how = f" ({', '.join(f'{count} {way}' for way, count in ways.most_common())})" if ways else ""
        parts.append(
            f"With it, {len(lived)} of {len(guarded)} lived on{how}. Lived on: exit code 0, and a right result from what the "
            "program had before and from something new."
        )
    parts.append(
        table(["program", "what eats the memory", "limit", "plain", "guarded", "time"], [_row(row) for row in rows])
    )
    return "\n\n".join(parts)


def _row(row: Row) -> list[str]:
    plain, guarded = (each.words if each else "–" for each in (row.plain, row.guarded))
    limit = f"{row.threat.limit_mb} MB"
    return [row.threat.name, row.threat.eats, limit, plain, guarded, f"{row.seconds:.0f} s"]


if __name__ == "__main__":
    sys.exit(main())
