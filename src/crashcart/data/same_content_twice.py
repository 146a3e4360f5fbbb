"""S115: files with the same content."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.finding import Cause, Confidence, Finding, Level
from crashcart.rule import Rank, rule
from crashcart.survey import Duplicates, SameContent, Survey
from crashcart.units import plural, size


@rule("S115", "same-content-twice", Rank.KIND)
def same_content_twice(survey: Survey) -> Iterator[Finding]:
    """Files have the same content, byte for byte.

    ## What it means

    Nothing fails of it. An example that is there twice counts twice; one that is in the training part and in the test
    part makes the test look better than the model is. Text and files of a few bytes are another matter: labels, notes and
    empty masks are alike without being the same example. They are noted, and are no leak.

    ## How we know

    Files of the same size and the same cheap mark were read again as a whole, and their digests (BLAKE2) compared.

    ## What to do

    Where a group of pictures, sounds, arrays or records lies in train and test, take it out of the test part. Else keep one of
    each, if one is enough. Leave labels and notes where they are: each belongs to its own example.
    """
    same = survey.duplicates
    if same is None or not same.groups:
        return
    yield Finding(
        Cause.DATA_CORRUPT,
        _headline(same),
        tuple(_because(same)),
        tuple(_remedies(same)),
        Confidence.CERTAIN,
        level=Level.RISK if same.leaking_groups else Level.NOTE,
    )


def _headline(same: Duplicates) -> str:
    what = " of text, or of a few bytes," if same.plain_groups == same.groups else ""
    copies = plural(same.spare_files, f"file{what} is a copy", f"files{what} are copies")
    return f"{copies} of another" + (_leak(same) if same.leaking_groups else "")


def _remedies(same: Duplicates) -> Iterator[str]:
    if same.leaking_groups:
        yield "keep one of each; where a group lies in train and test, take it out of the test part"
    elif same.groups > same.plain_groups:
        yield "keep one of each"
    if same.plain_groups:
        yield "leave text and files of a few bytes where they are: labels and notes are often alike, and no example twice"
    yield "`--out bad.jsonl` lists them"


def _leak(same: Duplicates) -> str:
    parts = " and ".join(same.examples[0].splits) if same.examples else "several parts of the data set"
    return f"; {plural(same.leaking_groups, 'group lies', 'groups lie')} in {parts}"


def _because(same: Duplicates) -> Iterator[str]:
    yield f"{plural(same.groups, 'group')} of the same content, {size(same.spare_bytes)} more than needed"
    yield from (_group(each) for each in same.examples[:3])
    if same.unread_files:
        yield f"{plural(same.unread_files, 'file')} could not be read a second time to make sure"


def _group(same: SameContent) -> str:
    parts = f" (in {' and '.join(same.splits)})" if same.splits else ""
    more = f" and {same.files - len(same.examples):,} more" if same.files > len(same.examples) else ""
    return f"{plural(same.files, 'file')} of {size(same.bytes)}{parts}: {', '.join(each.path for each in same.examples)}{more}"
