"""W506 ended-in-order."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.evidence import Ending, ErrorRecord, Program
from crashcart.finding import Cause, Confidence, Finding
from crashcart.rule import Rank, rule
from crashcart.units import duration, plural
from crashcart.why._words import who


@rule("W506", "ended-in-order", Rank.LAST_RESORT)
def ended_in_order(
    ending: Ending, program: Program | None = None, errors: tuple[ErrorRecord, ...] | None = None
) -> Iterator[Finding]:
    """The program ended by itself, in order.

    ## What it means

    It came to its end, or left with `sys.exit`. A code other than 0 is the program's own way to say that it did not do
    what it was asked for; its output says what.

    ## How we know

    It returned an exit code, no signal ended it and no exception went uncaught in its main thread.

    ## What to do

    Nothing for 0. For another code, read the program's last output.
    """
    uncaught = [error for error in errors or () if error.origin == "recorded" and error.thread is None]
    if ending.kind != "exit" or ending.exit_code is None or ending.exit_code >= 128 or uncaught:
        return
    hooked = program is not None and bool(program.hooked)
    printed = ending.exit_code != 0 and any(error.origin == "log" for error in errors or ())
    took = f" after {duration(ending.at_s)}" if ending.at_s is not None else ""
    facts = [
        f"it ended with exit code {ending.exit_code}{took}; no signal" + (", no uncaught exception" if hooked else "")
    ]
    if ending.survivors:
        facts.append(f"{plural(len(ending.survivors), 'process', 'processes')} that it started still ran then")
    failed = ending.exit_code != 0
    if hooked and ending.python_finished is False:
        facts.append("it left without Python's orderly end (os._exit, or another program took its place)")
    yield Finding(
        Cause.CLEAN_EXIT,
        f"{who(program)} ended by itself" + (f" with exit code {ending.exit_code}" if failed else ""),
        tuple(facts),
        ("read its last output: the program chose this exit code itself",)
        if failed
        else ("nothing: it ended in order",),
        Confidence.POSSIBLE
        if printed
        else Confidence.CERTAIN
        if not failed or ending.python_finished
        else Confidence.LIKELY,
    )
