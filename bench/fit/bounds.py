"""How far estimates are from truths, and the bounds that follow; those in `crashcart.fit.estimate` come from here.

    python -m bench.fit.bounds [NAME…] [--graphs FOLDER]

Each model of the zoo is traced once in a child of its own; with `--graphs` its graphs are kept there and used again. A bound is a
factor on the estimate, one below and one above for each phase: so many standard deviations of the ratio of truth to estimate.
Where the walk does not live under the upper one, the least limit under which it does is taken. Each row is judged by the factors
that the other families give (leave one family out), which says how often a bound fails on a family that it has not seen.
"""

from __future__ import annotations

import argparse
import math
import os
import pickle
import statistics
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.fit.children import answers, made
from bench.fit.manifest import PHASES, SUBJECTS, Subject
from bench.fit.truth import key, stored
from bench.report import table
from crashcart.graph import Graph

# 98.6 % of what is distributed normally stays below so many deviations.
DEVIATIONS = 2.2


@dataclass(frozen=True, slots=True)
class Row:
    """One truth and its estimate."""

    subject: Subject
    phase: str
    batch: int
    truth_bytes: int
    estimate_bytes: int
    living_bytes: int
    """The least limit, from the estimate on, under which the walk lives."""

    @property
    def ratio(self) -> float:
        """How many times the estimate the truth is."""
        return self.truth_bytes / self.estimate_bytes


def main() -> int:
    parser = argparse.ArgumentParser("bench.fit.bounds")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--graphs", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as passing:
        folder = arguments.graphs or Path(passing)
        found = list(rows([each for each in SUBJECTS if each.name in (arguments.names or [each.name])], folder))
    for row in found:
        print(
            f"{row.subject.name:<16} {row.phase:<8} {row.batch:>5} truth {row.truth_bytes / 1e6:8.1f} MB  estimate "
            f"{row.estimate_bytes / 1e6:8.1f} MB {1 / row.ratio - 1:+7.1%}  lives from {row.living_bytes / 1e6:8.1f} MB "
            f"{row.living_bytes / row.estimate_bytes - 1:+.1%}"
        )
    print(table(["rows", "number", "median error", "90th percentile"], [spread(*each) for each in groups(found)]))
    for phase in PHASES:
        below, above = factors([row for row in found if row.phase == phase])
        print(f"{phase}: below {below:.3f}, above {above:.3f}")
    head = [
        "rows",
        "number",
        "truth above the factor",
        "and the limit",
        "truth below",
        "median width",
        "median upper bound",
    ]
    print(table(head, [judged(*each) for each in groups(found)]))
    return 0


def rows(subjects: Iterable[Subject], folder: Path) -> Iterable[Row]:
    """The truths beside what is estimated now."""
    from crashcart.fit.estimate import estimate, living_bytes
    from crashcart.fit.walk import Plans

    truths, cores = stored(), os.cpu_count() or 1
    for subject in subjects:
        for phase in PHASES:
            for batch in subject.batches:
                truth = truths.get(key(subject.name, phase, batch))
                graph = graph_of(subject, phase, batch, folder) if truth else None
                if truth is None or graph is None:
                    continue
                found = estimate(graph, phase, batch, cores).peak_bytes
                living = living_bytes(Plans(graph, cores), phase, found)
                yield Row(subject, phase, batch, truth["peak_bytes"], found, living)


def graph_of(subject: Subject, phase: str, batch: int, folder: Path) -> Graph | None:
    """The graph at a batch, traced in a child where it is not kept; None where that failed."""
    path = folder / f"{subject.name}-{phase}-{batch}.pkl"
    if not path.exists():
        answers("bench.fit.bounds", f"child({subject.name!r}, {phase!r}, {str(folder)!r})")
    found: Graph | None = pickle.loads(path.read_bytes()) if path.exists() else None
    return found


def child(name: str, phase: str, folder: str) -> None:
    """In the child: trace, and keep the graph at each batch."""
    from crashcart.probe.tensorflow_specs import batch_specs
    from crashcart.probe.tensorflow_trace import Trace

    subject = next(each for each in SUBJECTS if each.name == name)
    model, given = made(name)
    trace = Trace(model, batch_specs(model, given, phase), phase)
    for batch in subject.batches:
        (Path(folder) / f"{name}-{phase}-{batch}.pkl").write_bytes(pickle.dumps(trace.at(batch)))


def factors(seen: Sequence[Row]) -> tuple[float, float]:
    """The factors below and above the estimate."""
    deviation = math.sqrt(statistics.mean([math.log(row.ratio) ** 2 for row in seen])) if seen else 0.0
    return math.exp(-DEVIATIONS * deviation), math.exp(DEVIATIONS * deviation)


def left_out(row: Row, seen: Sequence[Row]) -> tuple[float, float]:
    """The factors that the other families give."""
    return factors([each for each in seen if each.phase == row.phase and each.subject.family != row.subject.family])


def groups(seen: list[Row]) -> list[tuple[str, list[Row], list[Row]]]:
    """Title, rows, and the rows that their factors are taken from."""
    found = [("all", seen, seen)]
    return found + [(phase, [row for row in seen if row.phase == phase], seen) for phase in PHASES]


def spread(title: str, chosen: list[Row], seen: list[Row]) -> list[str]:
    errors = sorted(abs(1 / row.ratio - 1) for row in chosen)
    if not errors:
        return [title, "0", "", ""]
    at = errors[min(len(errors) - 1, int(0.9 * len(errors)))]
    return [title, str(len(errors)), f"{statistics.median(errors):.1%}", f"{at:.1%}"]


def judged(title: str, chosen: list[Row], seen: list[Row]) -> list[str]:
    """How the factors of the other families do, alone and with the limit."""
    given = [(row, *left_out(row, seen)) for row in chosen]
    over = [row for row, _, above in given if row.ratio > above]
    still = sum(row.truth_bytes > row.living_bytes for row in over)
    under = sum(row.ratio < below for row, below, _ in given)
    highs = [max(above, row.living_bytes / row.estimate_bytes) for row, _, above in given]
    width = statistics.median([high - below for high, (_, below, _) in zip(highs, given, strict=True)] or [0.0]) / 2
    upper = statistics.median(highs or [1.0]) - 1
    return [title, str(len(chosen)), str(len(over)), str(still), str(under), f"±{width:.1%}", f"{upper:+.1%}"]


if __name__ == "__main__":
    sys.exit(main())
