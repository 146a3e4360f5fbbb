"""What it means that a process died, twice, of one file: the fault in words.

Covers: signals, the limit of memory, the limit of time, an exit that nobody asked for.
Only a fault of the decoder's own (a segmentation fault, an abort) accuses the file. Where a limit of ours was met, or the
process was killed, or ended by itself, the file was not checked: nothing is known of it.
Does not cover: finding the file (`pool.py`).
"""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass

from crashcart.data.worker import OUT_OF_MEMORY
from crashcart.probe.files_found import Found
from crashcart.sound import DAMAGE, UNCHECKED, Checked, Fault
from crashcart.units import duration, size

_REFUSED = re.compile(r"bad_alloc|cannot allocate|(failed|unable) to allocate|out of memory|MemoryError", re.I)
_MOST_SAID_CHARS = 160
_OF_A_CRASH = frozenset(
    (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGTRAP, signal.SIGSYS)
)
"""Signals by which a process dies of its own doing. Others come from outside: the kernel's OOM killer, a scheduler, a limit."""


@dataclass(frozen=True)
class Death:
    """How a process ended while it was at a file."""

    code: int | None
    """Its exit status, negative for a signal; None where we ended it, since its time was over."""
    said: str = ""
    after_s: float | None = None
    memory_bytes: int | None = None
    """What it was held to."""

    @property
    def kind(self) -> str:
        """The kind of fault, where it happens again."""
        if self.code is None:
            return "too-slow"
        if self.code == OUT_OF_MEMORY or (self.code and _REFUSED.search(self.said)):
            return "too-large"
        return "decoder-crashed" if -self.code in _OF_A_CRASH else "not-checked"

    @property
    def weight(self) -> str:
        """A crash would be one in training, too; all else says as much about us as about the file."""
        return DAMAGE if self.kind == "decoder-crashed" else UNCHECKED

    @property
    def words(self) -> str:
        """How it ended, in a clause."""
        if self.code is None:
            return f"it was not done after {duration(self.after_s or 0)}"
        if self.kind == "too-large":
            return (
                f"it takes more than the {size(self.memory_bytes)} that a check may take"
                if self.memory_bytes
                else "memory ran out"
            )
        last = self.said.strip().rpartition("\n")[2].strip()[:_MOST_SAID_CHARS]
        quoted = f' ("{last}")' if last else ""
        if self.kind == "decoder-crashed":
            return f"the decoder died of {_signal_name(-self.code)}{quoted}"
        if self.code < 0:
            return f"the process was ended by {_signal_name(-self.code)}{quoted}{_MEANING.get(-self.code, '')}"
        return f"the process ended itself with status {self.code}{quoted}"


_MEANING = {int(signal.SIGKILL): ": so ends the kernel what takes the last of the memory"}


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def given_up(found: Found, death: Death, tries: int) -> Checked:
    """The file whose process ended as often, and never while it was at the file."""
    told = f"{tries} processes ended before they could tell what they had learnt: {death.words}"
    return Checked(
        found.source.path, found.bytes, found.modified_ns, faults=(Fault("not-checked", told, weight=UNCHECKED),)
    )


def accused(found: Found, death: Death) -> Checked:
    """The file that did it twice."""
    told = f"{death.words}, twice, the second time alone in a new process"
    fault = Fault(death.kind, told, weight=death.weight)
    return Checked(found.source.path, found.bytes, found.modified_ns, faults=(fault,))
