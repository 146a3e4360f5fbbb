"""Judge every environment of the bench: what is found, what is missed, what is accused falsely.

python -m bench.doctor [--only NAME] [--real]
"""

from __future__ import annotations

import argparse
import re
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.doctor.choices import compare
from bench.doctor.environment import Environment
from bench.doctor.interpreters import interpreter
from bench.doctor.judge import Judged, judge
from bench.doctor.manifest import ENVIRONMENTS
from bench.report import table, write_section


def main() -> int:
    parser = argparse.ArgumentParser("bench.doctor")
    parser.add_argument("--only", action="append", metavar="NAME", help="judge this environment; may be repeated")
    parser.add_argument(
        "--real", action="store_true", help="build environments with pip, run them, mend them, run them again"
    )
    options = parser.parse_args()
    if options.real:
        from bench.doctor.real import main as real

        return real(options.only)
    chosen = [each for each in ENVIRONMENTS if not options.only or each.name in options.only]
    here = [each for each in chosen if interpreter(each.python)]
    for each in (each for each in chosen if each not in here):
        print(f"{each.name:30} not here: no Python {each.python}")
    rows = [_judged(each) for each in here]
    summary = summarise(rows, len(chosen) - len(here))
    print("\n" + summary)
    if not options.only:
        write_section("Environments", "make bench-doctor", summary)
    return 0 if all(not (row.missed or row.false or row.failed) for row in rows) else 1


def _judged(environment: Environment) -> Judged:
    with tempfile.TemporaryDirectory(prefix="crashcart-doctor-") as folder:
        row = judge(environment, Path(folder))
    print(f"{environment.name:30} {row.seconds:4.1f} s  {result(row)}", flush=True)
    return row


def result(row: Judged) -> str:
    """What became of it, in a few words."""
    parts = [f"missed {each}" for each in row.missed] + [f"false: {each}" for each in row.false] + row.failed
    return "; ".join(parts) or ("found" if row.environment.expect else "nothing found")


def summarise(rows: Sequence[Judged], absent: int) -> str:
    broken = [row for row in rows if row.environment.expect]
    right = [row for row in rows if row.environment.right]
    found = sum(not row.missed for row in broken)
    quiet = sum(not row.false for row in right)
    false = sum(len(row.false) for row in broken)
    seconds = [row.seconds for row in rows]
    lines = [
        f"{found} of {len(broken)} broken environments were found, with the right rule and level; {false} findings beside them were "
        f"wrong. In {quiet} of {len(right)} right ones nothing was found above a note. "
        f"One command took {statistics.median(seconds):.2f} s (median), {max(seconds):.2f} s at most.",
        table(
            ["environment", "what is wrong", "Python", "expected", "result", "the first thing to do"],
            [_row(row) for row in broken],
        ),
        table(["right environment", "what makes it one", "Python", "result"], [_right_row(row) for row in right]),
    ]
    choices = compare()
    lines.insert(
        1,
        f"Plans: for {choices.plans} of them pip's own choice was recorded; of {choices.same + len(choices.other)} versions, doctor "
        f"took {choices.same} to be the same." + "".join(f" Not: {each}." for each in choices.other[:5]),
    )
    if absent:
        lines.insert(1, f"{absent} more were not judged: there was no interpreter for them here.")
    return "\n\n".join(lines)


def _row(row: Judged) -> list[str]:
    each = row.environment
    wanted = ", ".join(f"{code} ({level})" for code, level in each.expect.items())
    return [each.name, each.says, each.python, wanted, result(row), _short(row.remedy)]


def _right_row(row: Judged) -> list[str]:
    return [row.environment.name, row.environment.says, row.environment.python, result(row)]


def _short(remedy: str) -> str:
    """Without the folder of this one run, and without what would end a cell."""
    remedy = re.sub(r"(?<=PYTHONPATH=)[^\s`]+", "…", remedy)
    return re.sub(r"[^\s`]*crashcart-doctor-[^\s`/]*(?:/venv)?", "…", remedy).replace("|", "\\|")


if __name__ == "__main__":
    sys.exit(main())
