"""Rules, their registry, and `examine`: the only engine that judges.

Covers: declaring a rule, loading all rules of a room, running them over evidence, ranking what they found.
Does not cover: reading the world (`probe/`) or wording (`report/`). A rule never sees more than the sections that its
signature names.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from enum import IntEnum

from crashcart.evidence import Evidence
from crashcart.finding import Confidence, Finding, Report, Unchecked

Judge = Callable[..., Iterator[Finding]]

_SECTIONS = frozenset(section.name for section in fields(Evidence))


class Rank(IntEnum):
    """Which of two well-founded findings explains more: what the user must change comes before how the end came."""

    ROOT = 10
    """The habit of the program that led to the end: a leak, a buffer, a constant."""
    KIND = 20
    """The kind of failure, in the program's own terms: shapes, data, versions."""
    MECHANISM = 30
    """How the end came: killed by a limit, a signal."""
    LAST_RESORT = 90
    """What is left to say when nothing above fired; dropped as soon as something well-founded did."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A judge with its code, its name (which states the pattern, never the cure) and its manual page."""

    code: str
    name: str
    rank: Rank
    judge: Judge
    needs: tuple[str, ...]
    wants: tuple[str, ...]

    @property
    def manual(self) -> str:
        """The rule's docstring, dedented: what it means, how we know, what to do."""
        return inspect.cleandoc(self.judge.__doc__ or "")


def rule(code: str, name: str, rank: Rank = Rank.KIND) -> Callable[[Judge], Rule]:
    """Declare the decorated generator as a rule.

    Its parameters name the evidence sections: without a default it *needs* the section (absent: unchecked), with a
    default of None it *wants* it.
    """

    def declare(judge: Judge) -> Rule:
        parameters = inspect.signature(judge).parameters.values()
        unknown = [each.name for each in parameters if each.name not in _SECTIONS]
        if unknown:
            raise TypeError(f"rule {code} names {', '.join(unknown)}, which are no sections of Evidence")
        needs = tuple(each.name for each in parameters if each.default is each.empty)
        wants = tuple(each.name for each in parameters if each.default is not each.empty)
        return Rule(code, name, rank, judge, needs, wants)

    return declare


def load_rules(package: str, leave_out: tuple[str, ...] = ()) -> tuple[Rule, ...]:
    """Import every module of a room and collect the rules they declare, in order of code. Modules whose names begin with one
    of `leave_out` hold none, and take long to import.
    """
    room = importlib.import_module(package)
    found: dict[str, Rule] = {}
    for module_info in pkgutil.iter_modules(room.__path__):
        if module_info.name.startswith(leave_out):
            continue
        module = importlib.import_module(f"{package}.{module_info.name}")
        for value in vars(module).values():
            if isinstance(value, Rule) and value.judge.__module__ == module.__name__:
                if value.code in found:
                    raise ValueError(f"two rules carry the code {value.code}")
                found[value.code] = value
    return tuple(found[code] for code in sorted(found))


def examine(evidence: Evidence, rules: Iterable[Rule], subject: str = "") -> Report:
    """Run each rule over the evidence and rank what they found. A rule that raises becomes unchecked, with its error."""
    found: list[tuple[Rule, Finding]] = []
    checked: list[str] = []
    unchecked: list[Unchecked] = []
    for each in rules:
        missing = tuple(name for name in each.needs if getattr(evidence, name) is None)
        if missing:
            unchecked.append(Unchecked(each.code, each.name, missing))
            continue
        sections = {name: getattr(evidence, name) for name in each.needs + each.wants}
        try:
            findings = [replace(finding, code=each.code) for finding in each.judge(**sections)]
        except Exception as error:
            unchecked.append(Unchecked(each.code, each.name, (f"the rule failed: {type(error).__name__}: {error}",)))
            continue
        checked.append(each.code)
        found.extend((each, finding) for finding in findings)
    return Report(subject, _ranked(found), tuple(checked), tuple(unchecked))


def _ranked(found: list[tuple[Rule, Finding]]) -> tuple[Finding, ...]:
    founded = any(
        rule.rank < Rank.LAST_RESORT and finding.confidence is not Confidence.POSSIBLE for rule, finding in found
    )
    kept = [(rule, finding) for rule, finding in found if not (founded and rule.rank is Rank.LAST_RESORT)]
    kept.sort(key=lambda pair: _weight(*pair))
    return tuple(finding for _, finding in kept)


def _weight(rule: Rule, finding: Finding) -> tuple[int, bool, int, int, str]:
    """The gravest first; a mere possibility comes after everything founded; then what explains more; then what is surer."""
    possible = finding.confidence is Confidence.POSSIBLE
    return (finding.level.order, possible, rule.rank, finding.confidence.order, rule.code)
