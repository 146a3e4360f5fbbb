"""The largest batch that `crashcart fit` says fits, beside the one that really does.

    python -m bench.fit.largest [NAME…] [--phase train|predict] [--target device|host] [--write] [--stored]

The limit is two and a half times what the model takes at the larger of its batches in the zoo, so that the largest batch is two to
four times that one. The true largest batch is found by runs under that limit, each in a child of its own, starting near the estimate:
up or down by an eighth, then by ever more, until one lives and one dies, then halving what is between them, down to 3 %. All runs are kept in
`largest.json`: they do not depend on the estimate, and are not repeated when it changes.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.fit.asked import MIB, Store, chosen, estimated, parser, request, run
from bench.fit.manifest import Subject
from bench.report import table, write_section

STORE = Path(__file__).parent / "largest.json"
TIMES = 2.5
NEAR = 0.03
MOST_RUNS = 12
NO_LIMIT_BYTES = 12 << 30


def main() -> int:
    arguments = parser("bench.fit.largest").parse_args()
    store = Store(STORE)
    rows = []
    for subject, phase, target in chosen(arguments):
        key = Store.key(subject.name, phase, target)
        row = store.rows.get(key) if arguments.stored else judged(store, key, subject, phase, target)
        if row is not None and row.get("found") is not None and row.get("true"):
            rows.append(row)
            print(line(row), flush=True)
    print(summary(rows))
    if arguments.write:
        body = f"{summary(rows)}\n\n{detail(rows)}"
        write_section("Largest batch", "python -m bench.fit.largest", body)
    return 0


def judged(store: Store, key: str, subject: Subject, phase: str, target: str) -> dict[str, Any] | None:
    """The row of one model: what was found, what is true, and all runs."""
    batch = max(subject.batches)
    row = store.rows.get(key) or {"name": subject.name, "phase": phase, "target": target, "lives": {}}
    asked = request(subject.name, phase, batch, target)
    if "limit_bytes" not in row:
        peak = run(asked, batch, NO_LIMIT_BYTES).peak_bytes
        if peak is None:
            print(f"{subject.name} {phase}: no peak at batch {batch}", flush=True)
            return None
        row["limit_bytes"] = int(TIMES * peak) // MIB * MIB
        store.keep(key, row)
    step = estimated(asked | {"available_bytes": row["limit_bytes"]})
    found = step.get("largest_batch") if step is not None else None
    if found is None or (target == "host" and step is not None and step.get("host") is None):
        print(f"{subject.name} {phase}: no largest batch was found on the {target}", flush=True)
        return None

    def lives(size: int) -> bool:
        if str(size) not in row["lives"]:
            row["lives"][str(size)] = run(asked, size, row["limit_bytes"]).lived
            store.keep(key, row)
        return bool(row["lives"][str(size)])

    row |= {"found": found, "true": true_largest(lives, found or batch)}
    store.keep(key, row)
    return row


def true_largest(lives: Callable[[int], bool], start: int) -> int:
    """The largest batch that lives, to within 3 %; 0 where none did."""
    fits, fails, size, part = 0, 0, start, 1 / 8
    for _ in range(MOST_RUNS):
        if lives(size):
            fits = max(fits, size)
        else:
            fails = min(fails or size, size)
        if fits and fails and fails - fits <= max(1, int(NEAR * fits)):
            break
        if not fails:
            size = max(fits + 1, int(fits * (1 + part)))
        elif not fits:
            size = min(fails - 1, int(fails / (1 + part)))
        else:
            size = (fits + fails) // 2
        part *= 2
        if size < 1:
            break
    return fits


def line(row: dict[str, Any]) -> str:
    start = f"{row['name']:<16} {row['phase']:<8} {row['target']:<6} limit {row['limit_bytes'] / 1e6:8.1f} MB"
    return f"{start}  found {row['found']:>6}  true {row['true']:>6}  {ratio(row):.1%}  ({len(row['lives'])} runs)"


def ratio(row: dict[str, Any]) -> float:
    return float(row["found"]) / float(row["true"])


def summary(rows: list[dict[str, Any]]) -> str:
    body = []
    for target, phase in sorted({(row["target"], row["phase"]) for row in rows}):
        each = [ratio(row) for row in rows if (row["target"], row["phase"]) == (target, phase)]
        enough, over = sum(one >= 0.85 for one in each), sum(one > 1 + NEAR for one in each)
        body.append([target, phase, str(len(each)), f"{statistics.median(each):.1%}", f"{min(each):.1%}"])
        body[-1] += [f"{enough} of {len(each)}", str(over)]
    head = ["limit on", "phase", "models", "median of found / true", "least", "at least 85 %", "found one that dies"]
    return table(head, body)


def detail(rows: list[dict[str, Any]]) -> str:
    head = ["model", "phase", "limit on", "limit, MB", "found", "true", "found / true"]
    body = []
    for row in rows:
        body.append([row["name"], row["phase"], row["target"], f"{row['limit_bytes'] / 1e6:.0f}"])
        body[-1] += [str(row["found"]), str(row["true"]), f"{ratio(row):.0%}"]
    return table(head, body)


if __name__ == "__main__":
    sys.exit(main())
