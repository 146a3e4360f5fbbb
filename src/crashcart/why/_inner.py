"""The error inside an error: a worker's exception behind the call that handed it over, a group's first member.

Covers: multiprocessing, concurrent.futures and joblib (the worker's traceback as text, in the chain), the same as printed
in a log, and exception groups, whose members stand in the group's chain.
Does not cover: errors raised while handling others, which are told apart in `_text.py`. No rule is declared here.
"""

from __future__ import annotations

from dataclasses import replace

from crashcart.evidence import ErrorRecord, Frame, LogLine
from crashcart.probe.log import read_errors
from crashcart.why._message import looks_own

_REMOTE = frozenset({"RemoteTraceback", "_RemoteTraceback"})
_GROUPS = frozenset({"ExceptionGroup", "BaseExceptionGroup"})


def innermost(error: ErrorRecord) -> ErrorRecord:
    """The error that tells most of what happened: a group's first member, with the frames it had in a worker."""
    return _with_worker_frames(_first_member(error))


def _first_member(error: ErrorRecord) -> ErrorRecord:
    """A group says only how many errors are in it; those that it was raised from come after its members."""
    members = [each for each in error.chain if _GROUPS.isdisjoint(each.names())]
    if _GROUPS.isdisjoint(error.names()) or not members:
        return error
    telling = next((each for each in members if each.name != "CancelledError"), members[0])
    return replace(telling, origin=error.origin, thread=error.thread, at_s=error.at_s, pid=error.pid)


def _with_worker_frames(error: ErrorRecord) -> ErrorRecord:
    """The frames in the worker follow those of the call that waited for it, as if it were one process."""
    for number, cause in enumerate(error.chain):
        frames = _worker_frames(error, cause)
        if frames:
            chain = error.chain[:number] + error.chain[number + 1 :]
            return replace(error, frames=error.frames + frames, chain=chain)
    return error


def _worker_frames(error: ErrorRecord, cause: ErrorRecord) -> tuple[Frame, ...]:
    if cause.name in _REMOTE:
        lines = (LogLine(number, text) for number, text in enumerate(cause.message.splitlines(), start=1))
        told = read_errors(lines, looks_own)
        return told[-1].frames if told else ()
    printed = error.origin == "log" and cause.name == error.name and cause.message.partition("\n")[0] == error.message
    return cause.frames if printed else ()
