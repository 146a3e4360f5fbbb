"""The life of one program: what was started, what happened on its way, what it said, how it ended. Sections of the evidence
(`evidence.py`).

Covers: the shapes of facts; plain frozen data, no behaviour beyond look-ups.
Does not cover: judging (rules) or reading the machine (`probe/`). Bytes are integers, `at_s` counts seconds from the
start of the program.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from crashcart.frame import Frame


@dataclass(frozen=True, slots=True)
class Stack:
    """The frames of one thread, outermost first (the last one is where it was)."""

    thread: str
    frames: tuple[Frame, ...]
    main: bool = False
    current: bool = False
    """Whether it is the thread that took the signal: in a crash, the one that crashed."""
    truncated: bool = False
    """Whether outer frames were left out (faulthandler keeps the innermost 100)."""

    def own_frame(self) -> Frame | None:
        """The deepest frame of the user's own code."""
        return next((frame for frame in reversed(self.frames) if frame.own), None)


@dataclass(frozen=True, slots=True)
class StackDump:
    """What the threads of one process were doing at one moment."""

    at_s: float
    pid: int | None
    stacks: tuple[Stack, ...]
    reason: str = "beat"
    """Why it was taken: beat, memory, hang, fatal."""

    def main_stack(self) -> Stack | None:
        """The main thread's stack, where it is among them."""
        return next((stack for stack in self.stacks if stack.main), None)

    def current_stack(self) -> Stack | None:
        """The stack of the thread that took the signal."""
        return next((stack for stack in self.stacks if stack.current), None)


@dataclass(frozen=True, slots=True)
class Program:
    """What was started, with secrets redacted."""

    argv: tuple[str, ...]
    cwd: str
    pid: int
    started_unix_s: float
    name: str
    start_ticks: int | None = None
    """The kernel's start time of the pid, which tells it from a later process of the same number."""
    hooked: bool | None = None
    """Whether our start-up hook ran inside; None where it is not known."""
    native_hooked: bool | None = None


@dataclass(frozen=True, slots=True)
class Environment:
    """The interpreter, the packages and the settings the program ran with."""

    python: str | None
    executable: str | None
    packages: Mapping[str, str]
    variables: Mapping[str, str]
    modules: frozenset[str] = frozenset()
    """Top-level frameworks that the program had imported (tensorflow, torch, …)."""
    search_path: tuple[str, ...] = ()
    """The interpreter's sys.path at its start."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened, in order: program started, epoch began, exception raised, guard acted…"""

    at_s: float
    kind: str
    text: str
    pid: int | None = None
    facts: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ending:
    """How the program stopped, as seen by the process that started it."""

    kind: str
    """exit, signal, running (still alive), unobserved (nobody was there to see it)"""
    at_s: float | None = None
    exit_code: int | None = None
    signal: int | None = None
    signal_name: str | None = None
    core_dumped: bool | None = None
    core_file: str | None = None
    oom_kills_group: int | None = None
    """By how much the oom_kill count of the program's own group rose during the run."""
    oom_kills_host: int | None = None
    """By how much the machine's count rose during the run (the group's own kills included)."""
    limit_hits_group: int | None = None
    """How often the group's use ran into its own limit during the run (dropping page cache may have been enough)."""
    same_boot: bool | None = None
    sent_by: str | None = None
    """Who sent the ending signal, where it passed through us (terminal, a pid and its name)."""
    asked_for: bool = False
    """Whether the last signal that reached it came from the process that had it started, as Jupyter's do."""
    peak_rss_bytes: int | None = None
    """The kernel's own high-water mark of the program's resident size."""
    python_finished: bool | None = None
    """Whether the interpreter had reached its orderly end (atexit) before."""
    survivors: tuple[int, ...] = ()
    """Descendants still alive when the program ended."""
    said: LogLine | None = None
    """The line of a log that tells the ending; None where it was observed."""


