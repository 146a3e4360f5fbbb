"""Run each model under a limit that is the upper bound of its estimate, and count those that die.

    python -m bench.fit.safety [NAME…] [--phase train|predict] [--target device|host] [--write] [--stored]

The test that xMem made the custom: an upper bound is safe if a run that gets exactly so much memory lives. On the device, the
allocator that GPUs use gets that limit (in whole MiB, rounded up); on the host, a memory group may grow by the bound after the moment
before the model is built. Results are kept in `safety.json`. A run is not repeated where its answer is known: what lived with
less lives with more, and what died with more dies with less.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from bench.fit.asked import MIB, Store, bounds, chosen, estimated, parser, request, run
from bench.report import table, write_section

STORE = Path(__file__).parent / "safety.json"


def main() -> int:
    arguments = parser("bench.fit.safety").parse_args()
    store = Store(STORE)
    rows = []
    for subject, phase, target in chosen(arguments):
        for batch in subject.batches:
            key = Store.key(subject.name, phase, target, batch)
            row = store.rows.get(key) if arguments.stored else judged(store, key, subject.name, phase, batch, target)
            if row is not None:
                rows.append(row)
                print(line(row), flush=True)
    print(summary(rows))
    if arguments.write:
        write_section("Safety of the upper bound", "python -m bench.fit.safety", f"{summary(rows)}\n\n{deaths(rows)}")
    return 0


def judged(store: Store, key: str, name: str, phase: str, batch: int, target: str) -> dict[str, Any] | None:
    """The row of one run; None where that figure is not estimated."""
    step = estimated(request(name, phase, batch, target))
    found = bounds(step, target) if step is not None else None
    if found is None:
        print(f"{name} {phase} {batch}: the {target} figure is not estimated", flush=True)
        return None
    limit = -(-found["high_bytes"] // MIB) * MIB
    row = store.rows.get(key)
    if row is None or not decides(row, limit):
        done = run(request(name, phase, batch, target), batch, limit)
        row = {"lived": done.lived, "ran_under_bytes": limit, "peak_bytes": done.peak_bytes, "how": done.how}
    row = row | {"name": name, "phase": phase, "batch": batch, "target": target, "limit_bytes": limit}
    store.keep(key, row)
    return row


def decides(row: dict[str, Any], limit_bytes: int) -> bool:
    """Whether a run under another limit answers for this one."""
    ran: int = row["ran_under_bytes"]
    return ran <= limit_bytes if row["lived"] else ran >= limit_bytes


def line(row: dict[str, Any]) -> str:
    end = "lived" if row["lived"] else "DIED"
    held = f"peak {row['peak_bytes'] / 1e6:.1f} MB" if row["peak_bytes"] else ""
    start = f"{row['name']:<16} {row['phase']:<8} {row['batch']:>5} {row['target']:<6}"
    return f"{start} limit {row['limit_bytes'] / 1e6:8.1f} MB  {end:<5} {held}  {row['how']}"


def summary(rows: list[dict[str, Any]]) -> str:
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["target"], row["phase"]), []).append(row)
    body = []
    for (target, phase), each in sorted(groups.items()):
        died = sum(not row["lived"] for row in each)
        body.append([target, phase, str(len(each)), str(died), f"{died / len(each):.1%}"])
    died = sum(not row["lived"] for row in rows)
    body.append(["all", "", str(len(rows)), str(died), f"{died / max(1, len(rows)):.1%}"])
    return table(["limit on", "phase", "runs under the upper bound", "died", "share"], body)


def deaths(rows: list[dict[str, Any]]) -> str:
    body = [
        [row["name"], row["phase"], str(row["batch"]), row["target"], f"{row['limit_bytes'] / 1e6:.1f}", row["how"]]
        for row in rows
        if not row["lived"]
    ]
    return table(["died", "phase", "batch", "limit on", "limit, MB", "how"], body) if body else "None died."


if __name__ == "__main__":
    sys.exit(main())
