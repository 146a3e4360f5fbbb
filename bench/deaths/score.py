"""What was said about a death against what is true.

Covers: cause and line of a verdict, and what a careful reader could tell from the output and status of a run without
crashcart (the same rules read the text, so the comparison is of evidence, not of readers).
Does not cover: running (`runner.py`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.deaths.death import Death
from bench.deaths.runner import Ran
from crashcart.evidence import Evidence
from crashcart.finding import Cause
from crashcart.probe.log import find_errors, parse_log
from crashcart.why import explain

_FRAME = re.compile(r'File "([^"]+)", line (\d+)')
# What a bare exit status says by itself: only these have one meaning each.
_STATUS_SAYS = {0: Cause.CLEAN_EXIT, -2: Cause.INTERRUPTED, 130: Cause.INTERRUPTED, -4: Cause.CPU_INSTRUCTIONS}


@dataclass(frozen=True)
class Said:
    """What one way of running told about a death."""

    cause: str | None
    cause_right: bool
    line_right: bool | None
    """None where the death has no line to name."""
    certain_and_false: bool
    """Called certain, and it is not even how the end came."""


def of_crashcart(death: Death, ran: Ran) -> Said:
    finding = (ran.document or {}).get("findings") or [None]
    verdict = finding[0]
    if verdict is None:
        return Said(None, False, None if death.line is None else False, False)
    where = verdict["where"] or {}
    place = (Path(where["file"]).name if where.get("file") else None, where.get("line"))
    return Said(
        verdict["cause"],
        _is_right(death, verdict["cause"]),
        _line_right(death, {place}),
        _is_false(death, verdict),
    )


def of_output(death: Death, ran: Ran) -> Said:
    """What the printed text tells: the cause as our own rules read it, the line if the text names it at all."""
    log = parse_log(ran.output)
    errors = find_errors(log, lambda file: "site-packages" not in file and "/lib/python3" not in file)
    verdict = explain(Evidence(log=log, errors=errors)).verdict
    cause = verdict.cause.value if verdict is not None else None
    places: set[tuple[str | None, int | None]] = {
        (Path(file).name, int(line)) for file, line in _FRAME.findall(ran.output)
    }
    return Said(cause, cause is not None and _is_right(death, cause), _line_right(death, places), False)


def of_status(death: Death, ran: Ran) -> Said:
    """What the exit status alone tells."""
    cause = _STATUS_SAYS.get(ran.status if ran.status is not None else 1)
    return Said(cause.value if cause else None, cause is not None and _is_right(death, cause.value),
                None if death.line is None else False, False)  # fmt: skip


def _is_right(death: Death, cause: str) -> bool:
    return cause in {death.cause.value, *(other.value for other in death.also_ok)}


# How the end came is true as well where the bench asks for what led to it; it only says less.
_ALSO_TRUE = {
    **dict.fromkeys(
        (Cause.MEMORY_LEAK, Cause.PIPELINE_MEMORY, Cause.OVERSIZED_CONSTANT),
        (Cause.CONTAINER_MEMORY, Cause.HOST_MEMORY),
    ),
    **dict.fromkeys((Cause.HANG, Cause.FORK_AFTER_THREADS), (Cause.KILLED_FROM_OUTSIDE, Cause.INTERRUPTED)),
}


def _is_false(death: Death, verdict: dict[str, Any]) -> bool:
    """Called certain, and neither what the bench asks for nor how the end came."""
    says_less = verdict["cause"] in {cause.value for cause in _ALSO_TRUE.get(death.cause, ())}
    return verdict["confidence"] == "certain" and not _is_right(death, verdict["cause"]) and not says_less


def _line_right(death: Death, places: set[tuple[str | None, int | None]]) -> bool | None:
    if death.line is None:
        return None
    wanted = {(death.marked_path.name, death.line), *((file.name, line) for file, line in death.other_lines)}
    return bool(wanted & places)
