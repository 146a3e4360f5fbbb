"""What was said about a kernel's death against what is true.

Covers: the exception, the executed notebook, and the cause and place in the report.
Does not cover: running (`runner.py`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from bench.notebooks.death import Death, Place
from bench.notebooks.runner import Ran

RAISED = {"nbclient": "CellExecutionError", "papermill": "PapermillExecutionError"}
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_PLACE = re.compile(r"cell \[(\d+)\](?:, line (\d+))?")


@dataclass(frozen=True)
class Said:
    """What each of the three told."""

    cause: str
    place: Place | None
    raised: bool
    """The client's exception carries the verdict, with the right place."""
    kept: bool
    """The executed notebook holds it as the output of the cell that ran."""
    cause_right: bool
    place_right: bool

    @property
    def right(self) -> bool:
        """All of it."""
        return self.raised and self.kept and self.cause_right and self.place_right


def of_watched(death: Death, ran: Ran) -> Said:
    """How well the death was explained; where the kernel lives, whether its error was left alone."""
    if death.cause is None:
        alone = death.error in ran.text and "crashcart" not in ran.text
        kept = any(each.get("ename") == death.error for outputs in ran.outputs for each in outputs)
        return Said("the cell's own error" if alone else "changed", None, alone, kept, alone, True)
    findings = (ran.document or {}).get("findings") or [{}]
    verdict = findings[0]
    where = verdict.get("where") or {}
    place = (str(where["cell"]), where["line"]) if where.get("cell") else None
    cause = verdict.get("cause", "nothing")
    return Said(
        cause,
        place,
        ran.raised == RAISED[death.client] and _tells(death, verdict, ran.text),
        _tells(death, verdict, _last_error(ran)),
        cause in {death.cause.value, *(other.value for other in death.also_ok)},
        place in death.places,
    )


def _tells(death: Death, verdict: dict[str, Any], text: str) -> bool:
    plain = " ".join(_COLOUR.sub("", text).split())
    named = {(cell, int(line) if line else None) for cell, line in _PLACE.findall(plain)}
    return bool(verdict) and _words(verdict["headline"]) in _words(plain) and bool(named & death.places)


def _words(text: str) -> str:
    """Without the breaks and the mark of confidence that come between a headline's lines."""
    return re.sub(r"\(certain\)|\(likely\)|\(possible\)|\s", "", text)


def _last_error(ran: Ran) -> str:
    """The error output of the last cell that was run."""
    outputs: list[dict[str, Any]] = next((each for each in reversed(ran.outputs) if each), [])
    return "\n".join("\n".join(each["traceback"]) for each in outputs if each["output_type"] == "error")


def of_plain(ran: Ran) -> str:
    """What Jupyter itself says, in a line."""
    first = next((line for line in _COLOUR.sub("", ran.text).splitlines() if line.strip(" -")), "")
    return f"{ran.raised}: {first}" if ran.raised else "nothing"
