"""The largest batch that `crashcart fit` says fits, beside the one that really does.

    python -m bench.fit.largest [NAME…] [--phase train|predict] [--target device|host] [--write] [--stored]

The limit is one and a half times what the model takes at the larger of its batches in the zoo. The true largest batch lies between
the largest that lived in runs under that limit and the smallest that died, each in a child of its own: the batch that was found (five
steps; on the host seven), one that would make it less than 85 % of the truth (as many as `--verify` takes, and so do all others), further up or
down by an eighth, then by ever more, until one lives and one dies; then halving what is between them, down to a twentieth. What was found
is compared with the most that the truth may be; and so is what `--verify` makes of it, which is told by the same runs (its own search, each
batch by the run that was made of it). All runs are kept in `largest.json`: they do not depend on the estimate, and are not repeated
when it changes.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.fit.asked import MIB, Store, chosen, estimated, parser, request, run
from bench.fit.manifest import Subject
from bench.fit.safety import unrun
from bench.fit.truth import key as truth_key
from bench.fit.truth import stored as truths
from bench.report import table, write_section
from crashcart.cli.fit_trial import VERIFY_STEPS, in_turn
from crashcart.step import Verified

STORE = Path(__file__).parent / "largest.json"
TIMES = 1.5
ENOUGH = 0.85
NEAR = 0.05
MOST_RUNS = 12
NO_LIMIT_BYTES = 12 << 30
WAYS = {"found": "the estimate alone", "confirmed": "`--verify`"}

READING = (
    "The true largest batch lies between the one that lived and the one that died. A batch below one that lived counts as one that "
    "lives, without a run of its own. What the search keeps free (`SPARE`, `MOVED` and `BOUND_SPARE` in `fit/estimate.py`) was set with "
    "runs of the twelve smallest of these models in sight; the others were not. `--verify` goes on from the estimate by real runs, until one "
    "lives and a slightly larger one dies; its column is its own search over the runs that were made here. It goes on until it has 85 %, "
    "the same as is asked for here, so that it has so much tells only that its runs suffice. How far they go (eight runs, from the batch "
    "that likely fits on) was set with rows of the host in sight: with six, in small steps, VGG16 came to 76 %.\n\n"
    "Why the estimate alone finds less on the host: runs of one program differ there. Training cnn at batch 119, which lived under 337 MB, took "
    "304 … 381 MB in eleven runs without a limit, and cnn_wide at 64, which lived under 954 MB, 899 … 1201 MB in five: in the pool that "
    "TensorFlow has with oneDNN's kernels, the order in which operations end decides whether a large tensor finds a whole piece, and pages "
    "of files, which the kernel takes back, are in what a process grows by. The bounds have to hold for the worst run; the most that lives "
    "is the luckiest one's."
)


def main() -> int:
    arguments = parser("bench.fit.largest").parse_args()
    store = Store(STORE)
    rows = []
    for subject, phase, target in chosen(arguments):
        key = Store.key(subject.name, phase, target)
        row = store.rows.get(key) if arguments.stored else judged(store, key, subject, phase, target)
        if row is not None and row.get("found") is not None and row.get("lived") and "confirmed" in row:
            rows.append(row)
            print(line(row), flush=True)
    print(summary(rows))
    if arguments.write:
        body = f"{summary(rows)}\n\n{READING}\n\n{detail(rows)}\n\n{unrun(rows)}"
        write_section("Largest batch", "python -m bench.fit.largest", body)
    return 0


def judged(store: Store, key: str, subject: Subject, phase: str, target: str) -> dict[str, Any] | None:
    """The row of one model: what was found, what is true, and all runs."""
    batch = max(subject.batches)
    row = store.rows.get(key) or {"name": subject.name, "phase": phase, "target": target, "lives": {}}
    asked = request(subject.name, phase, batch, target)
    if "limit_bytes" not in row:
        peak = peak_of(subject.name, phase, batch, target)
        if peak is None:
            print(f"{subject.name} {phase}: no peak at batch {batch}", flush=True)
            return None
        row["limit_bytes"] = int(TIMES * peak) // MIB * MIB
        store.keep(key, row)
    step = estimated(asked | {"available_bytes": row["limit_bytes"]}).get(batch, {})
    found = step.get("largest_batch")
    if found is None or (target == "host" and step.get("host") is None):
        print(f"{subject.name} {phase}: no largest batch was found on the {target}", flush=True)
        return None

    def lives(size: int) -> bool:
        if (known := decided(row["lives"], size)) is not None:
            return known
        done = run(asked, size, row["limit_bytes"], None if size == found else VERIFY_STEPS[target])
        row["lives"][str(size)] = done.lived
        print(f"  {subject.name} {phase} {size}: {'lived' if done.lived else done.how}", flush=True)
        store.keep(key, row)
        return done.lived

    true_largest(lives, found or batch)
    likely = step.get("likely_batch") or 0
    shown = list(in_turn(found or batch, likely, batch, lambda size: Verified(size, row["limit_bytes"], lives(size))))
    confirmed = max((each.batch for each in shown if each.lived), default=0)
    row |= {"found": found, "confirmed": confirmed, "confirmed_in": len(shown)} | between(row["lives"])
    store.keep(key, row)
    return row


def decided(runs: dict[str, bool], size: int) -> bool | None:
    """What a run at that batch would show: by itself; else a batch below one that lived lives, and one above one that died dies."""
    if str(size) in runs:
        return runs[str(size)]
    if size <= max((int(each) for each, lived in runs.items() if lived), default=0):
        return True
    return False if any(int(each) <= size for each, lived in runs.items() if not lived) else None


def between(runs: dict[str, bool]) -> dict[str, int]:
    """The largest batch that lived, and the smallest above it that died; 0 where none did."""
    lived = max((int(each) for each, alive in runs.items() if alive), default=0)
    return {
        "lived": lived,
        "died": min((int(each) for each, alive in runs.items() if not alive and int(each) > lived), default=0),
    }


def peak_of(name: str, phase: str, batch: int, target: str) -> int | None:
    """What the step took: as it was measured before, or in a run."""
    truth = truths().get(truth_key(name, phase, batch)) if target == "device" else None
    return truth["peak_bytes"] if truth else run(request(name, phase, batch, target), batch, NO_LIMIT_BYTES).peak_bytes


def true_largest(lives: Callable[[int], bool], start: int) -> tuple[int, int]:
    """The largest batch that lives, and the smallest above it that dies, a twentieth apart at most; 0 where none does. The second look
    tells whether the first was enough."""
    fits, fails, size, part = 0, 0, start, 1 / 8
    for look in range(MOST_RUNS):
        if lives(size):
            fits = max(fits, size)
        else:
            fails = min(fails or size, size)
        if fits and fails and fails - fits <= max(1, int(NEAR * fits)):
            break
        if not fails:
            size = max(fits + 1, int(fits * (1 + part))) if look else int(start / ENOUGH) + 1
        elif not fits:
            size = min(fails - 1, int(fails / (1 + part)))
        else:
            size = (fits + fails) // 2
        part *= 2 if look else 1
        if size < 1:
            break
    return fits, fails


def line(row: dict[str, Any]) -> str:
    start = f"{row['name']:<16} {row['phase']:<8} {row['target']:<6} limit {row['limit_bytes'] / 1e6:8.1f} MB"
    truth = f"lived {row['lived']:>6}  died {row['died']:>6}"
    verify = f"--verify {row['confirmed']:>6} {ratio(row, 'confirmed'):.1%}"
    return f"{start}  found {row['found']:>6}  {truth}  {ratio(row):.1%}  {verify}  ({len(row['lives'])} runs)"


def ratio(row: dict[str, Any], which: str = "found") -> float:
    """At the least: all batches below the one that died might live."""
    return float(row[which] / max(1, row["died"] - 1, row["lived"]))


def died(row: dict[str, Any], which: str = "found") -> bool:
    return decided(row["lives"], row[which]) is False


def _group(row: dict[str, Any]) -> tuple[str, str]:
    return row["target"], row["phase"]


def summary(rows: list[dict[str, Any]]) -> str:
    body = []
    for target, phase in sorted({_group(row) for row in rows}):
        chosen = [row for row in rows if _group(row) == (target, phase)]
        for which, words in WAYS.items():
            each = [ratio(row, which) for row in chosen]
            body.append([target, phase, words, str(len(each)), f"{statistics.median(each):.1%}", f"{min(each):.1%}"])
            enough = sum(one >= ENOUGH for one in each)
            body[-1] += [f"{enough} of {len(each)}", str(sum(died(row, which) for row in chosen))]
    head = ["limit on", "phase", "found by", "models", "median of found / most that may live", "least", "at least 85 %"]
    return table([*head, "found one that dies"], body)


def detail(rows: list[dict[str, Any]]) -> str:
    head = [
        "model",
        "phase",
        "limit on",
        "limit, MB",
        "found",
        "lived",
        "died",
        "found / most that may live",
        "the found one",
        "`--verify`",
        "/ most that may live",
        "in runs",
    ]
    body = []
    for row in rows:
        body.append([row["name"], row["phase"], row["target"], f"{row['limit_bytes'] / 1e6:.0f}"])
        body[-1] += [
            str(row["found"]),
            str(row["lived"]),
            str(row["died"]),
            f"{ratio(row):.0%}",
            "died" if died(row) else "lived",
            str(row["confirmed"]),
            f"{ratio(row, 'confirmed'):.0%}",
            str(row["confirmed_in"]),
        ]
    return table(head, body)


if __name__ == "__main__":
    sys.exit(main())
