"""S109: rows that do not fit the table."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.data._differ import differing
from crashcart.data._kinds import Words, found
from crashcart.finding import Cause, Finding
from crashcart.rule import Rank, rule
from crashcart.survey import Survey

KINDS = {
    "row-width": Words(
        "have rows of different widths",
        "has rows of different widths",
        ("quote fields that hold the separator or a line break",),
        Cause.SHAPE_MISMATCH,
    ),
    "column-type": Words(
        "have text among numbers",
        "has text among numbers",
        ("give the column a default and clean it, or read it as text",),
        Cause.DTYPE_MISMATCH,
    ),
    "bad-json": Words(
        "have lines that are not JSON", "has lines that are not JSON", ("write each object on one line of its own",)
    ),
    "empty-line": Words(
        "have empty lines", "has empty lines", ("drop them: dataset.filter(lambda line: tf.strings.length(line) > 0)",)
    ),
}
FAMILIES = frozenset(("csv", "tsv", "jsonl", "parquet", "arrow", "feather"))


@rule("S109", "rows-unlike-the-others", Rank.KIND)
def rows_unlike_the_others(survey: Survey) -> Iterator[Finding]:
    """Rows or lines do not fit the rest of their table.

    ## What it means

    tf.data.experimental.make_csv_dataset and CsvDataset fail on a row with another number of fields, or with text in
    a column of numbers; a line that is not JSON fails where it is parsed.

    ## How we know

    Every row was read, its fields were counted, and its values were compared with the type of their column.

    ## What to do

    Look at the first such row, which the finding names: mostly a separator or a line break inside of a field without
    quotation marks, or two files joined.
    """
    yield from found(survey, KINDS)
    yield from differing(survey, FAMILIES, "read the two kinds apart, or write them again with the same columns")
