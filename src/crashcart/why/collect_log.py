"""The evidence that a log gives: the same sections as a recording, each None where the text does not tell.

Covers: text from any machine, in one pass over a file or a pipe of any length: lines, exceptions, the ending, kills for
memory, the processor, the cards, versions, native stacks.
Does not cover: judging. No rule is declared here.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from typing import BinaryIO

from crashcart.errors import CannotCheckError
from crashcart.evidence import Ending, ErrorRecord, Evidence, KernelLog, Log, LogLine
from crashcart.probe.log import find_errors
from crashcart.probe.log_crash import told_crash
from crashcart.probe.log_ending import told_ending
from crashcart.probe.log_facts import kill_lines, told_environment, told_gpus, told_machine
from crashcart.probe.log_stream import CHUNK_BYTES, log_of
from crashcart.probe.log_text import is_binary, packed_as
from crashcart.probe.source import OwnCode


def collect_log(stream: BinaryIO, name: str) -> Evidence:
    """All evidence in a log; CannotCheckError where it is empty or no text."""
    first = stream.read(CHUNK_BYTES)
    if not first.strip(b"\0 \t\r\n"):
        raise CannotCheckError(
            f"the log is empty: {name}", "Give the output of the program, from its start to its end."
        )
    packed = packed_as(first)
    if packed:
        raise CannotCheckError(
            f"{name} is packed ({packed[0]})", f"`{packed[1]} {name} | crashcart why --log -` reads it."
        )
    if is_binary(first):
        raise CannotCheckError(
            f"{name} is no text: it is full of control characters", "Give the output of the program, as text."
        )
    return evidence_of(log_of(_chunks(first, stream)))


def evidence_of(log: Log) -> Evidence:
    """The sections that the lines of a log give."""
    is_own = OwnCode(()).is_own
    errors = find_errors(log, is_own)
    kills = kill_lines(log.lines)
    ending = _ending(log.lines, errors, kills)
    return Evidence(
        log=log,
        errors=errors,
        ending=ending,
        kernel_log=KernelLog(kills) if kills else None,
        machine=told_machine(log.lines),
        environment=told_environment(log.lines),
        gpus=told_gpus(log.lines),
        crash=told_crash(log.lines, ending, is_own),
    )


def _ending(lines: tuple[LogLine, ...], errors: tuple[ErrorRecord, ...], kills: tuple[str, ...]) -> Ending | None:
    """What the lines tell; a kill for memory is an ending, an interrupt only where no other error came after it."""
    ending = told_ending(lines)
    if ending is not None and ending.signal_name == "SIGINT":
        last = next((error for error in reversed(errors) if error.thread is None), None)
        if last is not None and last.name != "KeyboardInterrupt":
            return None
    if kills and (ending is None or ending.signal is None or _cancelled_after(ending)):
        number = int(kills[0].partition(":")[0].removeprefix("line "))
        line = next(each for each in lines if each.number == number)
        return Ending("signal", signal=9, signal_name="SIGKILL", said=line)
    return ending


def _cancelled_after(ending: Ending) -> bool:
    """Whether a scheduler only cancelled what was left; where its time limit was the reason, it says so."""
    said = ending.said.text.lower() if ending.said is not None else ""
    return ending.signal == signal.SIGTERM and "limit" not in said


def _chunks(first: bytes, stream: BinaryIO) -> Iterator[bytes]:
    yield first
    while chunk := stream.read(CHUNK_BYTES):
        yield chunk
