"""W108 constant-too-large-for-graph."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.evidence import Ending, ErrorRecord, Log
from crashcart.finding import Finding
from crashcart.rule import Rank, rule
from crashcart.why._said import Kind
from crashcart.why._statement import conclude
from crashcart.why._text import stated


@rule("W108", "constant-too-large-for-graph", Rank.KIND)
def constant_too_large_for_graph(
    errors: tuple[ErrorRecord, ...], log: Log | None = None, ending: Ending | None = None
) -> Iterator[Finding]:
    """An array was baked into the graph, and a graph may not be larger than 2 GB.

    ## What it means

    A graph is a protocol buffer, which cannot be larger than 2 GB. An array that is used inside a tf.function, handed
    to tf.constant in graph mode, or captured by a dataset's function becomes a constant of that graph, with all its
    bytes.

    ## How we know

    The message names the 2 GB limit of the protocol buffer. The machine's memory has no part in it.

    ## What to do

    Hand the array to the function as an argument, or read the data from files; a constant is for small things.
    """
    for statement in stated(Kind.CONSTANT, errors, log, ending):
        yield conclude(
            statement,
            "an array was baked into the graph, which may not be larger than 2 GB",
            (
                "hand the array to the tf.function as an argument instead of using the global one inside it",
                "feed the data from files: a tf.data.Dataset over TFRecord files, or Dataset.from_generator over"
                " np.load(..., mmap_mode='r')",
                "TensorFlow 1: a placeholder that is fed at run time, or a tf.Variable initialised from one,"
                " instead of tf.constant",
                "keep large lookup tables in a tf.Variable outside the function",
            ),
        )
