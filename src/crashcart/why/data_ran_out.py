"""W403 data-ran-out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from crashcart.evidence import Ending, ErrorRecord, Log, place
from crashcart.finding import Confidence, Finding, Where
from crashcart.rule import Rank, rule
from crashcart.why._said import Force, Kind, own_frame
from crashcart.why._statement import Statement, conclude
from crashcart.why._text import main_error, stated

_BATCHES = re.compile(r"in this case, (\d+) batches")
_EMPTY = re.compile(r"non-empty|unexpected result|variable 'logs'|current size 0")

_NO_BATCH = "a batch larger than the data gives none with drop_remainder=True: make it smaller, or keep the remainder"


@rule("W403", "data-ran-out", Rank.KIND)
def data_ran_out(
    errors: tuple[ErrorRecord, ...], log: Log | None = None, ending: Ending | None = None
) -> Iterator[Finding]:
    """The input ended before the requested number of steps.

    ## What it means

    A dataset or generator yields each element once unless it is repeated. The loop, or `steps_per_epoch` times
    `epochs`, asked for more. A dataset that is smaller than one batch yields nothing at all.

    ## How we know

    The iterator raised OutOfRange or StopIteration into the program. Keras's warning that the input ran out of data
    only stops the training early; the program goes on, so alone it is merely possible. Where the next line then finds
    no loss in the history, the input gave no batch at all.

    ## What to do

    Repeat the dataset, or ask for as many steps as it has.
    """
    for statement in stated(Kind.RAN_OUT, errors, log, ending):
        statement = _with_its_consequence(statement, main_error(errors))
        batches = _BATCHES.search(statement.words)
        nothing = _EMPTY.search(statement.said.folded) or (statement.main and statement.force is Force.HEALTHY)
        if nothing:
            headline = "the input gave no batch at all: it is empty, or smaller than one batch"
        elif batches:
            headline = f"the input ended before the {batches[1]} batches that were asked for"
        else:
            headline = "the input ended before the requested steps"
        note = (
            ("training was interrupted, not crashed: the program went on after it",)
            if statement.force is Force.HEALTHY and statement.main is None
            else ()
        )
        finding = conclude(
            statement,
            headline,
            (
                *([_NO_BATCH] if nothing else []),
                "repeat the input: dataset.repeat(), with steps_per_epoch set; or leave steps_per_epoch out, so"
                " that an epoch is one pass",
                "ask for what is there: steps = samples // batch_size; len(dataset) or dataset.cardinality() tells",
                "iterate with `for x in dataset:`, which ends by itself, instead of next(iterator)",
                "see that the files were found and that filters leave something: sum(1 for _ in dataset)",
            ),
            *note,
        )
        yield replace(finding, where=_asking_line(statement) or finding.where)


def _with_its_consequence(statement: Statement, main: ErrorRecord | None) -> Statement:
    """Keras only warns where the input was empty, and leaves a history without entries: the next line that asks for the
    loss fails, and does not say why."""
    call = own_frame(main.frames) if main is not None and main.name in ("KeyError", "IndexError") else None
    if statement.force is not Force.HEALTHY or call is None or ".history" not in (call.source or ""):
        return statement
    return replace(statement, main=main, confidence=Confidence.LIKELY)


def _asking_line(statement: Statement) -> Where | None:
    """The line that asked once too often. In a TF 1 graph the node was made elsewhere, which is no fault of its own."""
    message, main = statement.said.message, statement.main
    call = own_frame(main.frames) if main else None
    if (
        call is None
        or message is None
        or any((call.file, call.line) == (each.file, each.line) for each in message.told)
    ):
        return None
    return place(call, op=statement.op)
