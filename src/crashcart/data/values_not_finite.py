"""S112: values that are not finite."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.data._kinds import Words, found
from crashcart.finding import Cause, Finding
from crashcart.rule import Rank, rule
from crashcart.survey import Survey

KINDS = {
    "nan": Words(
        "hold NaN or infinite values",
        "holds NaN or infinite values",
        ("drop them: dataset.filter(lambda x, y: tf.reduce_all(tf.math.is_finite(x)))",),
        Cause.VALUE_RANGE,
    ),
}


@rule("S112", "values-not-finite", Rank.KIND)
def values_not_finite(survey: Survey) -> Iterator[Finding]:
    """Arrays, tables or sounds hold NaN or infinite values.

    ## What it means

    One NaN in a batch makes the loss NaN, and from then on every weight.

    ## How we know

    Every value of a floating type was looked at.

    ## What to do

    Replace or drop them: `np.nan_to_num`, `dataset.filter(lambda x, y: tf.reduce_all(tf.math.is_finite(x)))`; look
    where they come from, mostly a division by zero or an empty field.
    """
    yield from found(survey, KINDS)
