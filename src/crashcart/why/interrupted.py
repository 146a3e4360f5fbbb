"""W502 interrupted."""

from __future__ import annotations

import signal
from collections.abc import Iterator

from crashcart.evidence import Ending, ErrorRecord, Program, StackDump, place
from crashcart.finding import Cause, Confidence, Finding
from crashcart.rule import Rank, rule
from crashcart.why._place import last_place
from crashcart.why._statement import quote_line
from crashcart.why._words import who


@rule("W502", "interrupted", Rank.MECHANISM)
def interrupted(
    ending: Ending,
    program: Program | None = None,
    errors: tuple[ErrorRecord, ...] | None = None,
    stacks: tuple[StackDump, ...] | None = None,
) -> Iterator[Finding]:
    """Somebody interrupted the program: Ctrl-C, the stop button, or a restart.

    ## What it means

    The program was told to stop, and did.

    ## How we know

    It ended by SIGINT, or by a KeyboardInterrupt that nobody caught, or with the exit code 130 that stands for both.

    ## What to do

    Nothing, if it was you. If it seemed to hang, `crashcart why` says where it was.
    """
    error = next((each for each in errors or () if each.name == "KeyboardInterrupt" and each.thread is None), None)
    by_signal = ending.signal == signal.SIGINT or ending.exit_code == 128 + signal.SIGINT
    if not by_signal and error is None:
        return
    fact = (
        "a KeyboardInterrupt went uncaught"
        if error is not None
        else f"it ended by {ending.signal_name or 'exit code 130'}"
    )
    if ending.said is not None:
        fact = quote_line(ending.said)
    if ending.sent_by:
        fact += f"; the signal came from {ending.sent_by}"
    pid = program.pid if program is not None else None
    where = place(error.own_frame()) if error is not None else None
    yield Finding(
        Cause.INTERRUPTED,
        f"{who(program)} was interrupted",
        (fact,),
        ("run it again when you want it to finish; nothing is broken",),
        Confidence.CERTAIN if ending.said is None else Confidence.LIKELY,
        where or last_place(stacks, pid, ending),
    )
