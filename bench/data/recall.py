"""What `crashcart data` says of each file of the corpus, beside what is true.

Covers: the command run as a user does, its lists of faults and of good files read back, and each file judged. A damaged one is right
if it is told under a right name; whether it is kept out of the good files, too, is counted beside that (what is odd can be read, and
stays in the list: docs/data.md says why). A clean one is right if nothing false is told and it is among the good files; one that
TensorFlow does not read, or no library here, is right if that is told and it is not among them.
Does not cover: what others find (`others.py`), speed (`speed.py`).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.data import corpus
from bench.data.clean_tables import CLASSES
from bench.data.sample import Sample
from crashcart.cli.data import NOT_CHECKED
from crashcart.sound import FOREIGN

DIFFERS = "differs"
"""A file that differs from its neighbours: the corpus mixes what no data set does, so that this says nothing here."""


@dataclass(frozen=True)
class Judged:
    """What was said of the files of one kind."""

    sample: Sample
    wrong: tuple[str, ...]
    """The files that were missed or falsely accused, with what was said."""
    said: tuple[str, ...]
    """The kinds of faults that were told, over all copies."""
    kept_out: int = 0
    """How many are not in the list of good files."""

    @property
    def right(self) -> int:
        """How many were judged rightly."""
        return self.sample.copies - len(self.wrong)


@dataclass(frozen=True)
class Said:
    """What the command says of the files of a folder."""

    faults: Mapping[str, list[dict[str, Any]]]
    """By path."""
    good: frozenset[str]
    """The files that it calls good."""


def said_of(folder: Path, quick: bool = False) -> Said:
    """Run the command, and read back what it says."""
    name = f"{folder.name}-quick" if quick else folder.name
    out, good = folder.with_name(f"{name}.jsonl"), folder.with_name(f"{name}.good.txt")
    command = [sys.executable, "-m", "crashcart", "data", str(folder), "--classes", str(CLASSES), "--out", str(out)]
    kept = ["--good", str(good), "--state", str(folder.with_name(f"{name}.sqlite")), "--json"]
    how = ["--quick"] if quick else []
    done = subprocess.run(
        [*command, *kept, *how], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False
    )
    if done.returncode not in (0, 1, NOT_CHECKED):
        raise SystemExit(f"crashcart data ended with {done.returncode}: {done.stderr[-2000:]}")
    found = defaultdict(list)
    for line in out.read_text().splitlines():
        fault = json.loads(line)
        if fault["kind"] != DIFFERS:
            found[fault["path"]].append(fault)
    return Said(found, frozenset(good.read_text().splitlines()))


def judged(root: Path, quick: bool = False) -> tuple[list[Judged], list[Judged]]:
    """The clean and the damaged kinds, each judged."""
    said = {name: said_of(root / name, quick) for name in ("clean", "damaged")}
    clean = [_judge(each, root / "clean", said["clean"]) for each in corpus.clean()]
    return clean, [_judge(each, root / "damaged", said["damaged"]) for each in corpus.damaged()]


def _judge(sample: Sample, root: Path, said: Said) -> Judged:
    wrong, kinds, kept_out = [], set(), 0
    for path in sample.paths(root):
        told, good = said.faults.get(str(path), []), str(path) in said.good
        kinds |= {each["kind"] for each in told}
        kept_out += not good
        complaint = missed(sample, told) if sample.kinds else accused(sample, told, good)
        if complaint:
            wrong.append(f"{os.path.join(*path.parts[-2:])}: {complaint}")
    return Judged(sample, tuple(wrong), tuple(sorted(kinds)), kept_out)


def missed(sample: Sample, told: list[dict[str, Any]]) -> str | None:
    """What is wrong in what was said of a damaged file."""
    if any(each["kind"] in sample.kinds for each in told):
        return None
    return f"called {_kinds(told) or 'sound'}; right is {' or '.join(sorted(sample.kinds))}"


def _kinds(told: list[dict[str, Any]]) -> str:
    return ", ".join(sorted(f"{each['weight']} {each['kind']}" for each in told))


def accused(sample: Sample, told: list[dict[str, Any]], good: bool) -> str | None:
    """What is wrong in what was said of a clean file: odd is right where it is; unchecked, where no library here reads the kind."""
    words = "; ".join(
        f"{each['weight']} {each['kind']}: {each['detail']}" for each in told if not _rightly(sample, each)
    )
    if sample.unread and not any(each["weight"] == "unchecked" for each in told):
        return words or "not told as not checked"
    return words or _misplaced(good, sample.unread or any(each["kind"] in FOREIGN for each in told))


def _rightly(sample: Sample, said: dict[str, Any]) -> bool:
    if said["weight"] == "unchecked":
        return sample.unread and said["kind"] == "not-checked"
    return said["weight"] == "odd" and said["kind"] in sample.odd


def _misplaced(good: bool, left_out: bool) -> str | None:
    """Whether the file is among the good ones, and should not be, or the other way round."""
    if good == left_out:
        return "among the good files" if good else "not among the good files"
    return None


def unchecked(clean: list[Judged]) -> Iterator[str]:
    """Clean kinds that were not looked at."""
    return (each.sample.name for each in clean if {"not-checked", "unknown-format"} & set(each.said))
