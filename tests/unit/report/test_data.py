"""The report on a data set: its headline in every situation, at any width, in ASCII; what to type next."""

from __future__ import annotations

from dataclasses import replace

import pytest

from crashcart.data import examine_files
from crashcart.evidence import Evidence
from crashcart.report import data_words
from crashcart.report.data import render_survey
from crashcart.report.html import render_html
from crashcart.report.wrap import cells
from crashcart.survey import Example, KindCount, Restart, Survey

SOUND = Survey(1200, 5 << 20, 1200, formats={"jpeg": 1200}, seconds=2.0, workers=4, paths=("my images",))
BAD = replace(
    SOUND,
    good_files=1198,
    damaged_files=2,
    kinds=(
        KindCount(
            "truncated", "damage", 2, 2, (Example("a\nb\x1b[31m.jpg", "cut", "byte 3"), Example("\udcff", "cut"))
        ),
    ),
)


def rendered(survey: Survey, width: int = 80, ascii_only: bool = False, **figures: object) -> str:
    evidence = Evidence(survey=survey)
    report = replace(examine_files(evidence, "data"), figures=dict(figures))
    return render_survey(report, evidence, width, False, ascii_only=ascii_only)


@pytest.mark.parametrize(
    ("survey", "words"),
    [
        (SOUND, "all 1,200 files are sound"),
        (replace(SOUND, odd_files=3), "all 1,200 files are sound, 3 of them odd"),
        (replace(SOUND, files=1, good_files=1), "1 file is sound"),
        (replace(SOUND, files=1, good_files=1, odd_files=1), "1 file is sound, and odd"),
        (replace(SOUND, files=1, good_files=0, foreign_files=1), "1 file is sound, but not for TensorFlow"),
        (
            replace(SOUND, good_files=1190, odd_files=2, foreign_files=10),
            "all 1,200 files are sound, 2 of them odd, 10 of them not for TensorFlow",
        ),
        (BAD, "2 of 1,200 files are damaged"),
        (replace(BAD, damaged_files=1), "1 of 1,200 files is damaged"),
        (
            replace(SOUND, good_files=1190, unchecked_files=10),
            "1,190 of 1,200 files are sound, 10 could not be checked",
        ),
        (replace(SOUND, good_files=0, unchecked_files=1200), "none of 1,200 files could be checked"),
        (replace(BAD, interrupted=True), "interrupted after 1,200 files: 2 damaged so far"),
        (replace(BAD, interrupted=True, stopped="no room"), "stopped after 1,200 files: 2 damaged so far"),
        (replace(SOUND, quick=True), "all 1,200 files are sound (quick check: structure alone)"),
        (replace(BAD, quick=True), "2 of 1,200 files are damaged (quick check: structure alone)"),
    ],
)
def test_the_headline(survey: Survey, words: str) -> None:
    assert data_words.headline(survey) == words
    assert rendered(survey).splitlines()[0] == words


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_no_line_is_too_wide_and_nothing_reaches_the_terminal(width: int) -> None:
    text = rendered(BAD, width)
    assert all(cells(line) <= width for line in text.splitlines())
    assert "\x1b" not in text and "a b" in text.replace("\\n", " ") and "\\udcff" in text
    text.encode("utf-8")
    rendered(BAD, width, ascii_only=True).encode("ascii")


def test_what_to_type_next_fits_what_was_done() -> None:
    assert "crashcart data 'my images' --quarantine bad/" in rendered(BAD, 110)
    assert "--quarantine" not in rendered(SOUND)
    done = rendered(BAD, 110, quarantine={"folder": "bad", "files": 2, "stayed_files": 0, "stayed": []})
    assert "--quarantine" not in done and "crashcart data --undo bad" in done
    assert "goes on from here" in rendered(replace(BAD, interrupted=True), 110)
    assert "TextLineDataset('good.txt')" in rendered(BAD, 110, good={"file": "good.txt", "lines": 3, "left_out": 0})


