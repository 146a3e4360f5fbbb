"""S106: content of another format than the name says."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.data._kinds import Words, found
from crashcart.finding import Finding
from crashcart.rule import Rank, rule
from crashcart.survey import Survey

KINDS = {
    "wrong-extension": Words(
        "are of another format than their names say",
        "is of another format than its name says",
        ("rename them, or fetch them again: a web page in place of a picture is an error message",),
    ),
    "not-for-tensorflow": Words(
        "are sound, but not for TensorFlow",
        "is sound, but not for TensorFlow",
        (
            "convert pictures to a plain JPEG or PNG, sound to WAV of 16 bits",
            "until then they are in no list of good files, and are not moved either",
        ),
    ),
}


@rule("S106", "content-of-another-format", Rank.KIND)
def content_of_another_format(survey: Survey) -> Iterator[Finding]:
    """The content is of another format than the name says, or one that TensorFlow does not know.

    ## What it means

    A web page with an error message saved as .jpg, a PNG that was renamed, a WebP from a download. Where code goes by
    the name it calls the wrong decoder, or TensorFlow has none: InvalidArgumentError, unknown image file format.
    A picture that only TensorFlow does not know (TIFF, a bitmap of one bit) is whole, and no damage: `--quarantine` leaves
    it where it is. It is not good either: `--good` does not list it.

    ## How we know

    The first bytes of each file say what it is; they were compared with the end of its name.

    ## What to do

    Rename the files where only the name is wrong; convert those that TensorFlow does not know (`python -m PIL` or
    `mogrify`).
    """
    yield from found(survey, KINDS)
