"""Run every program under `crashcart leaks`, compare what it says with what is true, and write docs/benchmarks.md.

    python -m bench.leaks [NAME…] [--folder DIR] [--bad] [--sensitivity] [--write]

Without a name: all programs, the bad input and the sensitivity, one run at a time. `--folder`: programs that are not in the repository,
with a `manifest.json`.
Truths that are missing in `truths.json` are measured by `python -m bench.leaks.truth`. Nothing here is a test: the aims stand beside
the figures.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from bench import group
from bench.leaks import bad, sensitivity, truth
from bench.leaks.judge import HOLDER_AIM, LINE_AIM, PRECISION_AIM, RECALL_AIM, Said, figures, judged
from bench.leaks.manifest import SUBJECTS, Subject, outside
from bench.leaks.watched import watch
from bench.report import table, write_section

NOTE = """Each program runs alone in a memory group under `crashcart leaks --json`, which is told nothing about it. What it grows by is
measured from outside in a plain run of twice the steps (`python -m bench.leaks.truth`): the largest own memory of the process late in
the second half of the steps over that late in the first. Every finding counts, however unsure; a program that was not checked counts as not found. Line and
holder are those of the first finding, asked of the leaks that were found; the holder only where a name of the user's holds the memory."""


def main() -> int:
    parser = argparse.ArgumentParser("bench.leaks")
    parser.add_argument("names", nargs="*", metavar="NAME", help="run these alone; writes nothing")
    parser.add_argument("--folder", type=Path, help="programs and manifest.json outside the repository")
    parser.add_argument("--bad", action="store_true", help="the bad input alone")
    parser.add_argument("--sensitivity", action="store_true", help="the small leaks alone")
    parser.add_argument("--write", action="store_true", help="write the section of docs/benchmarks.md")
    options = parser.parse_args()
    if group.unavailable():
        print(group.unavailable())
        return 3
    parts = []
    whole = not (options.names or options.bad or options.sensitivity or options.folder)
    if whole or options.names or options.folder:
        rows = [_row(subject) for subject in _chosen(options)]
        parts.append(summary(rows))
    if whole or options.sensitivity:
        parts.append(sensitivity.summary())
    if whole or options.bad:
        parts.append(bad.summary())
    body = "\n\n".join(parts)
    print("\n" + body)
    if whole and options.write:
        write_section("Leaks", "make bench-leaks", body)
    return 0


def _chosen(options: argparse.Namespace) -> list[Subject]:
    subjects = outside(options.folder) if options.folder else SUBJECTS
    return [each for each in subjects if not options.names or each.name in options.names]


def _row(subject: Subject) -> Said:
    said = judged(subject, watch([sys.executable, str(subject.path), str(subject.steps)]))
    marks = f"line {_mark(said.line_right)} holder {_mark(said.holder_right)}"
    print(
        f"{subject.name:26} {'leaks' if subject.leaks else 'quiet'} {'+' if said.right else '-'} {said.outcome:11} {marks}  {said.words}",
        flush=True,
    )
    return said


def _mark(right: bool | None) -> str:
    return {True: "right", False: "WRONG", None: "–"}[right]


def summary(rows: Sequence[Said]) -> str:
    """The figures and both tables."""
    found = figures(rows)
    shares = [
        [name, "–" if share is None else f"{100 * share:.0f} %", f"≥ {100 * aim:.0f} %"]
        for name, share, aim in (
            ("recall", found.recall, RECALL_AIM),
            ("precision", found.precision, PRECISION_AIM),
            ("right line", found.line, LINE_AIM),
            ("right holder", found.holder, HOLDER_AIM),
        )
    ]
    counts = f"{sum(row.subject.leaks for row in rows)} leaking programs, {sum(not row.subject.leaks for row in rows)} that do not leak; {found.not_checked} not checked."
    kinds = [[row for row in rows if row.subject.leaks is leaks] for leaks in (True, False)]
    tables = [_table(kind) for kind in kinds if kind]
    return "\n\n".join([counts, table(["what", "share", "aim"], shares), NOTE, *tables])


def _table(rows: Sequence[Said]) -> str:
    truths = truth.stored()
    leaks = rows[0].subject.leaks
    head = [
        "leaking" if leaks else "not leaking",
        "what it does",
        "grows by",
        "said",
        *(["line", "holder"] if leaks else []),
    ]
    lines = []
    for row in rows:
        known = truths.get(row.subject.name)
        grown = "–" if known is None else f"{1024 * truth.grown_mib(known) / row.subject.steps:.0f} KiB a step"
        marks = [_mark(row.line_right), _mark(row.holder_right)] if leaks else []
        lines.append([row.subject.name.replace("_", " "), row.subject.does, grown, row.outcome, *marks])
    return table(head, lines)


if __name__ == "__main__":
    sys.exit(main())
