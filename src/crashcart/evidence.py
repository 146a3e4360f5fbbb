"""Facts about one run, in sections. A section that was not collected is None: never empty, never zero.

Covers: `Evidence`, the whole, and every section by its name. The shapes of the sections are in modules of their own (the life of
a program in `life.py`, the machine in `ground.py`, a Python environment in `installation.py`…), and are imported when somebody
asks for them: no room waits for the sections of another.
Does not cover: judging (rules) or reading the machine (`probe/`). Bytes are integers, `at_s` counts seconds from the
start of the program.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

from crashcart.finding import Where

if TYPE_CHECKING:
    from crashcart.cell import Cell as Cell
    from crashcart.frame import Frame as Frame
    from crashcart.ground import Disk as Disk
    from crashcart.ground import GpuDevice as GpuDevice
    from crashcart.ground import Machine as Machine
    from crashcart.ground import MemoryLimit as MemoryLimit
    from crashcart.growth import Growth as Growth
    from crashcart.installation import DeviceName as DeviceName
    from crashcart.installation import ImportAttempt as ImportAttempt
    from crashcart.installation import Installation as Installation
    from crashcart.life import ChildEnd as ChildEnd
    from crashcart.life import Crash as Crash
    from crashcart.life import Ending as Ending
    from crashcart.life import Environment as Environment
    from crashcart.life import ErrorRecord as ErrorRecord
    from crashcart.life import Event as Event
    from crashcart.life import Holder as Holder
    from crashcart.life import HolderNote as HolderNote
    from crashcart.life import KernelLog as KernelLog
    from crashcart.life import Log as Log
    from crashcart.life import LogLine as LogLine
    from crashcart.life import NativeFrame as NativeFrame
    from crashcart.life import PipelineNote as PipelineNote
    from crashcart.life import PipelineStage as PipelineStage
    from crashcart.life import Program as Program
    from crashcart.life import Stack as Stack
    from crashcart.life import StackDump as StackDump
    from crashcart.sample import Sample as Sample
    from crashcart.stages import PipelineMemory as PipelineMemory
    from crashcart.step import StepPeak as StepPeak
    from crashcart.survey import Survey as Survey

_HOMES: dict[str, tuple[str, ...]] = {
    "crashcart.cell": ("Cell",),
    "crashcart.frame": ("Frame",),
    "crashcart.ground": ("Disk", "GpuDevice", "Machine", "MemoryLimit"),
    "crashcart.growth": ("Growth",),
    "crashcart.installation": ("DeviceName", "ImportAttempt", "Installation"),
    "crashcart.life": (
        "ChildEnd",
        "Crash",
        "Ending",
        "Environment",
        "ErrorRecord",
        "Event",
        "Holder",
        "HolderNote",
        "KernelLog",
        "Log",
        "LogLine",
        "NativeFrame",
        "PipelineNote",
        "PipelineStage",
        "Program",
        "Stack",
        "StackDump",
    ),
    "crashcart.sample": ("Sample",),
    "crashcart.stages": ("PipelineMemory",),
    "crashcart.step": ("StepPeak",),
    "crashcart.survey": ("Survey",),
}
SECTIONS = {name: home for home, names in _HOMES.items() for name in names}
"""Where each section lives. All of them together take 45 of the 140 ms in which `crashcart data` would begin."""


def __getattr__(name: str) -> Any:
    if name not in SECTIONS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found = getattr(import_module(SECTIONS[name]), name)
    return found


@dataclass(frozen=True, slots=True)
class Evidence:
    """All facts of one run. Rules ask for sections by name; None means that the section was not collected."""

    program: Program | None = None
    machine: Machine | None = None
    environment: Environment | None = None
    samples: tuple[Sample, ...] | None = None
    events: tuple[Event, ...] | None = None
    stacks: tuple[StackDump, ...] | None = None
    holders: tuple[HolderNote, ...] | None = None
    errors: tuple[ErrorRecord, ...] | None = None
    crash: Crash | None = None
    log: Log | None = None
    kernel_log: KernelLog | None = None
    gpus: tuple[GpuDevice, ...] | None = None
    disks: tuple[Disk, ...] | None = None
    children: tuple[ChildEnd, ...] | None = None
    cells: tuple[Cell, ...] | None = None
    """The cells that a notebook's kernel ran, in order; the oldest may be missing."""
    files: Mapping[str, int | None] | None = None
    """Bytes of the files that the uncaught errors name, as they were at the end; None where one was not there."""
    ending: Ending | None = None
    installation: Installation | None = None
    """A Python environment, as it is installed or planned."""
    devices_named: tuple[DeviceName, ...] | None = None
    """The devices that the user's own code names."""
    attempts: tuple[ImportAttempt, ...] | None = None
    """Frameworks that were imported in a child process; None where that was not asked for."""
    step: StepPeak | None = None
    """What one step of a model takes, and what there is for it."""
    pipeline: PipelineMemory | None = None
    """What a tf.data pipeline holds, and what there is for it."""
    survey: Survey | None = None
    """What was learnt of the files of a data set."""
    growth: Growth | None = None
    """How the program grew over its steps."""
    absent: Mapping[str, str] = field(default_factory=dict)
    """Why a section is None, for the ones where the reason is known (unreadable kernel log, no hook…)."""


def place(frame: Frame | None, age_s: float | None = None, op: str | None = None) -> Where | None:
    """A frame as the place of a finding."""
    if frame is None:
        return None
    return Where(
        frame.file, frame.line, frame.function, frame.source, frame.cell, op=op, age_s=age_s, cell_id=frame.cell_id
    )
