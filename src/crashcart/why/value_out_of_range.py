"""W303 value-out-of-range."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crashcart.evidence import Ending, ErrorRecord, Log
from crashcart.finding import Finding
from crashcart.rule import Rank, rule
from crashcart.why._advice import Advice, advice, advise
from crashcart.why._said import Kind
from crashcart.why._statement import Statement, conclude, first_sentence, quote_line
from crashcart.why._text import stated

_SMALLEST = ("-2147483648", "-9223372036854775808")
_ADVICE: tuple[Advice, ...] = (
    advice(
        r"label value of (?P<have>-?\d+).{0,60}range of \[0, ?(?P<count>\d+)\)",
        "a label is {have}, but the model has {count} outputs: labels run from 0 and must be below {count}",
        "give the last layer as many units as there are classes, or see why a label is {have}: print np.unique(y)",
        "number the labels from 0: class names or 1-based labels need a mapping",
    ),
    advice(
        r"indices\S* = \S*?(?P<have>-?\d+)\]? is not in \[0, ?(?P<count>\d+)\)",
        "an index is {have}, but the table has {count} rows",
        "make the table large enough: Embedding(input_dim = largest index + 1); vocabulary sizes must count padding"
        " and unknown tokens",
        "find the token, label or index that is {have}: np.max(x), np.min(x)",
    ),
    advice(
        r"should be in vocabulary|oov values?",
        "a word or id is not in the vocabulary, and no place is kept for unknown ones",
        "keep a place for them: num_oov_indices=1 (StringLookup, IntegerLookup), and count it in the Embedding's input_dim",
        "build the vocabulary from all data (`adapt`), and compare spelling, case and spaces of the value in the message",
    ),
    advice(
        r"= \[(?P<have>[-\d, ]+)\] does not index into (?:param )?shape \[(?P<count>[\d, ]+)\]",
        "the index [{have}] is outside a tensor of shape [{count}]",
        "each index must be 0 to size − 1 of its axis: print the largest and smallest of the indices",
        "see which index comes first: gather_nd and scatter_nd take rows before columns",
    ),
    advice(
        r"nan|infinity|\binfs?\b|non-finite",
        "a tensor holds NaN or infinity",
        "look at the data first: np.isnan(x).any(), np.isinf(x).any(); then normalise the inputs",
        "lower the learning rate, and clip gradients: Adam(1e-4, clipnorm=1.0)",
        "guard logarithms and divisions: tf.math.log(x + 1e-7), tf.math.divide_no_nan; find the op with"
        " tf.debugging.enable_check_numerics()",
    ),
    advice(
        r"srcindex|index out of range in self|indexselect|index >= -sizes|embedding|vocabulary|token",
        "an index is outside the table that it looks into (an embedding or a gather)",
        "compare the largest index or token id with the size of the embedding: x.max() < vocab size",
        "run once on the CPU, or with CUDA_LAUNCH_BLOCKING=1, to see the exact line and value",
    ),
    advice(
        r"n_classes|target -?\d+ is out|device-side assert|nllloss|classnll|class",
        "a label is outside the range of classes",
        "labels must be 0 to classes − 1: print y.min(), y.max(), and give the last layer that many outputs",
        "an index into an embedding that is too large gives the same message: compare it with the vocabulary size",
        "run once on the CPU, or with CUDA_LAUNCH_BLOCKING=1, to see the exact line and value",
    ),
    advice(
        r"between 0 and 1|input_val|predictions must",
        "a probability is outside 0 to 1",
        "put a sigmoid at the output, or use the loss that takes logits (from_logits=True, BCEWithLogitsLoss)",
        "scale the targets to 0…1, and look for NaN",
    ),
    advice(
        r"index (?P<have>-?\d+) is out of bounds for (?:axis|dimension) (?P<axis>\d+) with size (?P<count>\d+)",
        "index {have} is outside axis {axis}, which has {count} entries",
        "indices and class numbers run from 0 and must be below {count}: look for 1-based labels, and for a"
        " num_classes that is too small",
        "print the largest index just before the named line",
    ),
    advice(
        r"",
        "",
        "print the smallest and largest value (label, index, probability) just before the named line",
        "compare it with the size that the message names: classes, vocabulary, length",
    ),
)


@rule("W303", "value-out-of-range", Rank.KIND)
def value_out_of_range(
    errors: tuple[ErrorRecord, ...], log: Log | None = None, ending: Ending | None = None
) -> Iterator[Finding]:
    """A label, class, index or vocabulary id is outside its range, or is NaN.

    ## What it means

    Losses count classes from 0, tables are looked up by row number, probabilities lie between 0 and 1. A value of the
    data lies outside. On a GPU the same fault reads "device-side assert triggered", often at a later line.

    ## How we know

    The message states the value and the valid range, or the assertion of the kernel that failed.

    ## What to do

    Look at the smallest and largest values of the labels and indices; mostly the last layer has too few units, the
    vocabulary is too small, or labels begin at 1.
    """
    for statement in stated(Kind.VALUE, errors, log, ending):
        row = advise(_ADVICE, statement.said.text)
        headline = row.headline or f"a value is out of range: {first_sentence(statement.words)}"
        cast_nan = any(each in statement.words for each in _SMALLEST)
        extra = (
            ("a label of −2³¹ is a NaN that was cast: look for NaN before the cast, and normalise",) if cast_nan else ()
        )
        yield conclude(statement, headline, (*extra, *row.remedy), *_warnings(statement, log, cast_nan))


def _warnings(statement: Statement, log: Log | None, cast_nan: bool) -> Iterator[str]:
    """Where a NaN arose, NumPy mostly said so before."""
    if not cast_nan and "nan" not in statement.said.folded:
        return
    for line in log.lines if log else ():
        if re.search(r"RuntimeWarning: (?:invalid value|divide by zero|overflow)", line.text):
            yield f"before it, {quote_line(line)}"
            return
