"""The words that all forms of a report share.

Covers: figures that may be unknown, paths, places in code, endings, and what was not checked and why.
Does not cover: layout (`text.py`, `html.py`) or making text harmless (`safe.py`): these words are still untrusted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import fields
from pathlib import PurePosixPath

from crashcart.evidence import Ending, Evidence
from crashcart.finding import Confidence, Report, Where
from crashcart.units import duration, size

UNKNOWN = "unknown"
_MOST_BYTES = 2.0**64
_MOST_SECONDS = 1e10
"""Three centuries. A figure beyond these bounds is damage, not a figure."""

_SECTION_NAMES = {
    "samples": "memory over time",
    "stacks": "Python stacks",
    "holders": "what held the memory",
    "errors": "uncaught errors",
    "crash": "native crash",
    "log": "program output",
    "kernel_log": "kernel log",
    "gpus": "GPUs",
    "disks": "disk space",
    "children": "child processes",
    "ending": "how it ended",
    "installation": "installed packages",
    "devices_named": "devices that the code names",
    "attempts": "import of the frameworks",
    "step": "the step",
    "pipeline": "the pipeline",
    "survey": "the files",
    "growth": "growth over the steps",
}
SECTIONS = tuple(each.name for each in fields(Evidence) if each.name != "absent")
_OF_GROUND = ("machine", "environment", "gpus", "disks", "installation", "devices_named", "attempts")
_OF_GROUND_ALONE = frozenset(("installation", "devices_named", "attempts"))
_OF_STEP = ("step",)
_OF_PIPELINE = ("pipeline",)
_OF_FILES = ("survey",)


def sections_of(evidence: Evidence) -> tuple[str, ...]:
    """The sections that could be there: an examined environment has no stacks, a run no plan of one, a step nothing else."""
    if evidence.installation is not None:
        return _OF_GROUND
    if evidence.step is not None:
        return _OF_STEP
    if evidence.pipeline is not None:
        return _OF_PIPELINE
    if evidence.survey is not None:
        return _OF_FILES
    apart = {*_OF_GROUND_ALONE, *_OF_STEP, *_OF_PIPELINE, *_OF_FILES}
    return tuple(each for each in SECTIONS if each not in apart)


def section_name(section: str) -> str:
    """A section of the evidence as people call it."""
    return _SECTION_NAMES.get(section, section.replace("_", " "))


def number(value: object) -> float | None:
    """The value as a finite number, or None where it is none (a damaged recording may hold anything)."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None


def size_words(count_bytes: object) -> str:
    """Bytes for people, or `unknown`."""
    value = number(count_bytes)
    return UNKNOWN if value is None or abs(value) > _MOST_BYTES else size(int(value))


def duration_words(seconds: object) -> str:
    """A duration for people, or `unknown`."""
    value = number(seconds)
    return UNKNOWN if value is None or abs(value) > _MOST_SECONDS else duration(value)


def short_path(path: str, cwd: str | None) -> str:
    """The path relative to the program's working directory where it lies inside, else as it is."""
    if cwd and path.startswith("/"):
        try:
            return str(PurePosixPath(path).relative_to(cwd))
        except ValueError:
            return path
    return path


def cwd_of(evidence: Evidence) -> str | None:
    """The program's working directory, where it is known."""
    return evidence.program.cwd if evidence.program else None


def spot(where: Where, cwd: str | None = None) -> str:
    """The shortest name of a place: `train.py:5`, `cell [7], line 3`; empty where neither file nor cell is known."""
    if where.cell:
        return _cell_spot(where, cwd)
    if not where.file:
        return f"line {where.line}" if where.line is not None else ""
    path = short_path(where.file, cwd)
    return path if where.line is None else f"{path}:{where.line}"


def _cell_spot(where: Where, cwd: str | None) -> str:
    cell = f"[{where.cell}]" if where.cell and where.cell.isdigit() else where.cell
    notebook = [short_path(where.file, cwd)] if where.file and where.file.endswith(".ipynb") else []
    line = [f"line {where.line}"] if where.line is not None else []
    return ", ".join([*notebook, f"cell {cell}", *line])


def place_words(where: Where, cwd: str | None = None) -> str:
    """All that is known of a place but its source: `train.py:5 in build, op Conv2D (seen 1.2 s before the end)`."""
    words = spot(where, cwd)
    if where.function and where.function != "<module>":
        words = f"{words} in {where.function}".lstrip()
    if where.op:
        words = f"{words}, op {where.op}" if words else f"op {where.op}"
    if number(where.age_s) is not None:
        words = f"{words} (seen {duration_words(where.age_s)} before the end)".lstrip()
    return words


def signal_words(ending: Ending) -> str:
    """The ending signal by its name, or by its number."""
    if ending.signal_name:
        return ending.signal_name
    return "a signal" if ending.signal is None else f"signal {ending.signal}"


def ending_words(ending: Ending) -> str:
    """How the program stopped, in one clause: `ended by SIGKILL after 12 s`."""
    after = f" after {duration_words(ending.at_s)}" if number(ending.at_s) is not None else ""
    if ending.kind == "signal":
        return f"ended by {signal_words(ending)}{after}"
    if ending.kind == "exit":
        code = UNKNOWN if ending.exit_code is None else ending.exit_code
        return f"exited with code {code}{after}"
    return {"running": f"still running{after}", "unobserved": "nobody saw the end"}.get(
        ending.kind, f"{ending.kind}{after}"
    )


def ending_label(ending: Ending) -> str:
    """The ending in a word or two, for a mark on a chart."""
    if ending.kind == "signal":
        return signal_words(ending)
    if ending.kind == "exit":
        return "exit" if ending.exit_code is None else f"exit {ending.exit_code}"
    return ending.kind


def noise(report: Report) -> list[str]:
    """The harmless notices that the report names: `line 3 and 2 more: TensorRT is not installed`."""
    notices = report.figures.get("noise")
    return [_notice(each) for each in notices if isinstance(each, dict)] if isinstance(notices, list) else []


def _notice(notice: dict[str, object]) -> str:
    count = number(notice.get("count")) or 1
    more = f" and {count - 1:.0f} more" if count > 1 else ""
    return f"line {notice.get('line')}{more} harmless: {notice.get('meaning')}"


def not_checked(report: Report, evidence: Evidence) -> list[str]:
    """What was missing and matters: `kernel log (permission denied)`.

    Under a certain verdict only the sections that somebody tried to get and could not: the others, such as a native
    crash in a run that was killed, are missing as they should be.
    """
    if evidence.program is None and evidence.log is not None and evidence.samples is None:
        return ["what only a recorded run has (memory over time, stacks)", *_failed_rules(report)]
    lacked = {missing for each in report.unchecked for missing in each.missing}
    certain = report.verdict is not None and report.verdict.confidence is Confidence.CERTAIN
    sections = [
        section
        for section in sections_of(evidence)
        if getattr(evidence, section) is None and (section in evidence.absent or (section in lacked and not certain))
    ]
    return [*(_with_reason(section, evidence) for section in sections), *_failed_rules(report)]


def _with_reason(section: str, evidence: Evidence) -> str:
    reason = evidence.absent.get(section)
    return f"{section_name(section)} ({reason})" if reason else section_name(section)


def _failed_rules(report: Report) -> Iterator[str]:
    for each in report.unchecked:
        yield from (f"{each.name} ({missing})" for missing in each.missing if missing not in SECTIONS)
