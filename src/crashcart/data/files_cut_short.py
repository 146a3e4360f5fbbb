"""S103: files that end before their content does."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.data._kinds import Words, found
from crashcart.finding import Finding
from crashcart.rule import Rank, rule
from crashcart.survey import Survey

KINDS = {
    "truncated": Words("end too early", "ends too early", ("fetch or write them again",)),
    "zero-filled": Words(
        "have a stretch of zeros", "has a stretch of zeros", ("fetch them again: a download or a crash left holes",)
    ),
}


@rule("S103", "files-cut-short", Rank.KIND)
def files_cut_short(survey: Survey) -> Iterator[Finding]:
    """Files end before their content does, or have a stretch of zeros where content should be.

    ## What it means

    A download, a copy or a writer was interrupted, or the machine went down before the content was on disk.
    TensorFlow reports DataLossError for records; a JPEG decoder may fill the missing part with grey and say nothing.

    ## How we know

    Every file was read to its end, and its own lengths and marks of the end were compared with what is there. A stretch
    of zeros is told where no content of that format holds one; in a JPEG, where by the tables of the file zeros would
    be blocks of equal coefficients. Flat areas, which are zeros in many files, are not accused.

    ## What to do

    Fetch or write them again. Writers of TFRecord files must be closed (`with tf.io.TFRecordWriter(…)`).
    """
    yield from found(survey, KINDS)
