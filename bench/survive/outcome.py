"""What became of a program, from how it ended and what it printed.

Covers: the words for a plain run and for a guarded one. Does not cover: running (`bench.trial`) or the table (`__main__.py`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from bench.survive.threat import Threat
from bench.trial import Ran

_ALIVE = re.compile(r"^ALIVE (.*)$", re.MULTILINE)
_REFUSED = re.compile(r"^(?:refused )?(?:\w+\.)*(_?\w*(?:Memory\w*Error|ResourceExhausted\w*))\b", re.MULTILINE)


@dataclass(frozen=True)
class Outcome:
    """What the run of a program came to."""

    lived: bool
    words: str


def of_plain(threat: Threat, ran: Ran) -> Outcome:
    """`lived` is False where the kernel killed it for memory, as it has to."""
    if ran.oom_kills > 0 and ran.status == threat.plain_status and _alive(ran) is None:
        return Outcome(False, "killed" if ran.status < 0 else "child killed")
    return Outcome(True, f"NOT KILLED ({_ending(ran)}, {ran.oom_kills} OOM kills)")


def of_guarded(threat: Threat, ran: Ran) -> Outcome:
    """Lived on with the right result, or how it did not."""
    alive = _alive(ran)
    if ran.status == 0 and alive == threat.alive:
        refusals = sorted(set(_REFUSED.findall(ran.stdout)))
        return Outcome(True, f"refused: {', '.join(refusals)}" if refusals else "finished")
    if alive is not None:
        return Outcome(False, f"wrong result ({alive}, {_ending(ran)})")
    if ran.status is None:
        return Outcome(False, "no end within the time")
    return Outcome(False, f"died ({_ending(ran)}), " + (f"verdict {ran.verdict}" if ran.verdict else "no verdict"))


def _alive(ran: Ran) -> str | None:
    found = _ALIVE.search(ran.stdout)
    return found.group(1) if found else None


def _ending(ran: Ran) -> str:
    if ran.status is None:
        return "time limit"
    return f"signal {-ran.status}" if ran.status < 0 else f"exit code {ran.status}"
