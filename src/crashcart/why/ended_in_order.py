"""W506 ended-in-order."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crashcart.evidence import Ending, ErrorRecord, Log, LogLine, Program
from crashcart.finding import Cause, Confidence, Finding
from crashcart.rule import Rank, rule
from crashcart.units import duration, plural
from crashcart.why._words import quoted, who

_WRONG_USAGE, _NOT_EXECUTABLE, _NOT_FOUND = 2, 126, 127
_COMMAND = re.compile(r"(\S{1,200}): (?:command )?not found$")
_USAGE = re.compile(r"^\S+: error: |^(?:Error: No such option|Usage: )")


@rule("W506", "ended-in-order", Rank.LAST_RESORT)
def ended_in_order(
    ending: Ending,
    program: Program | None = None,
    errors: tuple[ErrorRecord, ...] | None = None,
    log: Log | None = None,
) -> Iterator[Finding]:
    """The program ended by itself, in order.

    ## What it means

    It came to its end, or left with `sys.exit`. A code other than 0 is the program's own way to say that it did not do
    what it was asked for; its output says what.

    ## How we know

    It returned an exit code, no signal ended it and no exception went uncaught in its main thread; or its code is 0,
    whatever a command that it ran has said.

    ## What to do

    Nothing for 0. For another code, read the program's last output, whose last line is given. A shell says 127 where it
    does not find a command, 126 where it may not run it; argparse says 2 for arguments that it does not know.
    """
    uncaught = any(error.origin == "recorded" and error.thread is None for error in errors or ())
    if ending.kind != "exit" or ending.exit_code is None or ending.exit_code >= 128:
        return
    told_failure = ending.said is not None and ending.exit_code != 0
    if told_failure or (uncaught and ending.exit_code != 0):
        return
    last = _last_words(log) if ending.exit_code else None
    yield Finding(
        Cause.CLEAN_EXIT,
        f"{who(program)} ended by itself" + (f" with exit code {ending.exit_code}" if ending.exit_code else ""),
        tuple(_facts(ending, bool(program and program.hooked), uncaught, last)),
        tuple(_remedy(ending.exit_code, last)),
        _confidence(ending, any(error.origin == "log" for error in errors or ())),
    )


def _last_words(log: Log | None) -> LogLine | None:
    """The last line that the program wrote to stderr; to stdout where it wrote none there."""
    said = [line for line in (log.lines if log is not None else ()) if line.text.strip()]
    return next(reversed([line for line in said if line.stream == "stderr"] or said), None)


def _facts(ending: Ending, hooked: bool, uncaught: bool, last: LogLine | None) -> Iterator[str]:
    took = f" after {duration(ending.at_s)}" if ending.at_s is not None else ""
    nothing = ", no uncaught exception" if hooked and not uncaught else ""
    yield f"it ended with exit code {ending.exit_code}{took}; no signal{nothing}"
    if last is not None:
        yield f"the last that it wrote to {last.stream}: {quoted(last.text)}"
    if ending.survivors:
        yield f"{plural(len(ending.survivors), 'process', 'processes')} that it started still ran then"
    if hooked and ending.python_finished is False:
        yield "it left without Python's orderly end (os._exit, or another program took its place)"


def _remedy(code: int, last: LogLine | None) -> Iterator[str]:
    words = last.text.strip() if last is not None else ""
    if not code:
        yield "nothing: it ended in order"
    elif code == _NOT_FOUND and (match := _COMMAND.search(words)):
        yield f"{match[1]} is no command here: correct its spelling, install it, or give its whole path"
        yield "in a job or container, PATH may be another than in your terminal: `echo $PATH` in the script tells"
    elif code == _NOT_EXECUTABLE:
        yield "a command was found and could not be started: `chmod +x FILE`, or its first line (#!) names what is not there"
    elif code == _WRONG_USAGE and _USAGE.search(words):
        yield "it did not understand its arguments: run it with `--help`, and compare them with what was given"
    else:
        yield "read its last output: the program chose this exit code itself"


def _confidence(ending: Ending, printed: bool) -> Confidence:
    """A code other than 0 after an exception in the output was hardly the plan; the exception's own rule speaks first."""
    if ending.exit_code and printed:
        return Confidence.POSSIBLE
    return Confidence.CERTAIN if not ending.exit_code or ending.python_finished else Confidence.LIKELY
