"""W508 error-in-background-thread."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.evidence import Ending, ErrorRecord, Log, place
from crashcart.finding import Cause, Confidence, Finding
from crashcart.rule import Rank, rule
from crashcart.why._kinds import kind_of
from crashcart.why._said import CAUSES, own_frame, said_by_error
from crashcart.why._text import first_sentence, main_error, quote_error, signal_of

_NOT_FAILURES = frozenset({"KeyboardInterrupt", "SystemExit", "GeneratorExit"})
_MOST_NAMED = 3


@rule("W508", "error-in-background-thread", Rank.KIND)
def error_in_background_thread(
    errors: tuple[ErrorRecord, ...], log: Log | None = None, ending: Ending | None = None
) -> Iterator[Finding]:
    """An exception ended a background thread or a worker process, and the main thread went on without it.

    ## What it means

    An exception outside the main thread does not end the program. Work that the thread did is simply no longer done: a
    queue stays empty, a result never comes, and the program waits or ends with less than it should.

    ## How we know

    The exception was recorded, or printed, with the name of its thread or worker process. It counts as likely where
    nothing else explains the end: the main thread raised nothing itself, and the program did not end well.

    ## What to do

    Mend the named line as for any exception; hand errors of threads to the main thread (concurrent.futures and its
    result(), a queue), so that the next one is seen.
    """
    background = [each for each in errors if each.thread is not None and each.name not in _NOT_FAILURES]
    confidence = _confidence(main_error(errors, ending), ending)
    seen: set[tuple[str, str]] = set()
    for error in reversed(background):
        if (error.name, error.message) in seen or len(seen) >= _MOST_NAMED:
            continue
        seen.add((error.name, error.message))
        said = said_by_error(error)
        found = kind_of(said)
        frame = (said.message.own_frame() if said.message else None) or own_frame(error.frames)
        words = first_sentence(said.words)
        yield Finding(
            cause=CAUSES[found[0]] if found else Cause.PYTHON_ERROR,
            headline=f"{error.thread} ended by {said.type}"
            + (f": {words}" if words else "")
            + ", and the main thread went on",
            because=(quote_error(error), f"it was raised in {error.thread}, not in the main thread"),
            remedy=(
                f"mend {frame.file}, line {frame.line}, as for any exception"
                if frame
                else "mend the line that the traceback names",
                "hand errors over to the main thread: concurrent.futures (result() raises them again), or a queue",
                "wrap the thread's function in try/except that logs and stops the program, so that nobody waits for it",
            ),
            confidence=confidence,
            where=place(frame),
        )
        confidence = Confidence.POSSIBLE


def _confidence(main: ErrorRecord | None, ending: Ending | None) -> Confidence:
    ended_well = ending is not None and ending.kind == "exit" and ending.exit_code == 0
    if main is not None or ended_well or signal_of(ending) is not None:
        return Confidence.POSSIBLE
    return Confidence.LIKELY
