"""The bench of `crashcart data`: recall and false alarms on a corpus that it makes.

python -m bench.data [--write] [--keep FOLDER] [--no-others]      recall
python -m bench.data.speed [--write] [--rounds N] [--scale F]     speed beside others; the machine should be quiet
python -m bench.data.many [--write] [--files N]                   memory with a million files, both engines
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

from bench.data import corpus, others
from bench.data.recall import Judged, judged, unchecked
from bench.report import table, write_section


def main() -> int:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser("bench.data")
    parser.add_argument("--write", action="store_true", help="write the results to docs/benchmarks.md")
    parser.add_argument("--keep", metavar="FOLDER", help="leave the corpus there")
    parser.add_argument("--no-others", action="store_true", help="do not ask what others find")
    options = parser.parse_args()
    with nullcontext(options.keep) if options.keep else tempfile.TemporaryDirectory(prefix="crashcart-data-") as folder:
        root = Path(folder)
        root.mkdir(parents=True, exist_ok=True)
        corpus.write(root)
        clean, damaged = judged(root)
        quick = judged(root, quick=True)
        finds = [] if options.no_others else [_others(each, root / "damaged") for each in damaged]
    summary = summarise(clean, damaged, quick, finds)
    print(summary)
    if options.write:
        write_section("Damaged files", "make bench-data", summary)
    return 1 if any(each.wrong for each in [*clean, *damaged, *quick[0]]) else 0


def _others(each: Judged, root: Path) -> dict[str, int | None]:
    return others.found(each.sample.paths(root), each.sample.images)


Quick = tuple[Sequence[Judged], Sequence[Judged]]


def summarise(
    clean: Sequence[Judged], damaged: Sequence[Judged], quick: Quick, finds: Sequence[dict[str, int | None]]
) -> str:
    odd = sum(each.sample.copies for each in clean if each.sample.odd)
    lines = [
        f"{_share(_right(damaged), _copies(damaged))} damaged files ({len(damaged)} kinds of damage) are told, each by its name and with a "
        f"right reason. {_share(sum(each.kept_out for each in damaged), _copies(damaged))} are kept out of the list of good files, too; "
        f"{_stay(damaged)}. In {_copies(clean) - _right(clean)} of {_copies(clean)} clean files ({len(clean)} kinds by several writers, "
        f"{odd} of the files odd but legal) anything is called damage, or odd where it is not, or the file is not in the list of good files (kinds that TensorFlow or the "
        "libraries here do not read: that is not told, or the file is in the list). "
        "The checks were mended for what this corpus showed.",
        f"With `--quick`, which decodes nothing, {_share(_right(quick[1]), _copies(damaged))} damaged files are told; in "
        f"{_copies(clean) - _right(quick[0])} of {_copies(clean)} clean files something is called damage or odd that is not.",
        *(_complaint(each) for each in [*clean, *damaged] if each.wrong),
        *(f"{_complaint(each)} (quick)" for each in quick[0] if each.wrong),
        f"Clean, and not checked (told as such): {'; '.join(unchecked(list(clean))) or 'none'}.",
        table(_HEAD, [_row(each, quick[1][at], finds[at] if finds else {}) for at, each in enumerate(damaged)]),
    ]
    return "\n\n".join([*lines, *([_totals(damaged, finds)] if finds else [])])


def _copies(all_of_them: Sequence[Judged]) -> int:
    return sum(each.sample.copies for each in all_of_them)


def _right(all_of_them: Sequence[Judged]) -> int:
    return sum(each.right for each in all_of_them)


def _share(count: int, total: int) -> str:
    return f"{count} of {total} ({count / total:.1%})"


def _stay(damaged: Sequence[Judged]) -> str:
    """Those that are told, and among the good files all the same."""
    names = [each.sample.name for each in damaged if each.kept_out < each.sample.copies]
    if not names:
        return "none stays in it"
    return f"the others can be read, are told as odd, and stay in it ([why](data.md#what-is-found)): {'; '.join(names)}"


def _complaint(each: Judged) -> str:
    return f"Not right: {len(each.wrong)} of {each.sample.copies} of {each.sample.name}, such as {each.wrong[0]}."


_HEAD = [
    "damage",
    "told as",
    "crashcart",
    "kept out",
    "quick",
    others.VERIFY,
    others.DECODE,
    others.CLEANVISION,
    others.RECORDS,
]


def _row(each: Judged, quick: Judged, finds: dict[str, int | None]) -> list[str]:
    theirs = [finds.get(name) for name in _HEAD[5:]]
    told = ", ".join(each.said) or "nothing"
    return [
        each.sample.name,
        told,
        f"{each.right} of {each.sample.copies}",
        str(each.kept_out),
        str(quick.right),
        *("" if n is None else str(n) for n in theirs),
    ]


def _totals(damaged: Sequence[Judged], finds: Sequence[dict[str, int | None]]) -> str:
    """How much of what they read each of the others finds."""
    parts = []
    for name in _HEAD[5:]:
        asked = [
            (found[name], each.sample.copies)
            for each, found in zip(damaged, finds, strict=True)
            if found[name] is not None
        ]
        caught, of = sum(count or 0 for count, _ in asked), sum(copies for _, copies in asked)
        parts.append(f"{name} {caught} of {of} ({caught / max(1, of):.0%})")
    return (
        "Of the damaged files of a format that they read, the others find: "
        + ", ".join(parts)
        + ". A find is an exception: `ignore_errors` "
        "drops the element and names nothing, and CleanVision ends at the first such file without naming it, so that it was given each "
        "file alone. An empty cell: not a format of theirs."
    )


if __name__ == "__main__":
    sys.exit(main())
