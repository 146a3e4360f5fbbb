"""D601: a framework cannot be imported here, or dies at its first step."""

from __future__ import annotations

import signal
from collections.abc import Iterator

from crashcart.finding import Cause, Confidence, Finding
from crashcart.installation import ImportAttempt
from crashcart.rule import Rank, rule
from crashcart.units import duration

_LAST_LINES = 3


@rule("D601", "import-fails", Rank.MECHANISM)
def import_fails(attempts: tuple[ImportAttempt, ...]) -> Iterator[Finding]:
    """A framework that is installed cannot be imported, or dies at its first step.

    ## What it means

    The environment does not work as it is, whatever its metadata says. A program would die in the same way.

    ## How we know

    It was imported in a child process, with one small operation (and for TensorFlow one Keras layer), and the child failed.
    Its output and its end are explained by the same rules that explain the death of any program.

    ## What to do

    Follow the advice of the finding. Where another finding names packages that do not fit, mend these first, and look again.
    """
    for each in attempts:
        if each.exit_code != 0:
            yield _finding(each)


def _finding(attempt: ImportAttempt) -> Finding:
    facts = (f"`import {attempt.module}` and a first step, in a child process: {_ending(attempt)}", *_said(attempt))
    known = attempt.explained
    if known is None or known.cause is Cause.UNKNOWN:
        advice = (f"run it alone and read the first error: `python -c 'import {attempt.module}'`",)
        cause = Cause.HANG if _endless(attempt) else Cause.UNKNOWN
        return Finding(cause, f"{attempt.module} does not work here", facts, advice, Confidence.CERTAIN)
    headline = f"{attempt.module} does not work here: {known.headline}"
    return Finding(known.cause, headline, (facts[0], *known.because), known.remedy, known.confidence, known.where)


def _endless(attempt: ImportAttempt) -> bool:
    return attempt.exit_code is None and attempt.signal is None


def _ending(attempt: ImportAttempt) -> str:
    if _endless(attempt):
        return f"no end within {duration(attempt.seconds)}, so it was stopped"
    if attempt.signal is not None:
        try:
            return f"killed by {signal.Signals(attempt.signal).name}"
        except ValueError:
            return f"killed by signal {attempt.signal}"
    return f"exit code {attempt.exit_code}"


def _said(attempt: ImportAttempt) -> Iterator[str]:
    lines = [line.strip() for line in attempt.output.splitlines() if line.strip()]
    if lines:
        yield f"its last words: {' / '.join(lines[-_LAST_LINES:])}"
