"""Small words that the rules share: the program's name, a quoted line."""

from __future__ import annotations

import re

from crashcart.evidence import Ending, ErrorRecord, Program


def who(program: Program | None) -> str:
    """The program by its name, or `the program` where a log does not say."""
    return program.name if program is not None else "the program"


def runs_pytest(program: Program | None) -> bool:
    """Whether the program is a test run: `pytest …` or `python -m pytest …`."""
    return program is not None and any(word.rpartition("/")[2] in ("pytest", "py.test") for word in program.argv[:4])


_OF_A_CHILD = frozenset({
    "BrokenProcessPool", "TerminatedWorkerError", "CalledProcessError", "EOFError", "ConnectionResetError",
    "BrokenPipeError", "Empty", "TimeoutError", "ChildProcessError", "IncompleteReadError",
})  # fmt: skip


_CHILD_WORDS = re.compile(
    r"worker|process|pool|child|exit code|signal|(?:status|returned|return ?code|with) -?(?:4|6|7|8|9|11|13[24-79])\b"
)
"""Words about another process, or a status that a signal leaves behind (-11, 139, and 9 as `os.wait` gives it)."""


def failed_by_itself(errors: tuple[ErrorRecord, ...] | None) -> bool:
    """Whether the program ended of an exception of its own that no dead child explains."""
    own = [error for error in errors or () if error.origin == "recorded" and error.thread is None]
    if not own:
        return False
    return _OF_A_CHILD.isdisjoint(own[-1].names()) and not _CHILD_WORDS.search(own[-1].message)


def quoted(line: str, most: int = 160) -> str:
    """A line as a quotation, shortened."""
    line = line.strip()
    return f'"{line if len(line) <= most else line[: most - 1] + "…"}"'


def signal_of(ending: Ending | None) -> int | None:
    """The signal that ended the program; a shell in between makes 128 + n of it."""
    if ending is None:
        return None
    if ending.signal is not None:
        return ending.signal
    return ending.exit_code - 128 if ending.exit_code is not None and 128 < ending.exit_code < 160 else None
