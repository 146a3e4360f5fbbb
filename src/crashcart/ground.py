"""What a program stands on: the machine, its limits, its GPUs and disks. Sections of the evidence (`evidence.py`).

Covers: plain frozen data.
Does not cover: reading any of it (`probe/`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class MemoryLimit:
    """A bound on the program's memory, and where it is written."""

    kind: str
    """container, machine, address-space, data-segment"""
    bytes: int
    source: str


@dataclass(frozen=True, slots=True)
class Machine:
    """The computer and the bounds that hold for the program."""

    system: str | None
    release: str | None
    architecture: str | None
    cores: int | None
    cpu_model: str | None
    cpu_flags: frozenset[str] | None
    ram_bytes: int | None
    swap_bytes: int | None
    boot_id: str | None
    limits: tuple[MemoryLimit, ...] = ()
    rlimits: Mapping[str, int | None] | None = None
    """Soft limits by name (nofile, nproc, as, data, stack, core); None as a value is unlimited."""
    task_limits: Mapping[str, int] = field(default_factory=dict)
    """How many threads and processes the program's groups may have together, by the file that says so (pids.max)."""
    overcommit: int | None = None
    """The kernel's way with promises of memory (vm.overcommit_memory): 0 guesses, 1 promises all, 2 counts."""
    commit_limit_bytes: int | None = None
    committed_bytes: int | None = None
    nvidia_cards: int | None = None
    """NVIDIA's display and compute devices on the PCI bus, whether or not a driver serves them."""
    nvidia_driver: bool | None = None
    """Whether an NVIDIA driver can be seen from here; in a container it may be there and not be let in."""

    def memory_limit(self) -> MemoryLimit | None:
        """The tightest bound."""
        return min(self.limits, key=lambda limit: limit.bytes, default=None)

    def limit(self, kind: str) -> MemoryLimit | None:
        """The tightest bound of one kind."""
        return min((each for each in self.limits if each.kind == kind), key=lambda each: each.bytes, default=None)


@dataclass(frozen=True, slots=True)
class GpuDevice:
    """One device at the start of the program."""

    index: int
    name: str
    total_bytes: int
    free_bytes: int
    driver: str | None = None
    processes: Mapping[int, int | None] = field(default_factory=dict)
    """Bytes by pid of the processes that held memory on it."""
    capability: str | None = None
    """Its generation as CUDA counts it, such as 8.6; None where the driver does not tell."""


@dataclass(frozen=True, slots=True)
class Disk:
    """Free space of the file systems that the program writes to, at the end of the run."""

    path: str
    total_bytes: int
    free_bytes: int
    kind: str | None = None
    """The file system's type, where it is known."""
