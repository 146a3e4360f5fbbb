"""Small words that the rules share: the program's name, a quoted line."""

from __future__ import annotations

from crashcart.evidence import ErrorRecord, Program


def who(program: Program | None) -> str:
    """The program by its name, or `the program` where a log does not say."""
    return program.name if program is not None else "the program"


_OF_A_CHILD = frozenset({
    "BrokenProcessPool", "TerminatedWorkerError", "CalledProcessError", "EOFError", "ConnectionResetError",
    "BrokenPipeError", "Empty", "TimeoutError", "ChildProcessError", "IncompleteReadError",
})  # fmt: skip


def failed_by_itself(errors: tuple[ErrorRecord, ...] | None) -> bool:
    """Whether the program ended of an exception of its own that no dead child explains."""
    own = [error for error in errors or () if error.origin == "recorded" and error.thread is None]
    if not own:
        return False
    return _OF_A_CHILD.isdisjoint(own[-1].names()) and not any(
        word in own[-1].message for word in ("worker", "process", "pool", "child", "exit code", "signal")
    )


def quoted(line: str, most: int = 160) -> str:
    """A line as a quotation, shortened."""
    line = line.strip()
    return f'"{line if len(line) <= most else line[: most - 1] + "…"}"'
