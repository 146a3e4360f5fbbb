"""Which of the many things a program said is the one that ended it.

Covers: choosing the main error, the root in its chain, printed lines beside it. One order for all rules that judge words.
Does not cover: which words state which kind (`_kinds.py`), how sure a statement is (`_statement.py`), the words of
findings (the rules), the extraction of figures (`_figures.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from crashcart.evidence import Ending, ErrorRecord, Log, LogLine
from crashcart.finding import Confidence
from crashcart.probe.log_words import lines_with
from crashcart.why._inner import innermost
from crashcart.why._kinds import kind_of
from crashcart.why._noise import meaning_of
from crashcart.why._said import Force, Kind, Said, announced, said_by_error, said_by_line
from crashcart.why._statement import Statement, judge_confidence

EARLY_LINES = 200
LATE_LINES = 400
"""Printed lines that are classified at most: each is held against every wording, at half a millisecond."""
_WITHOUT_DIGITS = str.maketrans("", "", "0123456789")
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
        "DeadKernelError",
        "RayActorError",
    }
)
"""Exceptions that mostly tell of another one, elsewhere."""
GONE_ELSEWHERE = frozenset(
    {
        "DeadKernelError",
        "BrokenProcessPool",
        "TerminatedWorkerError",
        "ChildFailedError",
        "ProcessExitedException",
        "WorkerCrashedError",
        "RayActorError",
    }
)
"""Exceptions that say no more than that another process is gone; in a log they leave the question open."""
_GONE_WORDS = re.compile(
    r"DataLoader worker \(pid\(s\) .{1,400}\) exited unexpectedly|background workers are no longer alive|Abort event was set"
    r"|worker (?:process )?(?:died|has died|was lost) unexpectedly|The actor died unexpectedly"
)
"""The same, said by exceptions of a common name."""
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
_RAISES = re.compile(r"(?:^|[:;]\s*)raise\b")
_HANDLED_IN_PASSING = frozenset({Kind.MISSING, Kind.API, Kind.RAN_OUT, Kind.PACKAGES})
"""Kinds that programs meet on purpose (try this file, else that); an error raised while handling them is its own."""


def stated(
    kind: Kind, errors: tuple[ErrorRecord, ...], log: Log | None, ending: Ending | None = None
) -> Iterator[Statement]:
    """The statements of one kind, at most one."""
    yield from (each for each in _memo(errors, log, ending) if each.kind is kind)


def main_error(errors: tuple[ErrorRecord, ...]) -> ErrorRecord | None:
    """The uncaught error of the main thread: the recorded one, else the last in the log that tells of itself."""
    recorded = [each for each in errors if each.origin == "recorded" and each.thread is None]
    printed = [each for each in errors if each.origin == "log" and each.thread is None and not _is_harmless(each)]
    candidates = recorded or printed
    telling = [each for each in candidates if not _is_consequence(each)]
    if not telling and recorded:
        telling = [each for each in printed if not _is_consequence(each)]
    chosen = telling or candidates
    return innermost(chosen[-1]) if chosen else None


def _is_consequence(error: ErrorRecord) -> bool:
    return error.name in _CONSEQUENCES or is_gone_elsewhere(error)


def is_gone_elsewhere(error: ErrorRecord) -> bool:
    """Whether the error says no more than that another process is gone."""
    return error.name in GONE_ELSEWHERE or _GONE_WORDS.search(error.message[:2_000]) is not None


def states_a_kind(error: ErrorRecord) -> bool:
    """Whether the error or its chain states a kind of failure that a rule of its own judges."""
    return _from_error(error, None) is not None


def root_of(error: ErrorRecord) -> ErrorRecord:
    """The first error of the chain: what the others were raised from."""
    return error.chain[-1] if error.chain else error


_last: tuple[object, object, object, tuple[Statement, ...]] | None = None


def _memo(errors: tuple[ErrorRecord, ...], log: Log | None, ending: Ending | None) -> tuple[Statement, ...]:
    """All statements; kept for the next rule, since each asks about the same evidence."""
    global _last
    if _last and _last[0] is errors and _last[1] is log and _last[2] is ending:
        return _last[3]
    _last = (errors, log, ending, _statements(errors, log, ending))
    return _last[3]


def _statements(errors: tuple[ErrorRecord, ...], log: Log | None, ending: Ending | None) -> tuple[Statement, ...]:
    main = main_error(errors)
    raised = _from_error(main, ending) if main else None
    quoted = {each.line_number for error in errors for each in error.with_chain()}
    printed = _printed_as(errors)
    open_end = main is not None and is_gone_elsewhere(main)
    lines = tuple(
        each
        for each in (_from_lines(log, ending) if log else ())
        if _number(each) not in quoted and each.words not in printed and not (open_end and each.force is Force.HEALTHY)
    )
    if main is None:
        chosen = _best_line(lines)
    elif raised is None and main.name not in _CARRIERS and said_by_error(main).words:
        chosen = None
    else:
        chosen = _more_telling(raised, lines)
    others = {each.kind: _weaker(each) for each in lines}
    if raised:
        others[raised.kind] = _weaker(raised)
    if chosen:
        others[chosen.kind] = chosen
    return tuple(others.values())


def _printed_as(errors: tuple[ErrorRecord, ...]) -> set[str]:
    """How Python prints the errors that the recorder saw itself: those lines say nothing more."""
    all_errors = [each for error in errors for each in error.with_chain()]
    first_lines = [(each, each.message.strip().partition("\n")[0].strip()) for each in all_errors]
    return {f"{name}: {line}" for each, line in first_lines for name in (each.name, each.type)}


def _from_error(main: ErrorRecord, ending: Ending | None) -> Statement | None:
    """The kind that the error or its chain states: the nearest that says something definite."""
    vague: Statement | None = None
    for depth, error in enumerate(main.with_chain()):
        said = said_by_error(error)
        found = None if _in_own_words(error) else kind_of(said)
        if found is None or (depth and found[0] in _HANDLED_IN_PASSING and not _wraps(main)):
            continue
        kind, force = found
        statement = Statement(kind, force, said, judge_confidence(main, force, ending), main)
        if force > Force.VAGUE:
            return statement
        vague = vague or statement
    return vague


def _in_own_words(error: ErrorRecord) -> bool:
    """Whether the program itself raised the error, with words of its own: they may speak of shapes, memory or files and
    mean something else. The system's errors mean what they say whoever raises them."""
    return _by_hand(error) and "OSError" not in error.names()


