"""A program's printed output as evidence: its lines, and the exceptions that stand in them.

Covers: any text that a program, a notebook or a log collector wrote, whole or as a tail, in time linear in its length.
Does not cover: judging what the lines mean (the rules), nor reading files (the shells hand the text in).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from crashcart.evidence import ErrorRecord, Log, LogLine
from crashcart.probe.log_errors import ErrorReader
from crashcart.probe.log_lines import clean_lines


def parse_log(text: str, stream: str = "stderr") -> Log:
    """The text as numbered lines, each in the last state that a terminal would have shown."""
    return Log(tuple(LogLine(number, line, stream) for number, line in enumerate(clean_lines([text]), start=1)))


def find_errors(log: Log, is_own: Callable[[str], bool]) -> tuple[ErrorRecord, ...]:
    """The exceptions in a log, in the order in which they were printed. `is_own` says whether a file is the user's."""
    return read_errors(log.lines, is_own)


def read_errors(lines: Iterable[LogLine], is_own: Callable[[str], bool]) -> tuple[ErrorRecord, ...]:
    """The same over lines that are read one by one; what is kept is bounded, whatever the length."""
    reader = ErrorReader(is_own)
    for line in lines:
        reader.feed(line.number, line.text)
    return reader.finish()
