"""W302 types-do-not-fit."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.evidence import Ending, ErrorRecord, Log
from crashcart.finding import Finding
from crashcart.rule import Rank, rule
from crashcart.why._advice import Advice, advice, advise
from crashcart.why._said import Kind
from crashcart.why._statement import conclude, first_sentence
from crashcart.why._text import stated

_ADVICE: tuple[Advice, ...] = (
    advice(
        r"was expected to be a (?P<want>\w+) tensor but is a (?P<have>\w+) tensor",
        "an operation was given {have} where it needs {want}",
        "convert one side: tf.cast(x, tf.float32), or give constants the right type from the start (1.0 instead of 1)",
        "NumPy makes float64 and int64 by default: .astype('float32') where the array is made",
    ),
    advice(
        r"type (?P<have>\w+) that does not match type (?P<want>\w+) of argument",
        "an operation was given {have} and {want} together",
        "convert one side: tf.cast(x, other.dtype)",
        "with mixed precision, let the layer compute in its own type: tf.cast(x, self.compute_dtype)",
    ),
    advice(
        r"unsupported object type|invalid dtype: object|numpy\.object_|mixed types|unsupported type",
        "an array of Python objects cannot become a tensor",
        "give the array one type: np.asarray(x, dtype='float32'); if that fails, rows have different lengths or"
        " hold None or strings",
        "for a DataFrame: df.dtypes shows the object columns; encode or drop them, then .to_numpy('float32')",
    ),
    advice(
        r"convert string|invalid dtype: str|to float is not supported",
        "text was given where numbers are needed",
        "encode the text columns first: pd.get_dummies, tf.keras.layers.StringLookup, or"
        " pd.to_numeric(errors='coerce') to find bad cells",
        "see which column it is: df.dtypes",
    ),
    advice(
        r"should be the same|scalar type|not implemented for|same dtype",
        "",
        "convert one side: x = x.float(), model.half() only together with half inputs, labels as .long() for class"
        " losses",
        "print x.dtype and next(model.parameters()).dtype just before the named line",
    ),
    advice(
        r"generator|yielded",
        "the generator yields another type than its signature says",
        "yield np.asarray(x, dtype=...) of the type in output_signature, or correct the signature",
    ),
    advice(
        r"",
        "",
        "convert one side where the two meet: tf.cast(x, other.dtype) or .astype(...)",
        "print both dtypes just before the named line",
    ),
)


@rule("W302", "types-do-not-fit", Rank.KIND)
def types_do_not_fit(
    errors: tuple[ErrorRecord, ...], log: Log | None = None, ending: Ending | None = None
) -> Iterator[Finding]:
    """The element types of two tensors, or of data and operation, do not fit.

    ## What it means

    TensorFlow and PyTorch do not convert types by themselves: float64 from NumPy against float32 weights, integers
    against floats, text or Python objects where numbers are needed.

    ## How we know

    The exception states the type that was expected and the one that came.

    ## What to do

    Convert one side at the named line, or better where the data is made.
    """
    for statement in stated(Kind.TYPES, errors, log, ending):
        row = advise(_ADVICE, statement.said.text)
        headline = row.headline or f"types do not fit: {first_sentence(statement.words)}"
        place = f" ({statement.op})" if statement.op and row.headline else ""
        yield conclude(statement, headline + place, row.remedy)
