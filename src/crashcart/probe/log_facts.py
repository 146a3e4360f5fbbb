"""What a log tells of the machine and the environment it comes from: processor, cards, versions, kills for memory.

Covers: /proc/cpuinfo and lscpu, `uname` and `file`, TensorFlow's start-up lines, pip and conda lists, the kernel's and
the schedulers' own words about kills for memory.
Does not cover: judging. A figure that the text does not tell stays None.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from crashcart.evidence import Environment, GpuDevice, LogLine, Machine
from crashcart.units import GIB, MIB

_FLAGS = re.compile(r"^\s{0,8}(?:flags|Flags|Features)\s{0,20}:\s(?P<flags>[a-z0-9_ ]{20,10000})$")
_MACH_O = re.compile(r"Mach-O 64-bit (?:executable|bundle|\w+) (?P<architecture>x86_64|arm64)")
_DARWIN = re.compile(r"macOS|Mac ?OS X|Darwin|^zsh: |Apple M\d|Mach-O|/Users/[^/]|\.dylib\b")
_WINDOWS = re.compile(r"^\s*(?:File \")?[A-Z]:\\|\bWindows\b|\.dll\b|0xC0000", re.IGNORECASE)
_ARM = re.compile(r"^\s*(?:arm64|aarch64)\s*$|\bApple M\d|\baarch64\b")
_PYTHON = re.compile(r"\bPython (?:version:? )?(?P<version>[23]\.\d{1,2}(?:\.\d{1,2})?)\b")
_PINNED = re.compile(r"^\s{0,8}(?P<name>[A-Za-z][\w.-]{1,60})==(?P<version>\d[\w.+!-]{0,40})\s*$")
_LISTED = re.compile(r"^(?P<name>[a-z][\w.-]{1,60})\s{2,60}(?P<version>\d{1,4}\.\d[\w.+!-]{0,40})(?:\s|$)")
_SAID = re.compile(
    r"\b(?P<name>tensorflow|tf|keras|numpy|torch|pytorch|jax|jaxlib|protobuf)(?:[- ]gpu)?(?:\.__version__)?(?: version)?"
    r"\s{0,3}[:=]?\s{1,3}v?(?P<version>\d\.\d{1,2}(?:\.\d{1,3})?)\b",
    re.IGNORECASE,
)
_PROPERTIES = re.compile(r"Found device (?P<index>\d{1,3}) with properties")
_CARD = re.compile(r"^\s{0,8}name: (?P<name>[^,\n]{1,60}?)(?: major:.{0,80})?$")
_MEMORY = re.compile(r"(?P<what>total|free)\s?Memory: (?P<amount>\d+(?:\.\d+)?)(?P<unit>[MG]i?B)", re.IGNORECASE)
_KILLS = re.compile(
    r"out of memory.{0,80}kill|killed process \d+|oom-kill|oom_kill|oomkill|oom killer|invoked oom|oom_reaper"
    r"|exceeded (?:job |step |the )?memory limit|exceeded (?:job|step) memory|beyond (?:physical|virtual) memory limits"
    r"|term_memlimit|mem(?:ory)? .{0,40}exceeded limit|job killed: (?:v?mem|pvmem)|task \d+: out of memory|^out_of_memory$"
    r"|node was low on resource: memory|low swap: killing|memorystatus: killing|run out of application memory|jetsam"
    r"|after using all available ram|tried to allocate more memory than is available|ran out of memory and was restarted"
    r"|killed due to (?:the node running low on )?memory|due to memory pressure|running low on memory|memory cgroup"
    r"|exceeded \d+% memory budget|low virtual memory condition|perhaps out of memory\?|mem avail:.{0,80}sig"
    r"|^\s{0,8}\d[\w.+]{0,40}\s.{0,200}\bout_of_me(?:mory|\+)|jobstate=out_of_memory|too much memory|ran out-of-memory"
    r"|(?:over|beyond|exceed\w*) (?:its |the |your )?(?:resource|memory|ram) (?:limits?|quota)"
    r"|memory (?:limit|quota) .{0,60}exceeded|instance type with more memory|caused by an oom"
    r"|\boom[- ]killed|cgroups? enforced memory|exceeds job (?:hard|soft) limit .?[hs]_(?:vmem|rss|data)|notebook exceeded memory"
    r"|memory usage exceed\w* request_memory|^state: {1,4}out_of_memory|badness \d{1,4}, vmrss"
    r"|container .{0,80}(?:oom|memory limit)|used (?:up )?all (?:of )?(?:the|its) (?:available )?memory",
    re.IGNORECASE,
)
_OUT_OF_TIME = re.compile(r"WORKER TIMEOUT \(pid:(\d{1,9})\)")
_GUESSED = re.compile(r"\(pid:(\d{1,9})\) was sent SIGKILL! Perhaps out of memory")
"""gunicorn's guess at any SIGKILL: also at those that it sent itself, to a worker whose time was up."""
_REPORT = re.compile(r"memory size: (?P<size>\d{1,7}) mb\s{1,8}max memory used: (?P<used>\d{1,7}) mb")
_UNITS = {"mib": MIB, "mb": MIB, "gib": GIB, "gb": GIB}
_MOST_KILLS = 20


