"""W116 functions-traced-again."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crashcart.evidence import Ending, ErrorRecord, Log
from crashcart.finding import Finding
from crashcart.rule import Rank, rule
from crashcart.why._said import Kind
from crashcart.why._statement import conclude
from crashcart.why._text import stated

_COUNT = re.compile(r"(\d{1,9}) out of the last (\d{1,9}) calls to <?(?:function )?([\w.<>]{1,120})")


@rule("W116", "functions-traced-again", Rank.ROOT)
def functions_traced_again(
    errors: tuple[ErrorRecord, ...], log: Log | None = None, ending: Ending | None = None
) -> Iterator[Finding]:
    """TensorFlow traced a function anew at nearly every call; each trace stays in memory.

    ## What it means

    A tf.function makes a graph for each new shape, type or Python value of its arguments, and a function that is defined
    inside a loop is a new one each time. Graphs are kept: memory grows step after step, and so does the time.

    ## How we know

    TensorFlow's own warning ("5 out of the last 5 calls … triggered tf.function retracing"). It stands in healthy logs
    as well, so it only makes a leak possible.

    ## What to do

    Define the function once, outside the loop; give `input_signature` with None for what varies, or pad to few shapes;
    pass tensors instead of Python numbers.
    """
    for statement in stated(Kind.RETRACED, errors, log, ending):
        match = _COUNT.search(statement.words)
        inner = bool(match and "<locals>" in match[3])
        facts = [f"{match[1]} of the last {match[2]} calls of {match[3]} made a new graph"] if match else []
        if inner:
            facts.append("<locals> in its name: the function is defined anew inside another one")
        yield conclude(
            statement,
            "a tf.function is traced again and again, and every trace stays in memory",
            (
                "define the function once, outside the loop and outside the method that is called for each step",
                "stop the retracing: `@tf.function(input_signature=[tf.TensorSpec([None, …])])` or `reduce_retracing=True`; pad"
                " batches to one shape, pass tensors instead of Python numbers",
                "if the program was killed, `crashcart run` shows whether memory grew with each step",
            ),
            *facts,
        )
