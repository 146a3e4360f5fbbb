"""What the page shows, chosen and grouped from the evidence.

Covers: which sections are there, empty or not recorded; the figures at a glance; stacks that repeat; rows of tables.
Does not cover: markup (the templates) or escaping (`html.py`).
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from itertools import groupby
from typing import Generic, TypeVar

from crashcart.evidence import Environment, ErrorRecord, Evidence, Holder, HolderNote, Machine, Program, StackDump
from crashcart.finding import Report, Unchecked
from crashcart.report import data_words, fit_words, leaks_words, pipeline_words, words
from crashcart.report.series import memory_of
from crashcart.report.words import duration_words, number, size_words

Item = TypeVar("Item")
Row = tuple[str, str]

_REASONS = {
    "beat": "taken regularly",
    "memory": "taken because memory ran short",
    "hang": "taken because nothing moved",
    "gpu": "taken because a GPU was nearly full",
    "fatal": "taken at the fatal signal",
}


@dataclass(frozen=True, slots=True)
class Part(Generic[Item]):
    """A list that may be too long to show: its beginning, how many are left out, its end."""

    head: Sequence[Item]
    left_out: int
    tail: Sequence[Item]


def middle_out(items: Iterable[Item], most: int) -> Part[Item]:
    """At most `most` items, those in the middle left out: the outermost frames and the innermost tell most."""
    listed = list(items)
    if len(listed) <= most:
        return Part(listed, 0, [])
    head = most // 3
    return Part(listed[:head], len(listed) - most, listed[head - most :])


def empty_sections(evidence: Evidence) -> list[str]:
    """The names of the sections that were collected and hold nothing."""
    held = ((name, getattr(evidence, name)) for name in words.sections_of(evidence))
    return [words.section_name(name) for name, value in held if value is not None and _is_empty(value)]


def _is_empty(section: object) -> bool:
    content = getattr(section, "lines", section)
    return isinstance(content, tuple) and not content


def absent_sections(evidence: Evidence) -> list[tuple[str, str | None]]:
    """The names of the sections that were not recorded, each with the reason where it is known."""
    missing = (name for name in words.sections_of(evidence) if getattr(evidence, name) is None)
    return [(words.section_name(name), evidence.absent.get(name)) for name in missing]


def glance(evidence: Evidence) -> list[tuple[str, str, str]]:
    """The few figures that a reader wants before the details: name, figure, remark."""
    rows: list[tuple[str, str, str]] = [] if evidence.step is None else list(fit_words.glance(evidence.step))
    rows += [] if evidence.pipeline is None else pipeline_words.glance(evidence.pipeline)
    rows += [] if evidence.survey is None else data_words.glance(evidence.survey)
    rows += [] if evidence.growth is None else leaks_words.glance(evidence.growth)
    if evidence.ending:
        rows.append(("Ending", words.ending_label(evidence.ending), _after(evidence.ending.at_s)))
    memory = memory_of(evidence)
    if memory:
        rows.append(("Peak memory", size_words(memory.peak[1]), _after(memory.peak[0])))
        if memory.bound:
            rows.append(("Memory limit", size_words(memory.bound.bytes), memory.bound.source))
    if evidence.environment:
        rows.append(("Python", evidence.environment.python or words.UNKNOWN, _frameworks(evidence.environment)))
    if evidence.program and (started := started_words(evidence.program)):
        day, _, clock = started.partition(" ")
        rows.append(("Started", day, clock))
    return rows


def _after(at_s: float | None) -> str:
    return f"after {duration_words(at_s)}" if number(at_s) is not None else ""


def _frameworks(environment: Environment) -> str:
    versions = ((name, environment.packages.get(name)) for name in sorted(environment.modules))
    return ", ".join(f"{name} {each}" for name, each in versions if each)


def started_words(program: Program) -> str | None:
    """When the program was started, in UTC; None where the recorded time is no time."""
    try:
        moment = datetime.fromtimestamp(program.started_unix_s, timezone.utc)
    except (OverflowError, OSError, TypeError, ValueError):
        return None
    return moment.strftime("%Y-%m-%d %H:%M:%S UTC")


def command(program: Program) -> str:
    """The command line as one would type it."""
    return shlex.join(program.argv)


def error_note(error: ErrorRecord) -> str:
    """What is known of an error besides its name and its message."""
    line = f", line {error.line_number}" if error.line_number is not None else ""
    facts = (
        error.type if error.type != error.name else None,
        f"in the thread {error.thread}" if error.thread else None,
        f"read from the output{line}" if error.origin == "log" else None,
        f"at {duration_words(error.at_s)}" if error.at_s is not None else None,
    )
    return ", ".join(fact for fact in facts if fact)


@dataclass(frozen=True, slots=True)
class Scene:
    """A stack dump, and over how many dumps in a row the threads stood just so."""

    dump: StackDump
    first_s: float | None
    times: int

    def when(self) -> str:
        """`from 1.0 s to 12.1 s, unchanged in 13 dumps; taken because memory ran short`."""
        reason = _REASONS.get(self.dump.reason, self.dump.reason)
        if self.times == 1:
            return f"at {duration_words(self.dump.at_s)}, {reason}"
        span = f"from {duration_words(self.first_s)} to {duration_words(self.dump.at_s)}"
        return f"{span}, unchanged in {self.times} dumps; the last {reason}"


def scenes(evidence: Evidence, most: int) -> Part[Scene]:
    """The stack dumps, the latest first, with repetitions folded into one."""
    dumps = list(evidence.stacks or ())
    if evidence.crash and evidence.crash.python:
        dumps.append(evidence.crash.python)
    runs = [list(run) for _, run in groupby(dumps, key=lambda dump: (dump.pid, dump.stacks))]
    folded = [Scene(run[-1], run[0].at_s, len(run)) for run in reversed(runs)]
    return Part(folded[:most], max(0, len(folded) - most), [])


@dataclass(frozen=True, slots=True)
class Held:
    """A holder of memory in the last note, its share of the largest one, and what it held when it was first noted."""

    holder: Holder
    share_percent: float
    first_bytes: int | None
    first_s: float | None


def last_note(evidence: Evidence) -> HolderNote | None:
    """The last note that names anything."""
    return next((note for note in reversed(evidence.holders or ()) if note.holders or note.pipelines), None)


def held_rows(evidence: Evidence) -> list[Held]:
    """The last note's holders, each beside its first appearance."""
    note = last_note(evidence)
    holders = note.holders if note else ()
    largest = max((number(each.bytes) or 0.0 for each in holders), default=0.0)
    return [_held(each, largest, evidence.holders or ()) for each in holders]


