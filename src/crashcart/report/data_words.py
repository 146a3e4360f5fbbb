"""The words on a data set that all forms of its report share.

Covers: the headline, what was checked and how fast, what to type next.
Does not cover: findings, which say their own words; layout (`data.py`, the templates).
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import Any

from crashcart.finding import Report
from crashcart.sound import DAMAGE
from crashcart.survey import Survey
from crashcart.units import duration, plural, size

_MOST_FORMATS = 8
_LEAST_FOR_A_RATE = 100
"""Of fewer files, the time is that of the start."""


_NOT_DECODED = (
    ("pixels", ("jpeg", "png", "gif", "bmp", "webp", "tiff", "avif")),
    ("what records hold", ("tfrecord", "zlib")),
    ("values of arrays", ("npy", "npz", "hdf5")),
    ("columns", ("parquet", "arrow", "arrow-stream", "feather")),
    ("samples of sound", ("wav", "flac")),
    ("text after its beginning, in files beyond 1 MiB", ("text", "csv", "tsv", "json", "jsonl", "html")),
    ("members of archives to their ends", ("zip", "tar")),
)
"""What a quick check passes over, by format."""


def headline(survey: Survey) -> str:
    """`2 of 100,000 files are damaged`."""
    quick = " (quick check: structure alone)" if survey.quick else ""
    return f"{_verdict(survey)}{quick}{'; labels were not checked' if survey.labels_missed else ''}"


def not_decoded(survey: Survey) -> list[str]:
    """What nobody looked at in a quick check, as far as there are such files; nothing where all was read."""
    if not survey.quick:
        return []
    return [what for what, formats in _NOT_DECODED if any(each in survey.formats for each in formats)]


def quick(survey: Survey) -> str:
    """What a quick check is worth; empty where all was read."""
    if not survey.quick:
        return ""
    passed = ", ".join(not_decoded(survey))
    return "headers, markers, lengths and checksums" + (f"; not decoded: {passed}" if passed else "")


def _verdict(survey: Survey) -> str:
    files = plural_files(survey.files)
    if survey.interrupted:
        ended = "stopped" if survey.stopped else "interrupted"
        return f"{ended} after {files}: {survey.damaged_files:,} damaged so far"
    if survey.damaged_files:
        return f"{survey.damaged_files:,} of {files} {'is' if survey.damaged_files == 1 else 'are'} damaged"
    whole = survey.good_files + survey.foreign_files
    if not whole:
        return f"none of {files} could be checked"
    if survey.files == 1:
        return "1 file is sound" + (
            ", but not for TensorFlow" if survey.foreign_files else ", and odd" if survey.odd_files else ""
        )
    some = f"{whole:,} of {files} are sound" if survey.unchecked_files else f"all {files} are sound"
    return f"{some}{_but(survey)}"


def _but(survey: Survey) -> str:
    """What is to be said of sound files, and how many others there are."""
    counts = ((survey.odd_files, "odd"), (survey.foreign_files, "not for TensorFlow"))
    some = [f"{count:,} of them {what}" for count, what in counts if count]
    if survey.unchecked_files:
        some.append(f"{survey.unchecked_files:,} could not be checked")
    return "".join(f", {each}" for each in some)


def plural_files(count: int) -> str:
    """`1 file`, `100,000 files`."""
    return f"{count:,} file" if count == 1 else f"{count:,} files"


def counted(survey: Survey) -> str:
    """What was read: sizes, formats."""
    formats = list(survey.formats.items())
    shown = [f"{name} {count:,}" for name, count in formats[:_MOST_FORMATS]]
    if len(formats) > _MOST_FORMATS:
        shown.append(f"{len(formats) - _MOST_FORMATS} more formats")
    return " · ".join([size(survey.bytes), *shown])


def pace(survey: Survey) -> str:
    """How long it took, and what was known before."""
    parts = []
    if survey.seconds is not None:
        new = survey.files - survey.known_files
        rate = f", {new / survey.seconds:,.0f} files/s" if survey.seconds > 0 and new >= _LEAST_FOR_A_RATE else ""
        processes = f", {plural(survey.workers, 'process', 'processes')} at most" if survey.workers else ""
        parts.append(f"{duration(survey.seconds)}{rate}{processes}")
    if survey.known_files:
        parts.append(f"{survey.known_files:,} known from an earlier run (--fresh checks them again)")
    return "; ".join(parts)


def labels(survey: Survey) -> str:
    """The range of the labels; empty where none were seen."""
    if survey.label_low is None or survey.label_high is None:
        return ""
    return f"{survey.label_low:g} … {survey.label_high:g} in {plural_files(survey.label_files)}"


def restarts(survey: Survey) -> list[str]:
    """Processes that ended, and no file was to blame."""
    if not survey.restarted:
        return []
    ended = plural(survey.restarted, "process", "processes")
    first = f"{ended} ended in the middle, and no file was to blame: all were checked again"
    return [first, *(f"{each.path or 'between files'}: {each.how}" for each in survey.restarts[:2])]


def written(report: Report) -> Iterator[str]:
    """The lists and moves that were asked for."""
    out, good, moved = (report.figures.get(name) for name in ("out", "good", "quarantine"))
    if out:
        yield f"{out['file']}: {plural(out['lines'], 'fault')}{_partly(out)}"
    if good:
        left_out = good["left_out"]
        more = f"; {left_out:,} names with a line break are left out: --good FILE.jsonl holds them" if left_out else ""
        foreign = report.figures.get("foreign_files", 0)
        more += f"; {plural_files(foreign)} that TensorFlow does not read: not in it" if foreign else ""
        yield f"{good['file']}: {good['lines']:,} good files{_partly(good)}{more}"
    if moved:
        yield from _moved(moved)


def _partly(written: dict[str, Any]) -> str:
    """What is to be said of a list that is not whole."""
    if not written.get("partial"):
        return ""
    return " so far: the run did not come to its end, and a list of an earlier run stays as it was"


def _moved(moved: dict[str, Any]) -> Iterator[str]:
    folder = moved["folder"]
    yield f"{folder}: {plural(moved['files'], 'file')} moved; back again: crashcart data --undo {shlex.quote(folder)}"
    for each in moved["stayed"][:3]:
        yield f"{each['path']} stays: {each['reason']}"
    if moved["stayed_files"] > 3:
        yield f"and {moved['stayed_files'] - 3:,} more stay"


def following(report: Report, survey: Survey) -> Iterator[str]:
    """What to type next."""
    if survey.interrupted:
        yield f"{_command(survey, *survey.options, *survey.results)}   # goes on from here"
        return
    if survey.quick and not survey.damaged_files:
        yield f"{_command(survey, *(each for each in survey.options if each != '--quick'))}   # decodes every file"
    good = report.figures.get("good")
    if survey.damaged_files:
        yield from _about_damage(report, survey)
    if good and not good["file"].endswith(".jsonl"):
        yield f"tf.data.TextLineDataset({good['file']!r}).map(tf.io.read_file)   # reads the good ones alone"


def _about_damage(report: Report, survey: Survey) -> Iterator[str]:
    """Lists, and a quarantine; not of tables for their labels: these are mended in place."""
    options, done = survey.options, report.figures
    here = not any("://" in each for each in survey.paths)  # what lies elsewhere is not moved
    only_labels = {each.kind for each in survey.kinds if each.weight == DAMAGE} == {"label-out-of-range"}
    if only_labels and not done.get("out"):
        yield f"{_command(survey, *options, '--out', 'bad.jsonl')}   # lists the first wrong label of each"
    elif here and not only_labels and not done.get("quarantine"):
        moved = _command(survey, *options, "--quarantine", _aside(survey.paths))
        yield f"{moved}   # moves the damaged files out of the way"
    if not done.get("good"):
        yield f"{_command(survey, *options, '--good', 'good.txt')}   # lists the good ones"


def _aside(paths: Sequence[str]) -> str:
    """A folder for the damaged files that does not lie among the others."""
    return "../bad/" if any(each.removeprefix("./")[:1] in ("", ".", "*", "?", "[") for each in paths) else "bad/"


def _command(survey: Survey, *options: str) -> str:
    """The command that asks for the same files."""
    paths = (f"./{each}" if each.startswith("-") else each for each in survey.paths)
    return shlex.join(["crashcart", "data", *paths, *options])


def glance(survey: Survey) -> Iterator[tuple[str, str, str]]:
    """The few figures that a reader wants first: name, figure, remark."""
    yield "Files", f"{survey.files:,}", size(survey.bytes)
    yield "Damaged", f"{survey.damaged_files:,}", "in their structure: nothing was decoded" if survey.quick else ""
    yield "Good", f"{survey.good_files:,}", f"{survey.odd_files:,} of them odd" if survey.odd_files else ""
    if survey.foreign_files:
        yield "Not for TensorFlow", f"{survey.foreign_files:,}", "whole; in no list of good files, and never moved"
    if survey.unchecked_files:
        yield "Not checked", f"{survey.unchecked_files:,}", ""
    if survey.seconds:
        yield "Took", duration(survey.seconds), f"{survey.known_files:,} known before" if survey.known_files else ""


def kind_rows(survey: Survey) -> list[tuple[str, str, str, str]]:
    """Kind, weight, files and first example, for a table."""
    return [
        (
            each.kind,
            each.weight,
            f"{each.files:,}",
            f"{each.examples[0].path}: {each.examples[0].detail}" if each.examples else "",
        )
        for each in survey.kinds
    ]


def facts(report: Report, survey: Survey) -> list[tuple[str, str]]:
    """The rest, a row each."""
    rows = [
        ("looked at", ", ".join(survey.paths)),
        ("read", counted(survey)),
        ("quick check", quick(survey)),
        ("labels", labels(survey)),
        ("took", pace(survey)),
        *(("restarted", each) for each in restarts(survey)),
        *((each.reason, f"{each.count:,} not looked into: {', '.join(each.examples)}") for each in survey.passed),
        *(("written", each) for each in written(report)),
        *(("next", each) for each in following(report, survey)),
    ]
    return [(name, value) for name, value in rows if value]
