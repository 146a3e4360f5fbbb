"""What a judgement looks like: causes, findings, what could not be checked, and the report of them all.

Covers: the closed list of causes, and the frozen types that rules yield and `report/` turns into words.
Does not cover: how a rule is declared or run (`rule.py`), or how a report is printed (`report/`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any


class Cause(str, Enum):
    """Why a program stopped. The list is closed: a new member is a new kind of death, not a new wording."""

    CONTAINER_MEMORY = "container-memory"
    HOST_MEMORY = "host-memory"
    GPU_MEMORY = "gpu-memory"
    GPU_MEMORY_TAKEN = "gpu-memory-taken"
    PIPELINE_MEMORY = "pipeline-memory"
    MEMORY_LEAK = "memory-leak"
    OVERSIZED_CONSTANT = "oversized-constant"
    SHARED_MEMORY = "shared-memory"
    DISK_FULL = "disk-full"
    PROCESS_LIMIT = "process-limit"
    CPU_INSTRUCTIONS = "cpu-instructions"
    LIBRARY_CONFLICT = "library-conflict"
    CUDA_MISMATCH = "cuda-mismatch"
    OPENMP_CONFLICT = "openmp-conflict"
    NATIVE_CRASH = "native-crash"
    STACK_OVERFLOW = "stack-overflow"
    FORK_AFTER_THREADS = "fork-after-threads"
    SHAPE_MISMATCH = "shape-mismatch"
    DTYPE_MISMATCH = "dtype-mismatch"
    VALUE_RANGE = "value-range"
    DEVICE_PLACEMENT = "device-placement"
    GRAPH_SESSION_MISUSE = "graph-session-misuse"
    API_REMOVED = "api-removed"
    SAVED_MODEL_MISMATCH = "saved-model-mismatch"
    DATA_CORRUPT = "data-corrupt"
    DATA_MISSING = "data-missing"
    DATA_EXHAUSTED = "data-exhausted"
    PYTHON_ERROR = "python-error"
    INTERRUPTED = "interrupted"
    KILLED_FROM_OUTSIDE = "killed-from-outside"
    MACHINE_RESTART = "machine-restart"
    HANG = "hang"
    CLEAN_EXIT = "clean-exit"
    UNKNOWN = "unknown"


MEMORY_CAUSES = frozenset(
    {Cause.CONTAINER_MEMORY, Cause.HOST_MEMORY, Cause.MEMORY_LEAK, Cause.PIPELINE_MEMORY, Cause.OVERSIZED_CONSTANT}
)
"""Deaths of the program's own host memory."""


class Confidence(str, Enum):
    """How strongly the evidence carries a finding; never stronger than its weakest necessary fact."""

    CERTAIN = "certain"
    LIKELY = "likely"
    POSSIBLE = "possible"

    @property
    def order(self) -> int:
        """0 for the strongest."""
        return list(Confidence).index(self)


class Level(str, Enum):
    """How much a finding matters. A death is a problem by nature; what is found beforehand need not be."""

    PROBLEM = "problem"
    """It fails, or will fail when it is used."""
    RISK = "risk"
    """It works less well than meant, or fails under conditions that are named."""
    NOTE = "note"
    """Worth knowing; nothing fails of it."""

    @property
    def order(self) -> int:
        """0 for the gravest."""
        return list(Level).index(self)


@dataclass(frozen=True, slots=True)
class Where:
    """A place in the user's own code, as exactly as it is known."""

    file: str | None = None
    line: int | None = None
    function: str | None = None
    source: str | None = None
    cell: str | None = None
    op: str | None = None
    age_s: float | None = None
    """How long before the end the place was seen; None where it is the very end."""
    cell_id: str | None = None
    """The notebook's own id of the cell."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One conclusion. Rules yield it without a code; `examine` stamps the rule's own."""

    cause: Cause
    headline: str
    because: tuple[str, ...]
    remedy: tuple[str, ...]
    confidence: Confidence
    where: Where | None = None
    held: tuple[str, ...] = ()
    code: str = ""
    level: Level = Level.PROBLEM
    holder: str | None = None
    """The name that keeps what grows, as the user would write it; None where none is known, or nothing grows."""
    bytes_per_step: int | None = None
    """By how much memory grows with each step, where it does."""

    def __post_init__(self) -> None:
        if not self.because:
            raise ValueError(f"the finding {self.headline!r} rests on no fact; a finding says why")


@dataclass(frozen=True, slots=True)
class Unchecked:
    """A rule that could not run, and what it lacked. Never a pass."""

    code: str
    name: str
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """Findings in rank order (the first is the verdict), what was checked, what was not."""

    subject: str
    findings: tuple[Finding, ...]
    checked: tuple[str, ...] = ()
    unchecked: tuple[Unchecked, ...] = ()
    figures: dict[str, Any] = field(default_factory=dict)
    """Figures of the room (`ending`, `device_peak_bytes`…), placed at the top level of the JSON document."""

    @property
    def verdict(self) -> Finding | None:
        """The finding that explains best, or None where nothing was found."""
        return self.findings[0] if self.findings else None
