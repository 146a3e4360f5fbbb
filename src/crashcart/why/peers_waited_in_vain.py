"""W509 peers-waited-in-vain."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.evidence import Ending, ErrorRecord, Log
from crashcart.finding import Finding
from crashcart.rule import Rank, rule
from crashcart.why._said import Kind
from crashcart.why._statement import conclude
from crashcart.why._text import stated


@rule("W509", "peers-waited-in-vain", Rank.KIND)
def peers_waited_in_vain(
    errors: tuple[ErrorRecord, ...], log: Log | None = None, ending: Ending | None = None
) -> Iterator[Finding]:
    """A watchdog gave up: processes that work together waited for one that did not come.

    ## What it means

    In distributed training every rank must reach the same collective operation. Where one is slower, skips it, has died
    or waits for data, the others wait until a timeout ends them. The one that waits longest is not the one at fault.

    ## How we know

    NCCL's, Gloo's or Horovod's own watchdog says that an operation timed out or stalled, or a cell's or worker's time
    limit was reached.

    ## What to do

    Find the rank that says something else, or nothing, before the others' timeout: its error is the cause.
    """
    for statement in stated(Kind.STALLED, errors, log, ending):
        yield conclude(
            statement,
            "it hung: a rank, worker or cell was waited for until the timeout",
            (
                "look at the other ranks' logs just before: the one that stopped, failed or took another branch is the cause",
                "`py-spy dump --pid PID` on each rank shows who is not in the collective; TORCH_DISTRIBUTED_DEBUG=DETAIL and"
                " NCCL_DEBUG=INFO name the operation",
                "if one rank is only slower (saving, evaluating, uneven data), raise the timeout:"
                " init_process_group(timeout=timedelta(hours=2))",
            ),
        )
