"""The errors that crashcart raises to its own callers; each owns its help text and its exit code.

Covers: wrong usage, evidence that cannot be had, recordings that cannot be read.
Does not cover: the deaths of users' programs; those are findings.
"""

from __future__ import annotations


class CrashcartError(Exception):
    """Something crashcart could not do. `help` is the next thing to type or to look at."""

    exit_code = 4
    help = "Please report it with the whole message; CRASHCART_DEBUG=1 shows where it came from."

    def __init__(self, message: str, help: str | None = None) -> None:
        super().__init__(message)
        if help is not None:
            self.help = help


class UsageError(CrashcartError):
    """The caller asked for something that makes no sense."""

    exit_code = 2
    help = "See `crashcart --help`."


class CannotCheckError(CrashcartError):
    """The evidence that the question needs cannot be had."""

    exit_code = 3
    help = "Record a run with `crashcart run -- python your_script.py`, then ask again."


class StoppedError(CannotCheckError):
    """Something that was on its way cannot go on. What was done until then is known."""


class NoRecordingError(CannotCheckError):
    """There is no recording, or none by that name."""


class UnreadableRecordingError(CannotCheckError):
    """A recording is there, but it is damaged, foreign or newer than this crashcart."""

    help = "`crashcart list` shows the recordings that can be read."
