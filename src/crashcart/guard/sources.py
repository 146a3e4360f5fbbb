"""The names of a program's memory limits, as people are told of them.

Covers: from a figure to its name, also for a limit that was changed while the program ran; words for a limit that was asked
for and can never be reached.
Does not cover: which limit is the tightest now (`record/gauge.py`).
"""

from __future__ import annotations

from crashcart.probe.memory import find_groups, group_swap, memory_limits, read_host
from crashcart.units import size

MACHINE, CEILING, SWAP = "the machine's memory", "the limit that was asked for", "container limit, with swap"
_NAMES = {
    "container": "container limit",
    "machine": MACHINE,
    "address-space": "ulimit -v",
    "data-segment": "ulimit -d",
}
_IDLE = {
    "container": "is more than the container may use ({}); the container's limit holds",
    "machine": "is more than the machine has ({}); the machine's memory is the limit",
}


class Sources:
    """The limits of one process by name."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._names: dict[int, str] = {}

    def ask(self, ceiling_bytes: int) -> str | None:
        """A limit that was asked for; words where a smaller one holds anyway."""
        self._names[ceiling_bytes] = CEILING
        bounds = [each for each in memory_limits(self._pid) if each.kind in _IDLE]
        tightest = min(bounds, key=lambda each: each.bytes, default=None)
        if tightest is None or ceiling_bytes <= tightest.bytes:
            return None
        return f"the limit of {size(ceiling_bytes)} {_IDLE[tightest.kind].format(size(tightest.bytes))}"

    def name(self, limit_bytes: int) -> str:
        """What a limit is called."""
        if limit_bytes not in self._names:
            self._learn()
        return self._names.get(limit_bytes, "memory limit")

    def _learn(self) -> None:
        groups = find_groups(self._pid)
        swap_bytes = group_swap(groups, read_host()).total_bytes
        for group in groups:
            group.close()
        for each in memory_limits(self._pid):
            self._names.setdefault(each.bytes, _NAMES.get(each.kind, each.kind))
            if each.kind == "container":
                self._names.setdefault(each.bytes + swap_bytes, SWAP)
