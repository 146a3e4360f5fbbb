"""What several rules say about a fatal signal: the place in Python, the library and symbol in native code.

Covers: wording of recorded crashes. Does not cover: which cause it is. No rule is declared here.
"""

from __future__ import annotations

from crashcart.evidence import Crash, Ending, Evidence, Frame, NativeFrame, Program, Stack, StackDump, place
from crashcart.finding import Where
from crashcart.why._place import last_place

_PLUMBING = ("libc.so", "libpthread", "ld-linux", "libcrashcart", "libgcc_s", "libstdc++")


def sent_from_outside(crash: Crash | None) -> bool:
    """Whether another process sent the fatal signal (`kill -SEGV`): then it is no fault of the program's own."""
    return crash is not None and crash.sender not in (None, 0, crash.pid)


def crashed_pid(crash: Crash | None, program: Program | None) -> int | None:
    """Of the process that crashed; None where that is not known, and any process may be meant."""
    if crash is not None:
        return crash.pid
    return program.pid if program is not None else None


def crashed_stack(crash: Crash | None, stacks: tuple[StackDump, ...] | None, pid: int | None) -> Stack | None:
    """The Python stack of the thread that crashed."""
    if crash is not None and crash.python is not None:
        stack = crash.python.current_stack()
        if stack is not None:
            return stack
    fatal = [dump for dump in stacks or () if dump.reason == "fatal" and (pid is None or dump.pid == pid)]
    return fatal[-1].current_stack() if fatal else None


def crash_place(
    crash: Crash | None, stacks: tuple[StackDump, ...] | None, program: Program | None, ending: Ending | None
) -> Where | None:
    """The user's line that the crashed thread was in; where it was not in Python, the last line that was seen."""
    pid = crashed_pid(crash, program)
    stack = crashed_stack(crash, stacks, pid)
    frame = stack.own_frame() if stack is not None else None
    if frame is not None:
        return place(frame)
    if stack is not None and not stack.main and stack.frames:
        return None
    return last_place(stacks, pid, ending)


def place_of_end(evidence: Evidence) -> Where | None:
    """The user's line at the end of a run that a signal ended; an exception carries its own line."""
    if evidence.ending is None or evidence.ending.signal is None:
        return None
    return crash_place(evidence.crash, evidence.stacks, evidence.program, evidence.ending)


def cell_of_end(evidence: Evidence) -> Where | None:
    """The notebook's cell that was running at the end, as a place without a line."""
    cell = evidence.cells[-1] if evidence.cells else None
    if cell is None or cell.ended_s is not None or evidence.ending is None or evidence.ending.kind == "running":
        return None
    return Where(cell=str(cell.number) if cell.number is not None else cell.id, cell_id=cell.id)


def telling_frame(crash: Crash | None) -> NativeFrame | None:
    """The innermost native frame that is not the C library's own plumbing; of the same library, a named one near it."""
    frames = [frame for frame in (crash.frames if crash is not None else ())
              if not any(part in frame.library for part in _PLUMBING)]  # fmt: skip
    same_library = [frame for frame in frames[:6] if frame.library == frames[0].library]
    return next((frame for frame in same_library if frame.symbol), frames[0] if frames else None)


def native_words(crash: Crash | None) -> tuple[str, ...]:
    """`native code: tensorflow::Foo::Run in libtensorflow_framework.so.2`."""
    frame = telling_frame(crash)
    if frame is None:
        return ()
    return (f"it was in {frame.symbol + ' of ' if frame.symbol else ''}{_library(frame)}",)


def in_library(crash: Crash | None) -> str:
    """` (libtensorflow_framework.so.2)`, to follow a headline; empty where it is not known."""
    frame = telling_frame(crash)
    return f" ({_library(frame)})" if frame is not None else ""


def _library(frame: NativeFrame) -> str:
    return frame.library.rpartition("/")[2]


def python_words(crash: Crash | None, stacks: tuple[StackDump, ...] | None, pid: int | None) -> tuple[str, ...]:
    """The innermost Python frame where that is a library's, since it names the operation."""
    stack = crashed_stack(crash, stacks, pid)
    innermost: Frame | None = stack.frames[-1] if stack is not None and stack.frames else None
    if innermost is None or innermost.own:
        return ()
    return (
        f"called from Python in {innermost.function} ({'/'.join(innermost.file.split('/')[-2:])}:{innermost.line})",
    )


def core_words(ending: Ending) -> tuple[str, ...]:
    """Where a core file can be looked at."""
    if ending.core_file:
        return (f"look at the core file: `gdb $(which python) {ending.core_file} -ex bt`",)
    return ()
