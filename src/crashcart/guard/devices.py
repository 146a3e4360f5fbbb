"""The GPUs of a guarded run: asked once a second, and put into words where one fills up.

Covers: reading all devices, showing each to `gpu_policy.decide`, and what is to be said.
Does not cover: saying it (`apply.py`); deciding (`gpu_policy.py`). Where there is no driver, nothing is loaded.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crashcart.guard.gpu_policy import GpuState, GpuStep, GpuView, decide
from crashcart.probe.gpu import GpuReader, has_driver
from crashcart.units import size

ASK_S = 1.0
COST_SHARE = 50
"""A driver that is slow to answer (one that has to wake its devices first) may take a 50th of the watcher's time."""


@dataclass(frozen=True, slots=True)
class Alarm:
    """What to do about one device, in words and in figures."""

    step: GpuStep
    text: str
    facts: dict[str, Any]


class Devices:
    """All devices of the machine, as seen by the driver."""

    def __init__(self, reader: GpuReader) -> None:
        self._reader = reader
        self._states: dict[int, GpuState] = {}
        self._next_s = float("-inf")

    def look(self, at_s: float, pids: Iterable[int]) -> list[Alarm]:
        """What is new; `pids` are the program and its descendants. The driver is asked no more than once a second."""
        if at_s < self._next_s:
            return []
        began_s = time.monotonic()
        found = self._reader.use()
        self._next_s = at_s + max(ASK_S, COST_SHARE * (time.monotonic() - began_s))
        alarms = []
        for index in sorted(self._states.keys() | found.keys()):
            view = GpuView(at_s, *found[index]) if index in found else None
            self._states[index], step = decide(self._states.get(index, GpuState()), view)
            if step is not None:
                alarms.append(self._alarm(step, index, view, pids))
        return alarms

    def _alarm(self, step: GpuStep, index: int, view: GpuView | None, pids: Iterable[int]) -> Alarm:
        name = self._reader.name(index)
        title = f"GPU {index} ({name})" if name else f"GPU {index}"
        if view is None:
            return Alarm(step, f"{title} does not answer any more", {"device": index, "device_name": name})
        own_bytes = _own_bytes(self._reader.processes(index), pids)
        facts = {
            "device": index,
            "device_name": name,
            "used_bytes": view.used_bytes,
            "total_bytes": view.total_bytes,
            "own_bytes": own_bytes,
        }
        return Alarm(step, f"{title} is nearly full: {_words(step, view, own_bytes)}", facts)

    def close(self) -> None:
        """Let go of the driver."""
        self._reader.close()


def find_devices(root: Path) -> Devices | None:
    """The devices, or None where there is no driver or it shows none."""
    if not has_driver(root):
        return None
    reader = GpuReader(root)
    if reader.count:
        return Devices(reader)
    reader.close()
    return None


def _own_bytes(held: dict[int, int | None], pids: Iterable[int]) -> int | None:
    """What the program and its descendants hold; None where the driver lists none of them, or does not tell."""
    own = [held[pid] for pid in pids if pid in held]
    known = [each for each in own if each is not None]
    return sum(known) if own and len(known) == len(own) else None


def _words(step: GpuStep, view: GpuView, own_bytes: int | None) -> str:
    use = f"{size(view.used_bytes)} of {size(view.total_bytes)} in use"
    whose = (
        "the driver does not tell this program's share" if own_bytes is None else f"{size(own_bytes)} by this program"
    )
    if step is GpuStep.POOL:
        return f"{use}, {whose}; it was taken whole, as TensorFlow does unless it is told not to"
    return f"{use}, {whose}"
