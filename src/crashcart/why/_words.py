"""Small words that the rules share: the program's name, a quoted line."""

from __future__ import annotations

from crashcart.evidence import Program


def who(program: Program | None) -> str:
    """The program by its name, or `the program` where a log does not say."""
    return program.name if program is not None else "the program"


def quoted(line: str, most: int = 160) -> str:
    """A line as a quotation, shortened."""
    line = line.strip()
    return f'"{line if len(line) <= most else line[: most - 1] + "…"}"'