@dataclass(frozen=True, slots=True)
class ErrorRecord:
    """One exception that nobody caught, or that the program printed."""

    type: str
    """Qualified name, such as tensorflow.python.framework.errors_impl.InvalidArgumentError."""
    message: str
    frames: tuple[Frame, ...] = ()
    bases: tuple[str, ...] = ()
    thread: str | None = None
    """The name of the background thread; None in the main thread."""
    chain: tuple[ErrorRecord, ...] = ()
    """What it was raised from or during, nearest first."""
    origin: str = "recorded"
    """recorded (the hook saw it go uncaught) or log (it was read from the program's output)."""
    at_s: float | None = None
    pid: int | None = None
    line_number: int | None = None
    """In a log: the line that carries the exception itself."""

    @property
    def name(self) -> str:
        """The type's own name, without its module."""
        return self.type.rsplit(".", 1)[-1]

    def names(self) -> frozenset[str]:
        """The names of the type and of all its bases."""
        return frozenset({self.name, *(base.rsplit(".", 1)[-1] for base in self.bases)})

    def own_frame(self) -> Frame | None:
        """The deepest frame of the user's own code."""
        return next((frame for frame in reversed(self.frames) if frame.own), None)

    def with_chain(self) -> tuple[ErrorRecord, ...]:
        """The error and everything it was raised from."""
        return (self, *self.chain)


@dataclass(frozen=True, slots=True)
class Holder:
    """A named object that holds memory."""

    name: str
    kind: str
    """ndarray, EagerTensor, DataFrame, list of 340 EagerTensor…"""
    bytes: int
    detail: str = ""
    """dtype and shape, or count."""
    scope: str = ""
    """The function or module that the name lives in."""
    count: int | None = None
    """Elements, for containers."""
    filled_at: Frame | None = None
    """The one line of the user's own source that puts something into it; None where there are several, or none."""


@dataclass(frozen=True, slots=True)
class PipelineStage:
    """One transformation of a tf.data chain."""

    name: str
    """shuffle, cache, prefetch, batch, map…"""
    argument: int | None
    """Its buffer or batch size; None where it has none, negative for AUTOTUNE or "everything"."""
    element_bytes: int | None
    """Bytes of one element that it gives out, where all shapes are known."""


@dataclass(frozen=True, slots=True)
class PipelineNote:
    """A tf.data chain that the program held, last stage first."""

    name: str
    stages: tuple[PipelineStage, ...]


@dataclass(frozen=True, slots=True)
class HolderNote:
    """The largest named objects at one moment."""

    at_s: float
    pid: int
    holders: tuple[Holder, ...]
    pipelines: tuple[PipelineNote, ...] = ()


@dataclass(frozen=True, slots=True)
class NativeFrame:
    """One native frame, named by its library and, where it has one, its symbol."""

    library: str
    symbol: str | None
    offset: int | None = None


@dataclass(frozen=True, slots=True)
class Crash:
    """What a fatal-signal handler wrote inside the dying process, or a log quotes of it (then without a pid)."""

    pid: int | None
    signal: int
    address: int | None
    code: int | None
    frames: tuple[NativeFrame, ...]
    stack_distance_bytes: int | None = None
    """How far the faulting address is from the stack pointer; small in a stack overflow."""
    sender: int | None = None
    """The pid that sent the signal, where it was sent and is not a fault of the program's own."""
    stack_left_bytes: int | None = None
    """How much of the main thread's stack was left, if it was that thread."""
    mapping: str | None = None
    """The file whose mapping the faulting address is in."""
    message: str | None = None
    """The C library's abort message (free(): invalid pointer…)."""
    instruction: bytes | None = None
    """The bytes at the faulting instruction."""
    python: StackDump | None = None


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line of the program's output, or of a log that was handed in. Numbers start at 1."""

    number: int
    text: str
    stream: str = "stderr"


@dataclass(frozen=True, slots=True)
class Log:
    """Text that the program printed. Where it is a tail, `dropped_bytes` says how much came before."""

    lines: tuple[LogLine, ...]
    dropped_bytes: int = 0


@dataclass(frozen=True, slots=True)
class KernelLog:
    """The lines that the kernel logged during the run (memory kills, traps, segfaults)."""

    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ChildEnd:
    """A descendant of the program that ended during the run, as far as it could be seen from outside."""

    pid: int
    name: str
    at_s: float
    rss_bytes: int | None
    """The last resident size that was sampled."""
