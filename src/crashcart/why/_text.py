"""Which of the many things a program said is the one that ended it, how sure that is, and where it points.

Covers: choosing the main error, the root in its chain, printed lines beside it; confidence; quotes with line numbers;
the user's own line. One order for all rules that judge words.
Does not cover: which words state which kind (`_kinds.py`), the words of findings (the rules), the extraction of figures
(`_figures.py`).
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from dataclasses import dataclass

from crashcart.evidence import Ending, ErrorRecord, Log, LogLine, place
from crashcart.finding import Cause, Confidence, Finding, Where
from crashcart.why._kinds import kind_of
from crashcart.why._said import CAUSES, Force, Kind, Said, own_frame, said_by_error, said_by_line

LINES_LOOKED_AT = 1_000
"""Printed lines at the end of the log that are classified; an end explains itself near the end."""
_QUOTE_LENGTH = 240
_SENTENCE_LENGTH = 140
_NATIVE_SIGNALS = frozenset(
    {signal.SIGABRT, signal.SIGBUS, signal.SIGSEGV, signal.SIGILL, signal.SIGFPE, signal.SIGTRAP}
)
_CONSEQUENCES = frozenset(
    {
        "CancelledError",
        "AbortedError",
        "BrokenPipeError",
        "ConnectionResetError",
        "ConnectionRefusedError",
        "EOFError",
        "ChildFailedError",
        "CalledProcessError",
        "BrokenProcessPool",
        "TerminatedWorkerError",
        "ProcessRaisedException",
        "ProcessExitedException",
        "SystemExit",
        "RayTaskError",
        "WorkerCrashedError",
        "UnavailableError",
    }
)
"""Exceptions that mostly tell of another one, elsewhere."""
_CARRIERS = frozenset(
    {
        "InternalError",
        "UnknownError",
        "UnimplementedError",
        "SystemError",
        "AbortedError",
        "RuntimeError",
    }
)
"""Exceptions that carry a native failure up; where they state no kind, the native line beside them does."""
_HANDLED_IN_PASSING = frozenset({Kind.MISSING, Kind.API, Kind.RAN_OUT, Kind.PACKAGES})
"""Kinds that programs meet on purpose (try this file, else that); an error raised while handling them is its own."""


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
        told = message.own_frame() if message else None
        frames = error.frames if error else ()
        outer = self.main.frames if self.main else ()
        return place(told or own_frame(frames) or own_frame(outer), op=self.op)

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


def stated(
    kind: Kind, errors: tuple[ErrorRecord, ...], log: Log | None, ending: Ending | None = None
) -> Iterator[Statement]:
    """The statements of one kind, at most one."""
    yield from (each for each in _memo(errors, log, ending) if each.kind is kind)


def conclude(
    statement: Statement, headline: str, remedy: tuple[str, ...], *facts: str, cause: Cause | None = None
) -> Finding:
    """A finding that rests on the statement and on further facts."""
    return Finding(
        cause=cause or CAUSES[statement.kind],
        headline=headline,
        because=(*statement.facts(), *facts),
        remedy=remedy,
        confidence=statement.confidence,
        where=statement.where(),
    )


def main_error(errors: tuple[ErrorRecord, ...], ending: Ending | None = None) -> ErrorRecord | None:
    """The uncaught error of the main thread: the recorded one, else the last in the log that tells of itself."""
    del ending
    recorded = [each for each in errors if each.origin == "recorded" and each.thread is None]
    printed = [each for each in errors if each.origin == "log" and each.thread is None and not _is_harmless(each)]
    candidates = recorded or printed
    telling = [each for each in candidates if each.name not in _CONSEQUENCES]
    if not telling and recorded:
        telling = [each for each in printed if each.name not in _CONSEQUENCES]
    chosen = telling or candidates
    return chosen[-1] if chosen else None


def states_a_kind(error: ErrorRecord) -> bool:
    """Whether the error or its chain states a kind of failure that a rule of its own judges."""
    return _from_error(error, None) is not None


def root_of(error: ErrorRecord) -> ErrorRecord:
    """The first error of the chain: what the others were raised from."""
    return error.chain[-1] if error.chain else error


def is_uncaught(error: ErrorRecord) -> bool:
    """Whether the recorder saw the error end the main thread."""
    return error.origin == "recorded" and error.thread is None


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
    if force is Force.HEALTHY or (ending and ending.kind == "exit" and ending.exit_code == 0):
        return Confidence.POSSIBLE
    number = signal_of(ending)
    ended_by_signal = number is not None
    if error is not None and is_uncaught(error):
        return Confidence.LIKELY if force is Force.VAGUE or ended_by_signal else Confidence.CERTAIN
    if ended_by_signal:
        return Confidence.LIKELY if number in _NATIVE_SIGNALS and error is None else Confidence.POSSIBLE
    return Confidence.LIKELY


def signal_of(ending: Ending | None) -> int | None:
    """The signal that ended the program; a shell in between makes 128 + n of it."""
    if ending is None:
        return None
    if ending.signal is not None:
        return ending.signal
    return ending.exit_code - 128 if ending.exit_code is not None and 128 < ending.exit_code < 160 else None


def _shorten(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _QUOTE_LENGTH else text[: _QUOTE_LENGTH - 1] + "…"


_last: tuple[object, object, object, tuple[Statement, ...]] | None = None


def _memo(errors: tuple[ErrorRecord, ...], log: Log | None, ending: Ending | None) -> tuple[Statement, ...]:
    """All statements; kept for the next rule, since each asks about the same evidence."""
    global _last
    if _last and _last[0] is errors and _last[1] is log and _last[2] is ending:
        return _last[3]
    _last = (errors, log, ending, _statements(errors, log, ending))
    return _last[3]


def _statements(errors: tuple[ErrorRecord, ...], log: Log | None, ending: Ending | None) -> tuple[Statement, ...]:
    main = main_error(errors, ending)
    raised = _from_error(main, ending) if main else None
    quoted = {each.line_number for each in errors if each.thread is not None}
    lines = tuple(each for each in _from_lines(log, ending) if _number(each) not in quoted) if log else ()
    if main is None:
        chosen = _best_line(lines)
    elif raised is None and main.name not in _CARRIERS:
        chosen = None
    else:
        chosen = _more_telling(raised, lines)
    others = {each.kind: _weaker(each) for each in lines}
    if raised:
        others[raised.kind] = _weaker(raised)
    if chosen:
        others[chosen.kind] = chosen
    return tuple(others.values())


def _from_error(main: ErrorRecord, ending: Ending | None) -> Statement | None:
    """The kind that the error or its chain states: the nearest that says something definite."""
    vague: Statement | None = None
    for depth, error in enumerate(main.with_chain()):
        said = said_by_error(error)
        found = kind_of(said)
        if found is None or (depth and found[0] in _HANDLED_IN_PASSING and not _wraps(main)):
            continue
        kind, force = found
        statement = Statement(kind, force, said, judge_confidence(main, force, ending), main)
        if force > Force.VAGUE:
            return statement
        vague = vague or statement
    return vague


def _wraps(error: ErrorRecord) -> bool:
    """Whether the error was raised on purpose over another, by the user's own line or while importing."""
    deepest = error.frames[-1] if error.frames else None
    by_hand = deepest is not None and deepest.own and (deepest.source or "").startswith("raise ")
    return by_hand or error.name in ("ImportError", "StopIteration")


def _from_lines(log: Log, ending: Ending | None) -> Iterator[Statement]:
    for line in log.lines[-LINES_LOOKED_AT:]:
        said = said_by_line(line)
        found = kind_of(said) if said else None
        if said and found:
            kind, force = found
            yield Statement(kind, force, said, judge_confidence(None, force, ending))


def _best_line(lines: tuple[Statement, ...]) -> Statement | None:
    """The most telling line; among equals the last."""
    return max(lines, key=lambda each: (each.force, _number(each)), default=None)


def _number(statement: Statement) -> int:
    return statement.said.line.number if statement.said.line else 0


def _more_telling(raised: Statement | None, lines: tuple[Statement, ...]) -> Statement | None:
    """A vague exception gives way to a printed line that names the root."""
    if raised is not None and raised.force > Force.VAGUE:
        return raised
    best = _best_line(tuple(each for each in lines if each.force > Force.VAGUE))
    return best or raised


def _weaker(statement: Statement) -> Statement:
    return Statement(statement.kind, statement.force, statement.said, Confidence.POSSIBLE, statement.main)


def _is_harmless(error: ErrorRecord) -> bool:
    return "'MessageFactory' object has no attribute 'GetPrototype'" in error.message
