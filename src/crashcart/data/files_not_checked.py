"""S116: files that were not checked, and why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from crashcart.data._kinds import Words, found
from crashcart.finding import Cause, Confidence, Finding, Level
from crashcart.rule import Rank, rule
from crashcart.survey import Survey
from crashcart.units import plural

KINDS = {
    "unknown-format": Words(
        "are of no format that is checked", "is of no format that is checked",
        ("nothing, where training does not read them: notes, programs, licences",), Cause.UNKNOWN,
    ),
    "not-checked": Words(
        "could not be checked", "could not be checked",
        ("convert them, where training reads them; where a process was killed, `--workers 1` takes less memory",),
        Cause.UNKNOWN,
    ),
    "no-library": Words(
        "need a library that is not here", "needs a library that is not here",
        ("pip install 'crashcart[data]' brings the libraries",), Cause.UNKNOWN,
    ),
    "encrypted": Words("need a password", "needs a password", ("unpack them, then check the folder",), Cause.UNKNOWN),
    "not-fetched": Words(
        "could not be fetched", "could not be fetched",
        ("the same command again fetches these alone", "look at the network, the credentials and the limits of the server"),
        Cause.UNKNOWN,
    ),
}  # fmt: skip


@rule("S116", "files-not-checked", Rank.KIND)
def files_not_checked(survey: Survey) -> Iterator[Finding]:
    """Files were not checked, or not as a whole.

    ## What it means

    Nothing is known of them: they are not called sound, and they are not in the list of good files. A run that was
    interrupted has looked at a part of the data set only. Labels that `--classes` or `--label` asked for, and that no file
    has, are not checked either: a name may be misspelt, or the table has no names of columns.

    ## How we know

    Every file that is found is counted, whether it is opened or not.

    ## What to do

    Nothing, where training does not read them. Install the library, where the finding names one; go on with an interrupted
    run by the same command: what is done is kept. `--label NAME` says where labels are; `--label 3` takes the third column
    of a table.
    """
    yield from found(survey, {kind: words for kind, words in KINDS.items() if kind != "not-fetched"})
    for each in found(survey, {"not-fetched": KINDS["not-fetched"]}):  # it was asked for, and may be anything
        yield replace(each, level=Level.RISK)
    if survey.interrupted:
        yield _interrupted(survey)
    if survey.labels_missed:
        yield _labels_missed(survey)
    for passed in survey.passed:
        yield Finding(
            Cause.UNKNOWN,
            f"{passed.reason}: {passed.count:,} not looked into",
            passed.examples or (f"{passed.count:,} of them",),
            (_about(passed.reason),),
            Confidence.CERTAIN,
            level=Level.NOTE,
        )


def _about(reason: str) -> str:
    if "hidden" in reason:
        return "`--hidden` looks into them, too"
    if "links back" in reason:
        return "nothing, where training does not follow links; a program that does reads every file again and again"
    return "nothing: they are counted once"


def _labels_missed(survey: Survey) -> Finding:
    asked = [f"--classes {survey.classes}"] if survey.classes is not None else []
    asked += [f"--label {survey.label}"] if survey.label is not None else []
    name = "a usual name (label, class, target, y …)" if survey.label is None else f"the name {survey.label!r}"
    quick = ("without `--quick`: it does not read the labels of records, arrays and columns",) if survey.quick else ()
    return Finding(
        Cause.UNKNOWN,
        f"no label was found: {' and '.join(asked)} could not be checked",
        (f"in {plural(survey.files, 'file')}, no feature, column, key or array by {name} holds whole numbers",),
        (
            *quick,
            "`--label NAME` says which one holds them",
            "in a table without names of columns, `--label 3` takes the third",
        ),
        Confidence.CERTAIN,
        level=Level.RISK,
    )


def _interrupted(survey: Survey) -> Finding:
    found_so_far = (
        f"{plural(survey.pending_files, 'file')} that were found had not been checked" if survey.pending_files else ""
    )
    done = f"{plural(survey.files, 'file was', 'files were')} checked"
    return Finding(
        Cause.INTERRUPTED,
        "the check could not go on to its end" if survey.stopped else "the check was interrupted before its end",
        tuple(each for each in (survey.stopped, done, found_so_far) if each),
        ("the same command again goes on from there",),
        Confidence.CERTAIN,
        level=Level.RISK,
    )