def _by_hand(error: ErrorRecord) -> bool:
    deepest = error.frames[-1] if error.frames else None
    return deepest is not None and deepest.own and _RAISES.search(deepest.source or "") is not None


def _wraps(error: ErrorRecord) -> bool:
    """Whether the error was raised on purpose over another, by the user's own line or while importing."""
    return _by_hand(error) or error.name in ("ImportError", "StopIteration")


def _from_lines(log: Log, ending: Ending | None) -> Iterator[Statement]:
    for line in _worth_a_look(log):
        said = said_by_line(line)
        found = kind_of(said) if said else None
        if said and found is None and not _tells_its_end(ending):
            found = _announced_kind(said)
        if said and found and not (found[1] is Force.HEALTHY and _tells_its_end(ending)):
            kind, force = found
            yield Statement(kind, force, said, judge_confidence(None, force, ending))


def _announced_kind(said: Said) -> tuple[Kind, Force] | None:
    """What a line states that announces an error, where nothing tells an end: words that else only exceptions have count."""
    raised = announced(said)
    found = kind_of(raised) if raised is not None else None
    return (found[0], Force.VAGUE) if found and found[1] > Force.HEALTHY else None


def _worth_a_look(log: Log) -> list[LogLine]:
    """Lines that may state a failure, the first and the last of those that differ by numbers alone.

    Where there are very many, the earliest and the latest: roots come early, and an end explains itself near the end.
    """
    first: dict[str, LogLine] = {}
    last: dict[str, LogLine] = {}
    for line in lines_with(log.lines):
        if not meaning_of(line.text):
            shape = line.text[:400].translate(_WITHOUT_DIGITS)
            first.setdefault(shape, line)
            last[shape] = line
    lines = sorted(
        {each.number: each for each in (*first.values(), *last.values())}.values(), key=lambda each: each.number
    )
    return lines if len(lines) <= EARLY_LINES + LATE_LINES else lines[:EARLY_LINES] + lines[-LATE_LINES:]


def _tells_its_end(ending: Ending | None) -> bool:
    """Whether a log tells an end that a line of healthy programs does not explain."""
    return ending is not None and ending.said is not None


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
