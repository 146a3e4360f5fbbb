"""Execute every notebook with a watched and with a plain kernel, and hold what is said against the truth.

python -m bench.notebooks [--no-plain] [--jobs 3] [NAME…]
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

from bench import many
from bench.notebooks import runner, score
from bench.notebooks.death import Death
from bench.notebooks.manifest import DEATHS
from bench.notebooks.score import Said
from bench.report import table

NOTE = """Each notebook is executed by the client named, in a memory group of its own where it is to run out of memory, with the guard
off. Told: the exception that the client raises carries the verdict's words and the right `cell [n], line m` (the cell
alone where the end comes without notice: `os._exit`, and SIGKILL right at the start of a cell). Kept: the
executed notebook holds the same as the output of the cell that ran. Cause and place are those of the JSON report. The last rows are
of kernels that live: the cell's own error must come through as it is."""


@dataclass(frozen=True)
class Row:
    """One death: watched, and what plain Jupyter says of it."""

    death: Death
    said: Said
    plain: str


def main() -> int:
    parser = many.parser("bench.notebooks", jobs=3)
    parser.add_argument("--no-plain", action="store_true", help="leave out the plain kernels; writes nothing")
    options = many.parse(parser)
    rows = many.run(DEATHS, options, lambda death: measure(death, not options.no_plain))
    whole = not options.names and not options.no_plain
    many.publish("Deaths in notebooks", "bench-notebooks", summarise(rows), whole)
    return 0


def measure(death: Death, plain_too: bool) -> Row:
    ran = runner.run(death, watched=True)
    said = score.of_watched(death, ran)
    plain = score.of_plain(runner.run(death, watched=False)) if plain_too else "not run"
    mark = "" if said.right else " WRONG " + (" ".join(_COLUMNS[name] for name in _COLUMNS if not getattr(said, name)))
    print(f"{death.name:22} {death.client:10} {said.cause:20} {said.place} {ran.seconds:5.1f} s{mark}", flush=True)
    return Row(death, said, plain)


_COLUMNS = {"raised": "told", "kept": "kept", "cause_right": "cause", "place_right": "place"}


def summarise(rows: list[Row]) -> str:
    deaths = [row for row in rows if row.death.cause is not None]
    causes = {row.death.cause for row in deaths}
    rates = [[title, _rate([getattr(row.said, name) for row in deaths])] for name, title in _TITLES.items()]
    parts = [
        f"{len(deaths)} deaths of {len(causes)} causes in real kernels.",
        table(["what", "watched kernel"], rates),
        table(
            ["notebook", "client", "cause", "verdict", "place", "told", "kept", "plain Jupyter says"],
            [_line(row) for row in rows],
        ),
        NOTE,
    ]
    return "\n\n".join(parts)


_TITLES = {
    "cause_right": "cause right",
    "place_right": "cell and line right",
    "raised": "told by the client's exception",
    "kept": "kept in the executed notebook",
    "right": "all four",
}


def _rate(right: list[bool]) -> str:
    return f"{sum(right)} of {len(right)} ({sum(right) / max(1, len(right)):.0%})"


def _line(row: Row) -> list[str]:
    death, said = row.death, row.said
    wanted = death.cause.value if death.cause is not None else "lives"
    place = f"[{said.place[0]}] {said.place[1] or ''}".strip() if said.place else "–"
    marks = [f"{place}, {'right' if said.place_right else 'wrong'}" if death.cause is not None else "–"]
    marks += ["yes" if each else "no" for each in (said.raised, said.kept)]
    return [death.name, death.client, wanted, said.cause, *marks, row.plain.replace("|", "\\|")]


if __name__ == "__main__":
    sys.exit(main())
