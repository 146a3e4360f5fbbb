"""W508 error-in-background-thread."""

from __future__ import annotations

import signal
from collections.abc import Iterator

from crashcart.evidence import Ending, ErrorRecord, Log, Sample, place
from crashcart.finding import Cause, Confidence, Finding
from crashcart.rule import Rank, rule
from crashcart.why._kinds import kind_of
from crashcart.why._said import CAUSES, own_frame, said_by_error
from crashcart.why._statement import first_sentence, quote_error
from crashcart.why._text import main_error
from crashcart.why._words import signal_of

_NOT_FAILURES = frozenset({"KeyboardInterrupt", "SystemExit", "GeneratorExit"})
_WAITED_IN_VAIN = frozenset({"Empty", "Full", "TimeoutError", "BrokenBarrierError"})
"""What the main thread raises when another no longer gives or takes what it should."""
_MOST_NAMED = 3
_SENT_TO_WAITERS = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
"""What people and schedulers send to a program that makes no progress."""
_IDLE_FRACTION = 0.1
"""Of one core: a main thread that waits on a queue or a join uses next to none."""


@rule("W508", "error-in-background-thread", Rank.KIND)
def error_in_background_thread(
    errors: tuple[ErrorRecord, ...],
    log: Log | None = None,
    ending: Ending | None = None,
    samples: tuple[Sample, ...] | None = None,
) -> Iterator[Finding]:
    """An exception ended a background thread or a worker process, and the main thread went on without it.

    ## What it means

    An exception outside the main thread does not end the program. Work that the thread did is simply no longer done: a
    queue stays empty, a result never comes, and the program waits or ends with less than it should.

    ## How we know

    The exception was recorded, or printed, with the name of its thread or worker process. It counts as likely where
    nothing else explains the end: the main thread raised nothing itself, or only that it had waited in vain (an empty
    queue, a timeout), and the program did not end well; or it was idle from then on until somebody ended it.

    ## What to do

    Mend the named line as for any exception; hand errors of threads to the main thread (concurrent.futures and its
    result(), a queue), so that the next one is seen.
    """
    background = [each for each in errors if each.thread is not None and each.name not in _NOT_FAILURES]
    seen: dict[tuple[str, str], ErrorRecord] = {}
    for error in reversed(background):
        seen.setdefault((error.name, error.message), error)
    for number, error in enumerate(list(seen.values())[:_MOST_NAMED]):
        yield _finding(
            error, _confidence(error, main_error(errors), ending, samples) if number == 0 else Confidence.POSSIBLE
        )


def _finding(error: ErrorRecord, confidence: Confidence) -> Finding:
    said = said_by_error(error)
    found = kind_of(said)
    frame = (said.message.own_frame() if said.message else None) or own_frame(error.frames)
    words = first_sentence(said.words)
    mend = f"mend {frame.file}, line {frame.line}" if frame else "mend the line that the traceback names"
    return Finding(
        cause=CAUSES[found[0]] if found else Cause.PYTHON_ERROR,
        headline=f"{error.thread} ended by {said.type}"
        + (f": {words}" if words else "")
        + ", and the main thread went on",
        because=(quote_error(error), f"it was raised in {error.thread}, not in the main thread"),
        remedy=(
            f"{mend}, as for any exception",
            "hand errors over to the main thread: concurrent.futures (result() raises them again), or a queue",
            "wrap the thread's function in try/except that logs and stops the program, so that nobody waits for it",
        ),
        confidence=confidence,
        where=place(frame),
    )


def _confidence(
    error: ErrorRecord, main: ErrorRecord | None, ending: Ending | None, samples: tuple[Sample, ...] | None
) -> Confidence:
    ended_well = ending is not None and ending.kind == "exit" and ending.exit_code == 0
    number = signal_of(ending)
    if main is not None and main.name not in _NOT_FAILURES | _WAITED_IN_VAIN:
        return Confidence.POSSIBLE
    if ended_well or (number is not None and not (number in _SENT_TO_WAITERS and idle_since(error, samples))):
        return Confidence.POSSIBLE
    return Confidence.LIKELY


def idle_since(error: ErrorRecord, samples: tuple[Sample, ...] | None) -> bool:
    """Whether the program used hardly any processor time after the error."""
    later = [(each.at_s, each.cpu_s) for each in samples or () if error.at_s is not None and each.at_s >= error.at_s]
    known = [(at_s, cpu_s) for at_s, cpu_s in later if cpu_s is not None]
    if len(known) < 2 or known[-1][0] <= known[0][0]:
        return False
    return known[-1][1] - known[0][1] < _IDLE_FRACTION * (known[-1][0] - known[0][0])
