"""What the guard saw and did in a run, in words for a verdict about memory.

Covers: refusals, airbag, exceptions, GPUs that filled up, as the recording has them.
Does not cover: judging. No rule is declared here.
"""

from __future__ import annotations

from dataclasses import replace

from crashcart.evidence import ErrorRecord, Event
from crashcart.finding import MEMORY_CAUSES, Finding
from crashcart.units import duration, plural, size

_GPU_STEPS = ("gpu-warn", "gpu-again")
RECENT_S = 3.0


def with_guard(finding: Finding, events: tuple[Event, ...] | None) -> Finding:
    """A finding about memory, with what the guard did; any other as it is."""
    words = guard_words(events) if finding.cause in MEMORY_CAUSES else ()
    return replace(finding, because=(*finding.because, *words)) if words else finding


def guard_words(events: tuple[Event, ...] | None) -> tuple[str, ...]:
    """A line for what the guard did, if it did anything; one for a guard that was off for a reason."""
    steps = [(str(event.facts.get("step")), event) for event in events or () if event.kind == "guard"]
    did = []
    refused = [event for step, event in steps if step == "refuse"]
    if refused:
        asked = max(_number(event, "size_bytes") for event in refused)
        did.append(f"refused {plural(len(refused), 'request')} (the largest {size(asked)})")
    served = max((_number(event, "served_bytes") for step, event in steps if step == "end"), default=0)
    if any(step == "warn" for step, _ in steps):
        did.append(f"put {size(served)} on disk" if served else "put memory on disk")
    if any(step == "raise" for step, _ in steps):
        did.append("asked for an exception")
    off = [event.text for step, event in steps if step == "off"]
    return (f"the guard {', '.join(did)}",) * bool(did) + tuple(f"the guard was {text}" for text in off)


def gpu_warnings(events: tuple[Event, ...] | None) -> tuple[Event, ...]:
    """The guard's last word on each GPU that was nearly full."""
    last = {
        event.facts.get("device"): event
        for event in events or ()
        if event.kind == "guard" and event.facts.get("step") in _GPU_STEPS
    }
    return tuple(last.values())


def gpu_words(events: tuple[Event, ...] | None) -> tuple[str, ...]:
    """What the guard saw of GPUs that filled up, a line for each."""
    return tuple(f"the guard saw after {duration(event.at_s)}: {event.text}" for event in gpu_warnings(events))


def guard_message(error: ErrorRecord, events: tuple[Event, ...] | None) -> str | None:
    """What the guard says of an error that it brought about: its own words, or those of its last refusal where the
    interpreter raised a bare MemoryError; None for any other error."""
    if error.name == "MemoryGuardError":
        return error.message
    if error.name != "MemoryError" or error.message.strip():
        return None
    refused = [
        event
        for event in events or ()
        if event.kind == "guard" and event.facts.get("step") == "refuse" and error.pid in (None, event.facts.get("pid"))
    ]
    if not refused or (error.at_s is not None and error.at_s - refused[-1].at_s > RECENT_S):
        return None
    asked, left = size(_number(refused[-1], "size_bytes")), size(max(0, _number(refused[-1], "left_bytes")))
    limit, source = size(_number(refused[-1], "limit_bytes")), refused[-1].facts.get("source")
    return f"this line asked for {asked}, {left} are left of {limit} ({source})"


def _number(event: Event, name: str) -> int:
    value = event.facts.get(name)
    return value if isinstance(value, int) else 0