def _held(holder: Holder, largest: float, notes: Sequence[HolderNote]) -> Held:
    share = 100 * max(0.0, number(holder.bytes) or 0.0) / largest if largest > 0 else 0.0
    noted = ((each, note.at_s) for note in notes for each in note.holders)
    first, at_s = next((each, at_s) for each, at_s in noted if (each.name, each.scope) == (holder.name, holder.scope))
    return Held(holder, share, None, None) if first is holder else Held(holder, share, first.bytes, at_s)


def _system(machine: Machine) -> str:
    named = " ".join(each for each in (machine.system, machine.release) if each) or words.UNKNOWN
    return f"{named}, {machine.architecture or words.UNKNOWN}"


def machine_rows(machine: Machine) -> list[Row]:
    """The computer and the bounds that hold on it."""
    rows = [
        ("system", _system(machine)),
        ("processor", f"{machine.cpu_model or words.UNKNOWN}, {machine.cores or words.UNKNOWN} cores"),
        ("memory", size_words(machine.ram_bytes)),
        ("swap", "none" if machine.swap_bytes == 0 else size_words(machine.swap_bytes)),
    ]
    rows += [
        (f"memory limit ({each.kind})", f"{size_words(each.bytes)}, from {each.source}") for each in machine.limits
    ]
    rows += [(f"ulimit {name}", _rlimit(name, value)) for name, value in sorted_pairs(machine.rlimits or {})]
    return rows


def _rlimit(name: str, value: object) -> str:
    if value is None:
        return "unlimited"
    return size_words(value) if name in ("as", "data", "stack", "core") else str(value)


