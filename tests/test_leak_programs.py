"""The bench of leaks: its manifest fits its programs, and its judge counts as it says."""

import pytest

from bench.leaks import truth
from bench.leaks.judge import figures, judged, names
from bench.leaks.manifest import LEAKING, PROGRAMS, QUIET, SUBJECTS
from bench.leaks.watched import Watched


def found(line, holder=None, level="problem", file="outputs_kept.py"):
    where = {"file": f"/somewhere/{file}", "line": line}
    return {
        "code": "L1",
        "cause": "memory-leak",
        "headline": "it grows",
        "confidence": "certain",
        "where": where,
        "holder": holder,
        "level": level,
    }


def watched(status, *findings, unchecked=()):
    return Watched(status, {"findings": list(findings), "unchecked": list(unchecked)}, "", 0.0)


def test_enough_programs_of_both_kinds_each_with_a_name_of_its_own():
    assert len(LEAKING) >= 14 and len(QUIET) >= 14
    assert len({each.name for each in SUBJECTS}) == len(SUBJECTS)


def test_each_program_is_listed_and_no_other():
    there = {path.stem for path in PROGRAMS.glob("*.py")} - {"steady_leak"}
    assert there == {each.name for each in SUBJECTS}


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda each: each.name)
def test_a_leaking_program_marks_its_line_a_quiet_one_none_and_neither_knows_of_the_tool(subject):
    assert bool(subject.lines) == subject.leaks
    assert "crashcart" not in subject.path.read_text()


def test_no_measurement_contradicts_the_manifest():
    stored = truth.stored()
    measured = {each: stored[each.name] for each in SUBJECTS if stored.get(each.name, {}).get("steps") == each.steps}
    assert measured
    wrong = [each.name for each, found in measured.items() if (truth.grown_mib(found) >= truth.LEAST_MIB) != each.leaks]
    assert wrong == []


@pytest.mark.parametrize(
    ("holder", "right"),
    [
        ("history", True),
        ("history (list in train.py, main)", True),
        ("self.history", True),
        ("histories", False),
        (None, False),
    ],
)
def test_a_holder_is_right_where_its_name_is_a_word(holder, right):
    assert names(holder, ("history",)) is right


def test_line_and_holder_are_those_of_the_first_finding():
    subject = next(each for each in LEAKING if each.name == "outputs_kept")
    (line,) = subject.lines
    said = judged(subject, watched(1, found(line, "history"), found(1)))
    assert (said.outcome, said.line_right, said.holder_right) == ("found", True, True)
    said = judged(subject, watched(1, found(1), found(line, "history")))
    assert (said.outcome, said.line_right, said.holder_right) == ("found", False, False)
    assert judged(subject, watched(1, found(line, file="other.py"))).line_right is False


def test_a_note_is_no_claim_and_what_was_not_checked_is_neither_found_nor_cleared():
    leak, quiet = LEAKING[0], QUIET[0]
    assert judged(quiet, watched(0, found(1, level="note"))).outcome == "clear"
    assert judged(leak, watched(3)).outcome == "not checked"
    assert judged(leak, watched(4)).outcome == "failed"
    assert judged(leak, Watched(None, None, "", 0.0)).outcome == "failed"


def test_the_shares():
    first, second = LEAKING[:2]
    line = min(first.lines)
    rows = [
        judged(first, watched(1, found(line, first.holders[0], file=first.path.name))),
        judged(second, watched(3)),
        judged(QUIET[0], watched(1, found(7))),
        judged(QUIET[1], watched(0)),
    ]
    shares = figures(rows)
    assert (shares.recall, shares.precision, shares.line, shares.holder, shares.not_checked) == (0.5, 0.5, 1.0, 1.0, 1)
    assert figures(rows[3:]).recall is None
