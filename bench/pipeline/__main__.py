"""Compare what `crashcart pipeline` says with what pipelines really hold, and write the rows to docs/benchmarks.md.

    python -m bench.pipeline [NAME…] [--write] [--again]

Truths that are not in `truths.json` for this version of TensorFlow are measured first (`--again`: all of them): each pipeline runs with a
slow consumer in a memory group of its own. Those of `LIMIT_MB` run in a group in which some of them are killed; the estimate is told the
same limit. The exit code is 1 where a kill was not foretold, or one was that did not come; the other aims are only said.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from bench.group import enter, memory_group, oom_kills, unavailable
from bench.pipeline.aims import aim
from bench.report import table, write_section

HERE = Path(__file__).resolve().parent
TRUTHS = HERE / "truths.json"
ROOMY_MB, TIGHT_MB = 3500, 1800
NAMES = (
    "images_shuffled_decoded", "images_shuffled_as_names", "images_cached_as_bytes", "images_cached_as_decoded",
    "images_large_batches", "images_augmented", "records_interleaved", "records_parsed", "lines_shuffled", "tokens_ragged",
    "ids_padded", "rows_of_an_array", "arrays_of_a_generator", "pairs_zipped", "windows_of_a_series", "datasets_interleaved",
    "datasets_mixed", "batches_split_again", "many_calls", "features_by_python", "batches_in_parallel",
)  # fmt: skip
DYING = ("shuffle_too_large", "cache_too_large", "prefetch_too_large", "interleave_too_large", "records_too_large")
LIMIT_MB = {**dict.fromkeys(NAMES, ROOMY_MB), **dict.fromkeys(DYING, TIGHT_MB)}
EPOCH = {
    "images_cached_as_bytes": 16,
    "images_cached_as_decoded": 245,
    "features_by_python": 60,
    "cache_too_large": 520,
}
"""Elements of an epoch, where only its end has filled a cache."""
AIM_COUNT, AIM_MEDIAN = 16, 0.15
Row = dict[str, Any]


def main() -> int:
    parser = argparse.ArgumentParser("bench.pipeline")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--truths", action="store_true", help="measure what is missing, and estimate nothing")
    arguments = parser.parse_args()
    if unavailable():
        print(unavailable())
        return 1
    rows = []
    for name in arguments.names or LIMIT_MB:
        truth = None if arguments.again else stored().get(key(name))
        truth = truth or measured(name)
        if arguments.truths:
            print(name, truth, flush=True)
            continue
        row = {"name": name, **truth, **estimated(name)}
        rows.append(row)
        print(line(row), flush=True)
    if arguments.truths:
        return 0
    body = report(rows)
    print(body)
    if arguments.write and not arguments.names:
        write_section("What a pipeline holds", "make bench-pipeline", body)
    return 1 if missed(rows) or false_alarms(rows) else 0


def key(name: str) -> str:
    """What a truth holds for."""
    return f"{name}/tensorflow {tensorflow_version()}"


def tensorflow_version() -> str:
    for name in ("tensorflow-cpu", "tensorflow"):
        try:
            return version(name)
        except PackageNotFoundError:
            continue
    raise RuntimeError("TensorFlow is not installed")


def stored() -> dict[str, Row]:
    return dict(json.loads(TRUTHS.read_text(encoding="utf-8"))) if TRUTHS.exists() else {}


def measured(name: str) -> Row:
    """The truth of one pipeline, kept for later runs."""
    with memory_group(LIMIT_MB[name]) as group:
        done = subprocess.run(
            [sys.executable, "-m", "bench.pipeline.truth", name, "--before", str(EPOCH.get(name, 0))],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=900, preexec_fn=lambda: enter(group),
        )  # fmt: skip
        assert group is not None
        killed = oom_kills(group) > 0
    lines = [each for each in done.stdout.splitlines() if each.startswith("{")]
    last = json.loads(lines[-1]) if lines else {"growth_bytes": None, "built_bytes": None, "steps": 0}
    if not killed and done.returncode != 0:
        raise RuntimeError(f"{name} ended with {done.returncode}, and not for memory")
    truth = {"died": killed, **(last if not killed else {**last, "growth_bytes": None})}
    TRUTHS.write_text(json.dumps({**stored(), key(name): truth}, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return truth


def estimated(name: str) -> Row:
    """What the command says of it, told the same limit."""
    done = subprocess.run(
        [sys.executable, "-m", "crashcart", "pipeline", f"bench.pipeline.pipelines:{name}", "--json", "--memory", f"{LIMIT_MB[name]}M"],
        stdout=subprocess.PIPE, text=True, timeout=600, env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2"},
    )  # fmt: skip
    document = json.loads(done.stdout)
    kept = {each: document[each] for each in ("fits", "seconds", "fill_seconds", "unknown")}
    built = document["built_bytes"] or 0  # the truth is the growth over the moment before the iterator is made
    grown = {each: document[each] - built for each in ("held_bytes", "high_bytes")}
    return kept | grown | {"estimated_built_bytes": document["built_bytes"]}


def error(row: Row) -> float | None:
    return None if row["growth_bytes"] is None else row["held_bytes"] / row["growth_bytes"] - 1


def line(row: Row) -> str:
    return " | ".join(_cells(row))


def _cells(row: Row) -> list[str]:
    off = error(row)
    said = {True: "fits", False: "killed", None: "may be killed"}[row["fits"]]
    return [
        row["name"].replace("_", " "),
        "killed" if row["died"] else f"{row['growth_bytes'] / 1e6:.0f} MB",
        f"{row['held_bytes'] / 1e6:.0f} MB",
        f"{row['high_bytes'] / 1e6:.0f} MB",
        "–" if off is None else f"{100 * off:+.0f} %",
        f"{LIMIT_MB[row['name']]} MB: {said}",
        f"{row['seconds']:.0f} s",
    ]


def missed(rows: list[Row]) -> list[str]:
    """Those that were killed, and not said to be."""
    return [each["name"] for each in rows if each["died"] and each["fits"] is not False]


def false_alarms(rows: list[Row]) -> list[str]:
    """Those that lived, and were said to be killed."""
    return [each["name"] for each in rows if not each["died"] and each["fits"] is False]


def report(rows: list[Row]) -> str:
    """The table, and what it comes to."""
    head = ["pipeline", "truth", "estimate", "at worst", "error", "limit: said", "took"]
    lines = [
        "Growth of the process's resident memory over the moment before the iterator is made, with a slow consumer that waits until",
        "memory does not rise any more. The last rows run in a memory group in which they are really killed. The constants of the estimate",
        "were set with the images, the rows of an array and the lines in sight, and on elements of 10 MB apart from this bench.",
        "",
        table(head, [_cells(each) for each in rows]),
        "",
        *_sums(rows),
        "",
        *aims(rows),
    ]
    return "\n".join(lines)


def _sums(rows: list[Row]) -> list[str]:
    errors = [abs(each) for each in map(error, rows) if each is not None]
    if not errors:
        return []
    lived = [each for each in rows if not each["died"]]
    above = sum(each["growth_bytes"] <= each["high_bytes"] for each in lived)
    return [
        f"Median error {100 * statistics.median(errors):.1f} %, largest {100 * max(errors):.0f} %; the truth is below the worst "
        f"case in {above} of {len(lived)}."
    ]


def aims(rows: list[Row]) -> list[str]:
    """Each aim, and whether it was met."""
    errors = [abs(each) for each in map(error, rows) if each is not None]
    median = statistics.median(errors) if errors else None
    died, lived = sum(each["died"] for each in rows), sum(not each["died"] for each in rows)
    wrongly, not_told = false_alarms(rows), missed(rows)
    figure = "nothing was measured" if median is None else f"{100 * median:.1f} %"
    return [
        aim(f"at least {AIM_COUNT} pipelines with a measured truth", len(rows) >= AIM_COUNT, str(len(rows))),
        aim(f"median error at most {100 * AIM_MEDIAN:.0f} %", median is not None and median <= AIM_MEDIAN, figure),
        aim(
            "no kill is said of those that live",
            lived > 0 and not wrongly,
            _which(lived - len(wrongly), lived, wrongly),
        ),
        aim(
            "every kill is said of those that die",
            died > 0 and not not_told,
            _which(died - len(not_told), died, not_told),
        ),
    ]


def _which(right: int, whole: int, wrong: list[str]) -> str:
    names = f"; wrong: {', '.join(wrong)}" if wrong else ""
    return f"{right} of {whole}{names}"


if __name__ == "__main__":
    sys.exit(main())