def gpu_rows(evidence: Evidence) -> list[Row]:
    """The devices as they were at the start, and who held memory on them."""
    rows = []
    for gpu in evidence.gpus or ():
        holders = ", ".join(f"pid {pid}: {size_words(held)}" for pid, held in gpu.processes.items())
        free = f"{size_words(gpu.free_bytes)} of {size_words(gpu.total_bytes)} free at the start"
        driver = f"driver {gpu.driver}" if gpu.driver else "driver unknown"
        rows.append((f"GPU {gpu.index}", "; ".join([gpu.name, driver, free, *([holders] if holders else [])])))
    return rows


def disk_rows(evidence: Evidence) -> list[Row]:
    """The file systems at the end."""
    return [
        (
            each.path,
            f"{size_words(each.free_bytes)} of {size_words(each.total_bytes)} free ({each.kind or 'type unknown'})",
        )
        for each in evidence.disks or ()
    ]


def ending_rows(evidence: Evidence) -> list[Row]:
    """What is known of the end, and only that."""
    ending = evidence.ending
    if ending is None:
        return []
    facts: list[tuple[str, object]] = [
        ("end", words.ending_words(ending)),
        ("signal", ending.signal),
        ("core dumped", ending.core_dumped),
        ("core file", ending.core_file),
        ("memory kills in its group", ending.oom_kills_group),
        ("memory kills on the machine", ending.oom_kills_host),
        ("times that its group was at its limit", ending.limit_hits_group),
        ("peak resident size, by the kernel", _known_size(ending.peak_rss_bytes)),
        ("same boot since", ending.same_boot),
        ("signal sent by", ending.sent_by),
        ("Python reached its orderly end", ending.python_finished),
        ("descendants still alive", ", ".join(str(pid) for pid in ending.survivors) or None),
    ]
    return [(name, yes_no(value)) for name, value in facts if value is not None]


def _known_size(count_bytes: int | None) -> str | None:
    return None if count_bytes is None else size_words(count_bytes)


def yes_no(value: object) -> str:
    """A truth value in words; anything else as it is."""
    if value is None:
        return words.UNKNOWN
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def variable_rows(environment: Environment) -> list[tuple[str, str | None]]:
    """The environment variables; one that is set to nothing is said to be empty."""
    return [(name, "(empty)" if value == "" else value) for name, value in sorted_pairs(environment.variables)]


def child_rows(evidence: Evidence) -> list[Row]:
    """The descendants that ended, with their last size."""
    return [
        (f"pid {each.pid}", f"{each.name}, at {duration_words(each.at_s)}, last seen with {size_words(each.rss_bytes)}")
        for each in evidence.children or ()
    ]


def hexadecimal(value: object) -> str:
    """An address or an offset."""
    return hex(value) if isinstance(value, int) else words.UNKNOWN


def file_name(path: str) -> str:
    """The last part of a path."""
    return path.rsplit("/", 1)[-1]


def lacking(unchecked: Unchecked, evidence: Evidence) -> str:
    """What a rule lacked, in words, with the reasons where they are known."""
    return "; ".join(
        f"{words.section_name(name)}: {reason}" if (reason := evidence.absent.get(name)) else words.section_name(name)
        for name in unchecked.missing
    )


def sorted_pairs(mapping: Mapping[str, Item]) -> list[tuple[str, Item]]:
    """The pairs of a mapping in order of their keys."""
    return sorted(mapping.items(), key=lambda pair: str(pair[0]).lower())


def title(report: Report, evidence: Evidence | None = None) -> str:
    """The page's title."""
    if evidence is not None and evidence.survey is not None:
        return data_words.headline(evidence.survey)
    if "not_checked" in report.figures:
        return leaks_words.title(report)
    if report.verdict:
        return report.verdict.headline
    if evidence is not None and evidence.step is not None:
        return fit_words.title(evidence.step)
    if evidence is not None and evidence.pipeline is not None:
        return pipeline_words.headline(evidence.pipeline)
    return f"Nothing was found in {report.subject or 'the program'}"
