"""W204 recursion-without-end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from crashcart.evidence import Ending, ErrorRecord, Frame, Log, place
from crashcart.finding import Finding, Where
from crashcart.rule import Rank, rule
from crashcart.why._said import Kind
from crashcart.why._statement import conclude
from crashcart.why._text import stated


@rule("W204", "recursion-without-end", Rank.KIND)
def recursion_without_end(
    errors: tuple[ErrorRecord, ...], log: Log | None = None, ending: Ending | None = None
) -> Iterator[Finding]:
    """A function called itself, directly or through others, until the stack was used up.

    ## What it means

    Python stops at a depth of 1000 calls with RecursionError. Mostly the recursion has no end (a property that reads
    itself, `__getattr__` without a base case, a structure that contains itself); rarely it is just deep.

    ## How we know

    The exception states it, and its frames repeat the same function.

    ## What to do

    Give the recursion an end at the named function. Raising the limit turns the exception into a crash without one.
    """
    for statement in stated(Kind.RECURSION, errors, log, ending):
        calls = Counter((frame.function, frame.file) for frame in statement.said.frames)
        function = calls.most_common(1)[0][0][0] if calls else None
        finding = conclude(
            statement,
            f"{function} called itself without end" if function else "a function called itself without end",
            (
                f"give {function or 'the recursion'} a case in which it does not call itself, or write it as a loop",
                "look for a property or __getattr__ that reads itself, and for objects that contain themselves",
                "if it is really that deep: a loop with an explicit list; sys.setrecursionlimit alone ends in a"
                " segmentation fault",
            ),
            *(
                [f"{calls.most_common(1)[0][1]} of the {len(statement.said.frames)} frames shown are {function}"]
                if calls
                else []
            ),
        )
        yield replace(finding, where=_repeated_place(statement.said.frames) or finding.where)


def _repeated_place(frames: tuple[Frame, ...]) -> Where | None:
    """The own line that repeats the most: it makes the call; the innermost line is only where the count ran out."""
    lines = Counter((frame.file, frame.line) for frame in frames if frame.own)
    if not lines:
        return None
    most = lines.most_common(1)[0][0]
    return place(next(frame for frame in frames if (frame.file, frame.line) == most))
