"""W210 forked-after-threads."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.evidence import Ending, ErrorRecord, Log
from crashcart.finding import Finding
from crashcart.rule import Rank, rule
from crashcart.why._said import Kind
from crashcart.why._statement import conclude
from crashcart.why._text import stated


@rule("W210", "forked-after-threads", Rank.KIND)
def forked_after_threads(
    errors: tuple[ErrorRecord, ...], log: Log | None = None, ending: Ending | None = None
) -> Iterator[Finding]:
    """The program forked after TensorFlow, CUDA or other threads had started, and the child cannot use them.

    ## What it means

    A fork copies the memory but only the one thread that called it. CUDA's context and TensorFlow's thread pools do not
    live in the child; it fails with "not initialized", or waits forever for a lock that nobody holds.

    ## How we know

    CUDA, the framework or the system says so in the child's messages. A warning about fork in a threaded process alone
    also stands in the logs of programs that end well.

    ## What to do

    Start worker processes with the method "spawn", or fork before the first use of the framework.
    """
    for statement in stated(Kind.FORK, errors, log, ending):
        yield conclude(
            statement,
            "a forked child used CUDA or TensorFlow that its parent had already started",
            (
                "start workers with spawn: multiprocessing.set_start_method('spawn') under `if __name__ =="
                " '__main__':`, or"
                " multiprocessing.get_context('spawn').Pool(...)",
                "create the processes first, and import and use TensorFlow or CUDA only inside them, never in"
                " the parent before the fork",
                "for input pipelines use tf.data with num_parallel_calls, or PyTorch's"
                " DataLoader(multiprocessing_context='spawn')",
            ),
        )
