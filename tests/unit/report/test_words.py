from __future__ import annotations

import math
from typing import Any

import pytest

from crashcart.evidence import Ending, Evidence
from crashcart.finding import Confidence, Report, Unchecked, Where
from crashcart.report import words

from .examples import CWD, oom_finding, other_findings


@pytest.mark.parametrize(
    ("where", "said"),
    [
        (Where(f"{CWD}/train.py", 5), "train.py:5"),
        (Where(f"{CWD}/train.py", 5, "<module>"), "train.py:5"),
        (Where(f"{CWD}/nets/model.py", 5, "build"), "nets/model.py:5 in build"),
        (Where("/opt/other/train.py", 5), "/opt/other/train.py:5"),
        (Where("train.py"), "train.py"),
        (Where(line=7), "line 7"),
        (Where(cell="7", line=3), "cell [7], line 3"),
        (Where(cell="[7]", line=3, function="fit"), "cell [7], line 3 in fit"),
        (Where(f"{CWD}/a.ipynb", 3, cell="7"), "a.ipynb, cell [7], line 3"),
        (Where("/tmp/ipykernel_1/2.py", 3, cell="7"), "cell [7], line 3"),
        (Where(op="Conv2D"), "op Conv2D"),
        (Where("a.py", 1, op="Conv2D", age_s=1.24), "a.py:1, op Conv2D (seen 1.2 s before the end)"),
        (Where("a.py", 1, age_s=math.nan), "a.py:1"),
        (Where(), ""),
    ],
)
def test_places(where: Where, said: str) -> None:
    assert words.place_words(where, CWD) == said


def test_a_path_beside_the_working_directory_stays_whole() -> None:
    assert words.short_path("/home/ada/vision2/train.py", CWD) == "/home/ada/vision2/train.py"
    assert words.short_path("<string>", CWD) == "<string>"
    assert words.short_path(f"{CWD}/a.py", None) == f"{CWD}/a.py"


@pytest.mark.parametrize(
    ("ending", "said", "label"),
    [
        (Ending("signal", 12.4, signal=9, signal_name="SIGKILL"), "ended by SIGKILL after 12 s", "SIGKILL"),
        (Ending("signal", signal=34), "ended by signal 34", "signal 34"),
        (Ending("exit", 3.0, exit_code=1), "exited with code 1 after 3.0 s", "exit 1"),
        (Ending("exit"), "exited with code unknown", "exit"),
        (Ending("running", 60.0), "still running after 60 s", "running"),
        (Ending("unobserved"), "nobody saw the end", "unobserved"),
    ],
)
def test_endings(ending: Ending, said: str, label: str) -> None:
    assert words.ending_words(ending) == said
    assert words.ending_label(ending) == label


@pytest.mark.parametrize("figure", [None, math.nan, math.inf, 10**400, "12", True, 1e300])
def test_what_is_no_figure_is_unknown(figure: Any) -> None:
    assert words.size_words(figure) == "unknown"
    assert words.duration_words(figure) == "unknown"


def test_a_figure_is_said_in_units() -> None:
    assert words.size_words(0) == "0 B"
    assert words.size_words(2_400_000_000) == "2.24 GiB"
    assert words.duration_words(0.25) == "0.2 s"


LACKING = (Unchecked("W1", "one", ("kernel_log", "ending")), Unchecked("W2", "two", ("the rule failed: KeyError: 1",)))


def test_not_checked_names_sections_and_reasons() -> None:
    report = Report("x", other_findings(1), (), LACKING)
    evidence = Evidence(absent={"kernel_log": "permission denied", "gpus": "no driver"})
    assert words.not_checked(report, evidence) == [
        "kernel log (permission denied)",
        "GPUs (no driver)",
        "how it ended",
        "two (the rule failed: KeyError: 1)",
    ]


def test_under_a_certain_verdict_only_what_was_tried_in_vain_counts() -> None:
    finding = oom_finding()
    assert finding.confidence is Confidence.CERTAIN
    evidence = Evidence(absent={"kernel_log": "permission denied"})
    assert words.not_checked(Report("x", (finding,), (), LACKING[:1]), evidence) == ["kernel log (permission denied)"]
    assert words.not_checked(Report("x", (finding,), (), LACKING[:1]), Evidence()) == []


def test_a_section_that_is_there_is_not_missing() -> None:
    evidence = Evidence(ending=Ending("exit"), absent={"ending": "stale reason"})
    assert words.not_checked(Report("x", ()), evidence) == []


def test_every_section_has_a_name_people_read() -> None:
    assert all("_" not in words.section_name(section) for section in words.SECTIONS)
    assert "absent" not in words.SECTIONS
