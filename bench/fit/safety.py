"""Run each model under a limit that is the upper bound of its estimate, and count those that die.

    python -m bench.fit.safety [NAME…] [--phase train|predict] [--target device|host] [--write] [--stored]

The test that xMem made the custom: an upper bound is safe if a run that gets exactly so much memory lives. On the device, the
allocator that GPUs use gets that limit (in whole MiB, rounded up); on the host, a memory group may grow by the bound after the moment
before the model is built. Results are kept in `safety.json`. A run is not repeated where its answer is known: what lived with
less lives with more, and what died with more dies with less.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.fit.asked import MIB, Store, bounds, chosen, estimated, parser, request, run
from bench.fit.host import machine
from bench.fit.manifest import SUBJECTS, Subject
from bench.report import table, write_section

STORE = Path(__file__).parent / "safety.json"

READING = (
    "A row whose run is older than the bound is kept where it lived with less. Training custom_step at 256 died under an earlier bound "
    "of 25.2 MB; the bound was raised after that (`BOUND_SPARE` in `fit/estimate.py`), and the row was run again."
)


def main() -> int:
    arguments = parser("bench.fit.safety").parse_args()
    store = Store(STORE)
    rows = []
    for subject, phase, target in chosen(arguments):
        for row in (
            _stored(store, subject, phase, target) if arguments.stored else judged(store, subject, phase, target)
        ):
            rows.append(row)
            print(line(row), flush=True)
    rows += elsewhere(store)
    print(summary(rows))
    if arguments.write:
        write_section(
            "Safety of the upper bound",
            "python -m bench.fit.safety",
            f"{summary(rows)}\n\n{READING}\n\n{deaths(rows)}\n\n{unrun(rows)}",
        )
    return 0


def _stored(store: Store, subject: Subject, phase: str, target: str) -> Iterator[dict[str, Any]]:
    keys = [Store.key(subject.name, phase, target, batch) for batch in subject.batches]
    return (store.rows[key] for key in keys if key in store.rows)


def elsewhere(store: Store) -> list[dict[str, Any]]:
    """Rows of the host that were run with other kernels, or another allocator, than there are here."""
    return [row for row in store.rows.values() if row["target"] == "host" and row["machine"] != machine()]


def judged(store: Store, subject: Subject, phase: str, target: str) -> Iterator[dict[str, Any]]:
    """The row of each batch; none where its figure is not estimated."""
    first, *others = subject.batches
    steps = estimated(request(subject.name, phase, first, target), tuple(others))
    for batch in subject.batches:
        found = bounds(steps[batch], target) if batch in steps else None
        if found is None:
            print(f"{subject.name} {phase} {batch}: the {target} figure is not estimated", flush=True)
            continue
        limit = -(-found["high_bytes"] // MIB) * MIB
        key = Store.key(subject.name, phase, target, batch)
        row = store.rows.get(key)
        if row is None or not decides(row, limit):
            done = run(request(subject.name, phase, batch, target), batch, limit)
            row = {"lived": done.lived, "ran_under_bytes": limit, "peak_bytes": done.peak_bytes, "how": done.how}
        row = row | {"name": subject.name, "phase": phase, "batch": batch, "target": target, "limit_bytes": limit}
        row |= {"machine": machine()} if target == "host" else {}
        store.keep(key, row)
        yield row


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
        groups.setdefault((limit_on(row), row["phase"]), []).append(row)
    body = []
    for (target, phase), each in sorted(groups.items()):
        died = sum(not row["lived"] for row in each)
        body.append([target, phase, str(len(each)), str(died), f"{died / len(each):.1%}"])
    died = sum(not row["lived"] for row in rows)
    body.append(["all", "", str(len(rows)), str(died), f"{died / max(1, len(rows)):.1%}"])
    return table(["limit on", "phase", "runs under the upper bound", "died", "share"], body)


def limit_on(row: dict[str, Any]) -> str:
    """The target, and of the host the kernels: `host, oneDNN kernels`."""
    return f"{row['target']}, {row['machine'].split(', ')[1]}" if "machine" in row else str(row["target"])


def deaths(rows: list[dict[str, Any]]) -> str:
    body = [
        [row["name"], row["phase"], str(row["batch"]), limit_on(row), f"{row['limit_bytes'] / 1e6:.1f}", row["how"]]
        for row in rows
        if not row["lived"]
    ]
    return table(["died", "phase", "batch", "limit on", "limit, MB", "how"], body) if body else "None died."


def unrun(rows: list[dict[str, Any]]) -> str:
    """Which models have no row, by phase and target of those that have."""
    found = []
    for target, phase in sorted({(limit_on(row), row["phase"]) for row in rows}):
        known = {row["name"] for row in rows if (limit_on(row), row["phase"]) == (target, phase)}
        names = [each.name for each in SUBJECTS if each.name not in known]
        if names:
            found.append(f"Not run ({target}, {phase}): {', '.join(names)}.")
    return "\n".join(found)


if __name__ == "__main__":
    sys.exit(main())
