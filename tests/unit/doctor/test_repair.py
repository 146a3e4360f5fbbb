"""Cures are judged before they are recommended."""

from __future__ import annotations

from pathlib import Path

import pytest

from crashcart.doctor._change import changed, state_of
from crashcart.doctor._fix import commands
from crashcart.doctor._repair import cure, mend, troubles
from crashcart.finding import Level
from tests.cases.loader import read_case
from tests.unit.doctor.ground import state

CASES = sorted((Path(__file__).parents[2] / "cases").glob("D1[01]*/fires/*.json"))


def _only(found: tuple[object, ...], key: str) -> object:
    return next(each for each in found if each.key == key)  # type: ignore[attr-defined]


def test_a_version_that_all_accept_comes_before_a_newer_one() -> None:
    scipy = {"version": "1.9.0", "requires": ["numpy<1.25,>=1.18"]}
    found = state({"tensorflow": "2.15.1", "numpy": "2.0.2", "scipy": scipy})
    assert cure(found, _only(troubles(found), "numpy-beside")).change.install == (("numpy", "1.24.4"),)


def test_without_a_version_that_all_accept_the_cure_says_who_refuses() -> None:
    pandas = {"version": "3.1.0", "requires": ["numpy>=2"]}
    found = state({"tensorflow": "2.15.1", "numpy": "2.0.2", "pandas": pandas})
    best = cure(found, _only(troubles(found), "numpy-beside"))
    assert [str(each) for each in best.refused] == ["pandas 3.1.0 asks for numpy>=2"]


def test_what_a_cure_would_break_gets_a_companion() -> None:
    """A newer typing_extensions under wrapt 1.14 would break saved models; wrapt comes along."""
    found = state({"tensorflow": "2.13.1", "wrapt": "1.15.0", "typing-extensions": "4.5.0", "torch": "2.4.0"})
    assert [each.key for each in troubles(found)] == ["te-pin-torch"]
    best = cure(found, troubles(found)[0])
    assert dict(best.change.install).keys() == {"typing-extensions", "wrapt"} and best.remaining == ()


def test_a_cure_that_breaks_what_cannot_be_mended_says_so() -> None:
    """NumPy 1 for TensorFlow 2.15 is too old for pyarrow 26, of which an older one is there as a companion."""
    found = state({"tensorflow": "2.15.1", "numpy": "2.0.2", "pyarrow": "26.0.1"})
    best = cure(found, _only(troubles(found), "numpy-beside"))
    assert dict(best.change.install)["numpy"] == "1.26.4" and "pyarrow" in dict(best.change.install)


def test_only_releases_with_a_wheel_for_this_python_are_named() -> None:
    found = state({"tensorflow": "2.12.1", "numpy": "2.0.2"}, python="3.11.7")
    versions = [dict(each.install)["numpy"] for each in _only(troubles(found), "numpy-beside").cures]
    assert versions and all(each >= "1.23" for each in versions)


def test_everything_at_once() -> None:
    found = state(
        {
            "tensorflow-cpu": "2.16.2",
            "numpy": "2.0.2",
            "keras": "2.15.0",
            "protobuf": "4.25.8",
            "tensorflow-text": "2.15.0",
            "tf-keras": "2.15.1",
        },
        variables={"PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": "cpp"},
    )
    best = mend(found)
    assert best is not None and best.remaining == ()
    lines = commands(found.installation, best.change)
    assert lines == (
        "/home/ada/.venv/bin/python -m pip install numpy==1.26.4 keras==3.15.1",
        "/home/ada/.venv/bin/python -m pip install --no-deps tf-keras==2.16.0 tensorflow-text==2.16.1",
        "unset PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION",
    )


def test_what_is_missing_is_not_left_to_the_installer() -> None:
    """Keras alone would bring the newest NumPy, which TensorFlow 2.16 cannot work with."""
    tensorflow = {"version": "2.16.2", "requires": ["keras>=3.0.0", "numpy<2.0.0,>=1.23.5", "ml-dtypes~=0.3.1"]}
    best = mend(state({"tensorflow": tensorflow}))
    assert best is not None and best.remaining == ()
    assert dict(best.change.install) == {"keras": "3.15.1", "numpy": "1.26.4", "ml-dtypes": "0.3.2"}


def test_what_a_cure_would_bring_along_is_judged_as_well() -> None:
    found = state({"tensorflow": "2.16.2", "keras": "2.15.0"})
    best = cure(found, troubles(found)[0])
    assert dict(best.change.install) == {"keras": "3.15.1", "numpy": "1.26.4"}


def test_nothing_to_mend() -> None:
    assert mend(state({"tensorflow": "2.16.2", "numpy": "1.26.4"})) is None


def test_what_cannot_be_cured_is_left_and_told() -> None:
    """No tensorflow-io was made for this TensorFlow; NumPy is mended all the same."""
    found = state({"tensorflow": "2.17.1", "numpy": "2.0.2", "tensorflow-io": "0.37.1"})
    best = mend(found)
    assert best is not None and dict(best.change.install) == {"numpy": "1.26.4"}
    assert [each.key for each in best.remaining] == ["tfio-mismatch"]


@pytest.mark.parametrize("path", CASES, ids=lambda path: f"{path.parents[1].name[:4]}-{path.stem}")
def test_no_recommended_change_brings_a_new_trouble_unsaid(path: Path) -> None:
    evidence = read_case(path).evidence
    assert evidence.installation is not None
    found = state_of(evidence.installation, evidence.environment)
    before = {each.key for each in troubles(found)}
    for trouble in troubles(found):
        best = cure(found, trouble)
        if best is None:
            continue
        after = {each.key for each in troubles(changed(found, best.change)) if each.level is not Level.NOTE}
        assert trouble.key not in after
        assert after - before == {each.key for each in best.remaining}


@pytest.mark.parametrize("path", CASES, ids=lambda path: f"{path.parents[1].name[:4]}-{path.stem}")
def test_the_combined_change_leaves_nothing_that_has_a_cure(path: Path) -> None:
    evidence = read_case(path).evidence
    assert evidence.installation is not None
    found = state_of(evidence.installation, evidence.environment)
    best = mend(found)
    left = troubles(changed(found, best.change)) if best is not None else troubles(found)
    assert [each.key for each in left if each.level is not Level.NOTE and each.cures] == []
