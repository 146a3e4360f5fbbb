"""What several rules need to know of a death by memory: who was killed, by which limit, how memory went before.

Covers: reading the kernel's own account, the rise of kill counts, the course of the samples.
Does not cover: any verdict; the rules yield those. No rule is declared here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from crashcart.evidence import ChildEnd, Ending, KernelLog, Machine, MemoryLimit, Program, Sample, StackDump
from crashcart.units import duration, size

_KILLED = re.compile(
    r"(?P<group>Memory cgroup )?[Oo]ut of memory.{0,400}?: Kill(?:ed)? process (?P<pid>\d{1,9}) \((?P<name>.{0,80}?)\)"
    r"(?:.{0,400}?anon-rss:(?P<anon_kb>\d{1,15})kB)?"
)
_BY_GROUP = re.compile(
    r"cgroup|memcg|node was low on resource|oom[-_ ]?kill(?:ed|ing)\b|(?:job|step|task|container|pod|slurm|srun"
    r"|notebook)\b.{0,80}(?:memory"
    r"|oom)|oom[-_]kill event"
    r"|memory limits?\b|term_memlimit|exceeded limit|job killed|out_of_memory|memory budget",
    re.IGNORECASE,
)
"""How schedulers and services name a group's own limit; what says none of it speaks of the whole machine."""
_KILLED_NAME = re.compile(r"(?:with pid|process|pid) (?P<pid>\d{1,9})(?: \((?P<name>[^()]{1,60})\))?")
SIGKILL = 9
FULL_FRACTION = 0.85
"""A group whose last sampled use was above this share of its limit had run full; samples lag behind a fast end."""


@dataclass(frozen=True, slots=True)
class Kill:
    """A kill for lack of memory, as the kernel log tells it; a scheduler's words mostly name no process."""

    pid: int | None
    name: str
    by_group: bool
    anon_bytes: int | None
    line: str


def kills(kernel_log: KernelLog | None) -> tuple[Kill, ...]:
    """Every kill for memory that the kernel logged during the run; where it logged none, those that others reported."""
    lines = kernel_log.lines if kernel_log is not None else ()
    logged = tuple(_logged(match, line) for line in lines if (match := _KILLED.search(line)))
    return logged or tuple(_reported(line) for line in lines if _QUOTED.match(line))


_QUOTED = re.compile(r"line \d+: ")
"""A line of a log that was handed in: its number stands before it, and it was chosen since it speaks of a kill."""


def _logged(match: re.Match[str], line: str) -> Kill:
    anon = match["anon_kb"]
    return Kill(int(match["pid"]), match["name"], bool(match["group"]), int(anon) * 1024 if anon else None, line)


def _reported(line: str) -> Kill:
    match = _KILLED_NAME.search(line)
    pid, name = (int(match["pid"]), match["name"] or "") if match else (None, "")
    return Kill(pid, name, _BY_GROUP.search(line) is not None, None, line)


def was_killed(ending: Ending) -> bool:
    """Whether the end was SIGKILL, of the program itself or, as a shell reports it, of the last command it ran."""
    return ending.signal == SIGKILL or ending.exit_code == 128 + SIGKILL


def own_kill(
    ending: Ending, program: Program | None, kernel_log: KernelLog | None, children: tuple[ChildEnd, ...] | None
) -> Kill | None:
    """The logged kill that ended the program, if there is one; in a log that was handed in, that of a Python, or any."""
    if not was_killed(ending):
        return None
    if program is None:
        told = kills(kernel_log) if ending.said is not None else ()
        return next((kill for kill in told if "python" in kill.name.lower()), told[0] if told else None)
    pids = {program.pid} if ending.signal == SIGKILL else {program.pid, *(child.pid for child in children or ())}
    return next((kill for kill in kills(kernel_log) if kill.pid in pids), None)


def fullness(samples: tuple[Sample, ...] | None, limit: MemoryLimit | None) -> float | None:
    """The share of a limit that was in use in the last second of samples."""
    if not samples or limit is None or limit.bytes <= 0:
        return None
    last_s = samples[-1].at_s
    used = [
        sample.used_bytes for sample in samples if last_s - sample.at_s <= 1.0 and sample.limit_bytes == limit.bytes
    ]
    known = [each for each in used if each is not None]
    return max(known) / limit.bytes if known else None


def course(samples: tuple[Sample, ...] | None) -> str | None:
    """How memory went up before the end, in a sentence."""
    points = levels(samples)
    if len(points) < 2:
        return None
    end_s, end_bytes = points[-1]
    peak_bytes = max(value for _, value in points)
    peak_s = next(at_s for at_s, value in points if value == peak_bytes)
    rising = [(at_s, value) for at_s, value in points if at_s <= peak_s]
    low_s, low_bytes = next(((at_s, value) for at_s, value in reversed(rising) if value <= peak_bytes * 0.5), points[0])
    if peak_bytes < 1.2 * low_bytes:
        return f"use was steady at about {size(end_bytes)} before"
    return f"use grew from {size(low_bytes)} to {size(peak_bytes)} in {duration(max(end_s - low_s, 0.1))}"


def levels(samples: tuple[Sample, ...] | None) -> list[tuple[float, int]]:
    """Use over time: what counts against the last sample's limit, else the resident size of the program and its children."""
    if not samples:
        return []
    limit = samples[-1].limit_bytes
    charged = [
        (each.at_s, each.used_bytes) for each in samples if each.limit_bytes == limit and each.used_bytes is not None
    ]
    if limit is not None and len(charged) * 2 >= len(samples):
        return charged
    return [(each.at_s, each.tree_rss_bytes) for each in samples if each.tree_rss_bytes is not None]


def limit_words(machine: Machine | None, kind: str) -> str | None:
    """A limit with the file that says so."""
    limit = machine.limit(kind) if machine is not None else None
    if limit is None:
        return None
    where = limit.source.rpartition("/")[2] or limit.source
    what = "the container's limit" if kind == "container" else "the machine's memory"
    return f"{what} is {size(limit.bytes)} ({where})"


def dumps_of(stacks: tuple[StackDump, ...] | None, pid: int | None) -> list[StackDump]:
    """The stack dumps of one process, or of whichever was dumped last where that one has none."""
    if not stacks:
        return []
    own = [dump for dump in stacks if dump.pid == pid]
    return own or [dump for dump in stacks if dump.pid == stacks[-1].pid]
