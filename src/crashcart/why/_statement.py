"""One kind of failure that was stated, as a finding rests on it: where it points, how sure it is, its quotes.

Covers: the user's own line, quotes with line numbers, confidence.
Does not cover: which of many sayings counts (`_text.py`), and the words of findings (the rules).
"""

from __future__ import annotations

import signal
from dataclasses import dataclass

from crashcart.evidence import Ending, ErrorRecord, Frame, LogLine, place
from crashcart.finding import Cause, Confidence, Finding, Where
from crashcart.why._said import CAUSES, Force, Kind, Said, own_frame, said_by_error
from crashcart.why._suggested import suggested
from crashcart.why._words import signal_of

_QUOTE_LENGTH = 240
_SENTENCE_LENGTH = 140
_LINES_BETWEEN = 30
_NATIVE_SIGNALS = frozenset(
    {signal.SIGABRT, signal.SIGBUS, signal.SIGSEGV, signal.SIGILL, signal.SIGFPE, signal.SIGTRAP}
)


# In such a message the line is where the tensor was made; the mistake is where it is used.
_NAMES_ITS_ORIGIN = "out of scope"


@dataclass(frozen=True, slots=True)
class Statement:
    """A kind of failure that was stated, by whom, and how surely it ended the program."""

    kind: Kind
    force: Force
    said: Said
    confidence: Confidence
    main: ErrorRecord | None = None
    """The error that ended the program, where the statement is that error or stands in its chain."""

    @property
    def words(self) -> str:
        """What was said, without stacks and decoration."""
        return self.said.words

    @property
    def op(self) -> str | None:
        """The operation that failed, as far as the message names it."""
        message = self.said.message
        if message is None:
            return None
        node = message.node.rstrip("/").rsplit("/", 1)[-1] if message.node else None
        return node if message.op in (None, "IteratorGetNext") and node else message.op

    def where(self) -> Where | None:
        """The user's own line: the one that the message names as the node's origin, else the one that was running."""
        message, error = self.said.message, self.said.error
        frames = (*(self.main.frames if self.main else ()), *(error.frames if error else ()))
        told = with_source(message.own_frame(), frames) if message and _NAMES_ITS_ORIGIN not in self.words else None
        return place(told or own_frame(error.frames if error else ()) or own_frame(frames), op=self.op)

    def facts(self) -> tuple[str, ...]:
        """The quotes that every finding of this statement rests on."""
        facts = [quote_error(self.said.error) if self.said.error else quote_line(self.said.line)]
        if self.main and self.main is not self.said.error:
            facts.append(f"it surfaced as {quote_error(self.main)}")
        where = self.where()
        call = own_frame(self.main.frames) if self.main else None
        if where and call and (call.file, call.line) != (where.file, where.line):
            facts.append(
                f"the call that ran it: {call.file}, line {call.line}" + (f": {call.source}" if call.source else "")
            )
        if self.force is Force.HEALTHY:
            facts.append("this line also stands in the logs of programs that end well")
        return tuple(facts)


def conclude(
    statement: Statement, headline: str, remedy: tuple[str, ...], *facts: str, cause: Cause | None = None
) -> Finding:
    """A finding that rests on the statement and on further facts."""
    return Finding(
        cause=cause or CAUSES[statement.kind],
        headline=headline,
        because=(*statement.facts(), *facts),
        remedy=(*remedy, *suggested(statement.words)),
        confidence=statement.confidence,
        where=statement.where(),
    )


def with_source(frame: Frame | None, frames: tuple[Frame, ...]) -> Frame | None:
    """A frame that a message names, with the source that the same line has in a traceback."""
    if frame is None or frame.source is not None:
        return frame
    known = (each for each in frames if (each.file, each.line) == (frame.file, frame.line) and each.source)
    return next(known, frame)


def quote_error(error: ErrorRecord | None) -> str:
    """The error in one line, with the number of its line where it stands in a log."""
    if error is None:
        return ""
    said = said_by_error(error)
    text = _shorten(said.words)
    number = f"line {error.line_number}: " if error.line_number else ""
    return f"{number}{said.type or error.name}: {text}" if text else f"{number}{error.name}"


def quote_line(line: LogLine | None) -> str:
    """A line of the log with its number."""
    return f"line {line.number}: {_shorten(line.text.strip())}" if line else ""


def first_sentence(words: str) -> str:
    """The beginning of what was said, up to the end of its first sentence or line."""
    line = next((each for each in words.splitlines() if each.strip()), "").strip()
    end = line.find(". ")
    line = line[:end] if end > 0 else line
    return line if len(line) <= _SENTENCE_LENGTH else line[: _SENTENCE_LENGTH - 1] + "…"


def judge_confidence(error: ErrorRecord | None, force: Force, ending: Ending | None) -> Confidence:
    """How surely the thing said ended the program. What a healthy program also says, or survived, is only possible."""
    if force is Force.HEALTHY or went_on(ending):
        return Confidence.POSSIBLE
    number = signal_of(ending)
    ended_by_signal = number is not None and not _just_before(error, ending)
    if error is not None and is_uncaught(error):
        return Confidence.LIKELY if force is Force.VAGUE or ended_by_signal else Confidence.CERTAIN
    if ended_by_signal:
        return Confidence.LIKELY if number in _NATIVE_SIGNALS and error is None else Confidence.POSSIBLE
    return Confidence.LIKELY


def _just_before(error: ErrorRecord | None, ending: Ending | None) -> bool:
    """Whether a log that was handed in has the error right before the ending it tells, or in the very same line."""
    told = ending.said if ending is not None else None
    if told is None or error is None or error.line_number is None:
        return False
    return error.line_number <= told.number <= error.line_number + len(error.message.splitlines()) + _LINES_BETWEEN


def is_uncaught(error: ErrorRecord) -> bool:
    """Whether the recorder saw the error end the main thread."""
    return error.origin == "recorded" and error.thread is None


def went_on(ending: Ending | None) -> bool:
    """Whether the program survived what it said: it ended well, or it still runs."""
    return ending is not None and (ending.kind == "running" or (ending.kind == "exit" and ending.exit_code == 0))


def _shorten(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _QUOTE_LENGTH else text[: _QUOTE_LENGTH - 1] + "…"