def kill_lines(lines: Iterable[LogLine]) -> tuple[str, ...]:
    """What the kernel, a scheduler or a service said about kills for memory, each with the number of its line."""
    found: list[str] = []
    out_of_time: set[str] = set()
    for each in lines:
        out_of_time.update(_OUT_OF_TIME.findall(each.text[:2_000]))
        guessed = _GUESSED.search(each.text[:2_000])
        if _speaks_of_a_kill(each.text) and not (guessed and guessed[1] in out_of_time):
            found.append(f"line {each.number}: {each.text.strip()[:500]}")
    return tuple(found[:_MOST_KILLS])


def _speaks_of_a_kill(text: str) -> bool:
    folded = text[:2_000].lower()
    return (
        "mem" in folded
        or "oom" in folded
        or "swap" in folded
        or "kill" in folded
        or "jetsam" in folded
        or "ram" in folded
        or "out_of_me" in folded
        or "badness" in folded
    ) and (_KILLS.search(folded) is not None or _used_up(folded))


def _used_up(folded: str) -> bool:
    """A report of a serverless run whose largest use is all that it had."""
    match = _REPORT.search(folded)
    return match is not None and int(match["used"]) >= int(match["size"])


def told_machine(lines: Iterable[LogLine]) -> Machine | None:
    """System, architecture and processor features, as far as the text tells; None where it tells nothing of them."""
    system = architecture = None
    flags: frozenset[str] | None = None
    interpreter = None
    for line in lines:
        text = line.text[:12_000]
        if match := _FLAGS.match(text):
            flags = frozenset(match["flags"].split())
        elif match := _MACH_O.search(text):
            interpreter, system = match["architecture"], "Darwin"
        elif _DARWIN.search(text):
            system = "Darwin"
        elif system is None and _WINDOWS.search(text):
            system = "Windows"
        if _ARM.search(text):
            architecture = "arm64"
    if system is None and architecture is None and flags is None:
        return None
    emulated = architecture == "arm64" and interpreter == "x86_64"
    return Machine(
        system=system, release=None, architecture="x86_64 on arm64" if emulated else architecture or interpreter,
        cores=None, cpu_model=None, cpu_flags=flags, ram_bytes=None, swap_bytes=None, boot_id=None,
    )  # fmt: skip


def told_environment(lines: Iterable[LogLine]) -> Environment | None:
    """Versions of Python and of packages that the text names; None where it names none."""
    python: str | None = None
    packages: dict[str, str] = {}
    for line in lines:
        text = line.text[:400]
        if match := _PINNED.match(text) or _LISTED.match(text):
            packages[match["name"].lower()] = match["version"]
        elif match := _SAID.search(text):
            packages.setdefault(_full_name(match["name"].lower()), match["version"])
        if python is None and (match := _PYTHON.search(text)):
            python = match["version"]
    if python is None and not packages:
        return None
    return Environment(python=python, executable=None, packages=packages, variables={})


def _full_name(name: str) -> str:
    return {"tf": "tensorflow", "pytorch": "torch"}.get(name, name)


def told_gpus(lines: Iterable[LogLine]) -> tuple[GpuDevice, ...] | None:
    """The cards of which TensorFlow's start-up lines give total and free memory; None where there are none."""
    found = tuple(_cards(lines))
    return found or None


def _cards(lines: Iterable[LogLine]) -> Iterator[GpuDevice]:
    index, name, total = 0, "", 0
    for line in lines:
        text = line.text[:400]
        if match := _PROPERTIES.search(text):
            index, name, total = int(match["index"]), "", 0
        elif match := _CARD.match(text):
            name = match["name"].strip()
        for match in _MEMORY.finditer(text):
            amount = int(float(match["amount"]) * _UNITS[match["unit"].lower()])
            if match["what"].lower() == "total":
                total = amount
            elif total:
                yield GpuDevice(index, name or "GPU", total, amount)
                total = 0
