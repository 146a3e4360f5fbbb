"""The death bench: run every program three ways, print the confusion matrix, write docs/benchmarks.md.

python -m bench.deaths [--only-crashcart] [--jobs 2] [NAME…]
"""

from __future__ import annotations

import sys
from collections import Counter

from bench import many
from bench.deaths import runner, score
from bench.deaths.death import Death
from bench.deaths.manifest import HERE
from bench.deaths.score import Said
from bench.report import table

Row = tuple[Death, runner.Ran, dict[str, Said]]


def main() -> int:
    parser = many.parser("bench.deaths")
    parser.add_argument(
        "--only-crashcart", action="store_true", help="leave out the runs of the others; writes nothing"
    )
    options = many.parse(parser)
    rows = many.run(HERE, options, lambda death: measure(death, options.only_crashcart))
    whole = not options.names and not options.only_crashcart
    many.publish("Deaths", "bench-deaths", summarise(rows), whole)
    return 0


def measure(death: Death, only_crashcart: bool) -> Row:
    ran = runner.run(death, "crashcart")
    said = {"crashcart": score.of_crashcart(death, ran)}
    if not only_crashcart:
        plain = runner.run(death, "plain")
        # It speaks on fatal signals alone: where none came, its output is the plain one.
        faulthandler = runner.run(death, "faulthandler") if (plain.status or 0) < 0 else plain
        said["exit status"] = score.of_status(death, plain)
        said["plain Python"] = score.of_output(death, plain)
        said["faulthandler"] = score.of_output(death, faulthandler)
    ours = said["crashcart"]
    marks = ("" if ours.cause_right else " CAUSE") + ("" if ours.line_right in (True, None) else " LINE")
    print(
        f"{death.name:32} {death.cause.value:20} {ours.cause or '-':20} {ran.status!s:>5} {ran.seconds:5.1f} s{marks}",
        flush=True,
    )
    return death, ran, said


def summarise(rows: list[Row]) -> str:
    ways = list(rows[0][2])
    lines = [[way, *_rates([said[way] for _, _, said in rows])] for way in ways]
    wrong = [(death, said["crashcart"]) for death, _, said in rows if not said["crashcart"].cause_right]
    missed = [death.name for death, _, said in rows if said["crashcart"].line_right is False]
    parts = [
        f"{len(rows)} programs that really die, {len({death.cause for death, _, _ in rows})} causes.",
        table(["what one has", "cause right", "own line right", "certain and wrong"], lines),
        "Exit status: what the number alone says. Plain Python and faulthandler: what their output says to a reader who knows all "
        "the rules of crashcart; the line counts as told if it stands anywhere in the output.",
        "Confusion matrix of crashcart (only rows with a mistake): " + (_confusion(wrong) if wrong else "none."),
        "Line not named: " + (", ".join(missed) if missed else "none."),
        table(["program", "cause", "verdict", "line"], [_row(death, said["crashcart"]) for death, _, said in rows]),
    ]
    return "\n\n".join(parts)


def _rates(said: list[Said]) -> list[str]:
    with_line = [each for each in said if each.line_right is not None]
    right, lines = sum(each.cause_right for each in said), sum(bool(each.line_right) for each in with_line)
    wrong = sum(each.certain_and_false for each in said)
    return [
        f"{right} of {len(said)} ({right / len(said):.0%})",
        f"{lines} of {len(with_line)} ({lines / max(1, len(with_line)):.0%})",
        str(wrong),
    ]


def _confusion(wrong: list[tuple[Death, Said]]) -> str:
    counts = Counter((death.cause.value, said.cause or "nothing") for death, said in wrong)
    return "; ".join(f"{true} called {called} ({count})" for (true, called), count in counts.items()) + "."


def _row(death: Death, said: Said) -> list[str]:
    line = "–" if said.line_right is None else "right" if said.line_right else "missed"
    return [death.name, death.cause.value, said.cause or "nothing", line]


if __name__ == "__main__":
    sys.exit(main())
