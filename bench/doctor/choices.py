"""Does a plan get the versions that pip itself chose?

Covers: each recorded result of pip's resolver, beside what `crashcart doctor` takes a plan with the same requirements to be.
Does not cover: packages that the facts do not name. Both are of the day they were recorded; a refresh of one alone shows here.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from bench.doctor.record import recorded
from crashcart.doctor._index import is_known
from crashcart.doctor._planned import planned
from crashcart.installation import Interpreter
from crashcart.probe.plan import read_plan

_HERE = Interpreter("3.11.0", None, None, architecture="x86_64", libc="glibc")


@dataclass(frozen=True, slots=True)
class Choices:
    """How many versions were chosen as pip chose them, and those that were not."""

    plans: int
    same: int
    other: tuple[str, ...]


def compare() -> Choices:
    resolved = {asked: packages for asked, packages in recorded()["resolved"].items() if packages}
    same = 0
    other: list[str] = []
    for asked, packages in resolved.items():
        python, _, words = asked.partition(": ")
        ours = _chosen(python, words.split())
        for name, version in packages.items():
            if is_known(name) and ours.get(name) != version:
                other.append(f"{asked}: {name} {ours.get(name)} instead of {version}")
            elif is_known(name):
                same += 1
    return Choices(len(resolved), same, tuple(other))


def _chosen(python: str, requirements: list[str]) -> dict[str, str | None]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "requirements.txt")
        file.write_text("\n".join(requirements), encoding="utf-8")
        found = planned(read_plan([str(file)]), _HERE, python)
    return {each.name: each.version for each in found.distributions}
