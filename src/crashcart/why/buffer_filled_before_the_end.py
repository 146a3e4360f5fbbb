"""W117 buffer-filled-before-the-end."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crashcart.evidence import Ending, ErrorRecord, Log, LogLine
from crashcart.finding import Cause, Confidence, Finding
from crashcart.rule import Rank, rule
from crashcart.why._kill import was_killed
from crashcart.why._said import Kind
from crashcart.why._statement import quote_line
from crashcart.why._text import stated

_BUFFER = re.compile(r"Filling up shuffle buffer|Shuffle buffer filled")
_PROGRESS = re.compile(r"(\d{1,12}) of (\d{1,12})")
NEAR_LINES = 30
"""A buffer that was filled longer ago has been paid for; what came after it needed the memory."""


@rule("W117", "buffer-filled-before-the-end", Rank.ROOT)
def buffer_filled_before_the_end(
    log: Log, ending: Ending | None = None, errors: tuple[ErrorRecord, ...] | None = None
) -> Iterator[Finding]:
    """A log shows a shuffle buffer being filled right before memory ran out.

    ## What it means

    `shuffle(n)` holds n elements as they are at that point of the pipeline: decoded images, where it comes after the
    decoding. TensorFlow says so only when it takes long, and then the buffer is large.

    ## How we know

    "Filling up shuffle buffer" (or "Shuffle buffer filled") is among the last lines before the kill, or before an
    allocation in RAM was refused. A recorded run is judged by its own figures instead.

    ## What to do

    Shuffle file names or records before they are decoded, or make the buffer smaller.
    """
    end = _end(log, ending, errors or ())
    if end is None:
        return
    near = [line for line in log.lines if _BUFFER.search(line.text) and 0 <= end.number - line.number <= NEAR_LINES]
    if not near:
        return
    counted = [match for line in near if (match := _PROGRESS.search(line.text))]
    size = f" of {counted[-1][2]} elements" if counted else ""
    yield Finding(
        Cause.PIPELINE_MEMORY,
        f"memory ran out while a shuffle buffer{size} was being filled",
        (quote_line(near[-1]), quote_line(end)),
        (
            "shuffle before decoding, while elements are small (file names, serialized records), or with a smaller buffer:"
            f" `shuffle({_smaller(counted)})`",
            "bound the rest: `prefetch(1)`, `num_parallel_calls=2`, and `tf.data.Options().autotune.ram_budget`",
        ),
        Confidence.LIKELY,
    )


def _end(log: Log, ending: Ending | None, errors: tuple[ErrorRecord, ...]) -> LogLine | None:
    """The line of the kill or of the refusal, in a log that was handed in."""
    if ending is not None and ending.said is not None and was_killed(ending):
        return ending.said
    for statement in stated(Kind.HOST_MEMORY, errors, log, ending):
        number = statement.said.error.line_number if statement.said.error else None
        at_error = next((line for line in log.lines if line.number == number), None)
        if statement.confidence is not Confidence.POSSIBLE:
            return statement.said.line or at_error
    return None


def _smaller(counted: list[re.Match[str]]) -> int:
    return max(1, min(1000, int(counted[-1][2]) // 8)) if counted else 1000