def test_what_to_type_next_asks_for_the_same_as_before() -> None:
    asked = replace(BAD, options=("--classes", "4", "--label", "my label", "--hidden", "--quick"), quick=True)
    text = " ".join(rendered(asked, 110).split())
    options = "--classes 4 --label 'my label' --hidden --quick"
    assert f"crashcart data 'my images' {options} --quarantine bad/ #" in text
    assert f"crashcart data 'my images' {options} --good good.txt #" in text
    sound = " ".join(rendered(replace(asked, damaged_files=0, good_files=1200, kinds=(), label_files=1), 110).split())
    assert "crashcart data 'my images' --classes 4 --label 'my label' --hidden # decodes every file" in sound
    broken_off = replace(asked, interrupted=True, results=("--out", "bad list", "--quarantine", "q"))
    assert f"'my images' {options} --out 'bad list' --quarantine q # goes on" in " ".join(
        rendered(broken_off, 110).split()
    )


@pytest.mark.parametrize("path", [".", "./", "*.jpg", "**/*.jpg", "./*"])
def test_a_quarantine_among_the_data_is_not_recommended(path: str) -> None:
    assert "--quarantine ../bad/" in rendered(replace(BAD, paths=(path,)), 110)


def test_tables_are_not_moved_for_their_labels() -> None:
    labels = KindCount("label-out-of-range", "damage", 1, 9, (Example("a.csv", "9 labels"),))
    only = replace(BAD, damaged_files=1, kinds=(labels,))
    assert "--quarantine" not in rendered(only, 110) and "--out bad.jsonl" in rendered(only, 110)
    assert "--quarantine bad/" in rendered(replace(BAD, kinds=(*BAD.kinds, labels)), 110)


def test_labels_that_were_asked_for_and_not_found_are_said() -> None:
    missed = replace(SOUND, classes=4, label="labl")
    text = " ".join(rendered(missed, 110).split())
    assert "all 1,200 files are sound; labels were not checked" in text
    assert "no label was found: --classes 4 and --label labl could not be checked" in text and "'labl'" in text
    assert "--quick" not in text and "without `--quick`" in rendered(replace(missed, quick=True), 110)
    for known in (replace(missed, label_files=1), SOUND, replace(missed, interrupted=True)):
        assert "label" not in rendered(known, 110)


def test_a_list_that_is_not_whole_says_so() -> None:
    part = {"file": "good.txt.part", "lines": 3, "left_out": 0, "partial": True}
    text = " ".join(rendered(replace(BAD, interrupted=True), 110, good=part).split())
    assert "good.txt.part: 3 good files so far" in text and "TextLineDataset" not in text


def test_processes_that_ended_are_told() -> None:
    survey = replace(SOUND, restarted=1, restarts=(Restart("a.jpg", "the decoder died of SIGKILL"),))
    assert "1 process ended in the middle" in rendered(survey) and "a.jpg: the decoder died of SIGKILL" in rendered(
        survey
    )
    assert "ended in the middle" not in rendered(SOUND)


def test_the_page_holds_the_table_of_kinds() -> None:
    evidence = Evidence(survey=BAD)
    page = render_html(examine_files(evidence, "data"), evidence)
    assert "2 of 1,200 files are damaged" in page and "truncated" in page and "\x1b" not in page
    assert "Kinds of faults" not in render_html(examine_files(Evidence(survey=SOUND), ""), Evidence(survey=SOUND))


def test_a_quick_check_says_what_it_passed_over() -> None:
    quick = replace(SOUND, quick=True, formats={"jpeg": 1000, "npz": 200})
    assert data_words.not_decoded(quick) == ["pixels", "values of arrays"]
    text = " ".join(rendered(quick).split())
    assert "quick headers, markers, lengths and checksums; not decoded: pixels, values of arrays" in text
    assert "crashcart data 'my images' # decodes every file" in text
    evidence = Evidence(survey=quick)
    page = render_html(examine_files(evidence, "data"), evidence, {})
    assert "quick check" in page and "not decoded: pixels, values of arrays" in page
    whole = rendered(replace(quick, quick=False))
    assert "quick" not in whole and "decodes every file" not in whole and data_words.not_decoded(SOUND) == []


def test_a_run_that_could_not_go_on_says_why() -> None:
    stopped = replace(SOUND, interrupted=True, stopped="4 processes in a row ended before they began: no memory")
    text = " ".join(rendered(stopped).split())
    assert "the check could not go on to its end" in text and "4 processes in a row" in text
    assert "the check was interrupted before its end" in " ".join(rendered(replace(stopped, stopped=None)).split())
