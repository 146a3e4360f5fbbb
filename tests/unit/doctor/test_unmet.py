"""Requirements that are not met."""

from __future__ import annotations

from typing import Any

from crashcart.doctor._unmet import gathered_missing, missing, missing_troubles, outside
from crashcart.finding import Confidence, Level
from tests.unit.doctor.ground import state


def asks(version: str, *requires: str, **fields: Any) -> dict[str, Any]:
    return {"version": version, "requires": list(requires), **fields}


def test_what_several_ask_for_is_one_thing_with_a_joint_range() -> None:
    found = missing(state({"a": asks("1", "six>=1.10"), "b": asks("2", "six<2")}))
    assert [(each.name, each.specifier) for each in found] == [("six", "<2,>=1.10")]


def test_another_distribution_of_the_module_will_do() -> None:
    assert missing(state({"a": asks("1", "opencv-python>=4"), "opencv-python-headless": "4.10.0"})) == ()
    assert missing(state({"a": asks("1", "tensorflow>=2"), "tf-nightly": "2.22.0.dev1"})) == ()
    assert len(missing(state({"a": asks("1", "opencv-python>=4")}))) == 1


def test_what_conda_installed_without_metadata_is_there() -> None:
    packages = {"a": asks("1", "ninja")}
    assert missing(state(packages, conda={"ninja": "1.11"})) == ()
    assert len(missing(state(packages, conda={"cmake": "3.1"}))) == 1


def test_the_system_s_own_packages_are_left_alone() -> None:
    debian = asks("1", "ninja", folder="/usr/lib/python3/dist-packages", installer=None)
    assert missing(state({"a": debian})) == ()
    assert len(missing(state({"a": debian | {"installer": "pip"}}))) == 1


def test_metadata_that_cannot_be_read_asks_for_nothing() -> None:
    assert missing(state({"a": {"version": "1", "requires": None, "fault": "broken"}})) == ()


def test_a_requirement_that_no_tool_can_read_is_passed_over() -> None:
    assert missing(state({"a": asks("1", "???", "b>=x.y", "c ; python_version >", "six")}))[0].name == "six"


def test_with_a_directory_that_cannot_be_read_it_is_only_possible() -> None:
    packages = {"tensorflow": asks("2.15.1", "numpy")}
    assert next(missing_troubles(state(packages))).confidence is Confidence.CERTAIN
    hidden = state(packages, unreadable=["/x: Permission denied"])
    assert next(missing_troubles(hidden)).confidence is Confidence.POSSIBLE


def test_a_missing_numpy_comes_back_in_a_version_that_was_measured() -> None:
    """TensorFlow 2.10 declares no upper bound, and pip would choose a NumPy that fails."""
    trouble = next(missing_troubles(state({"tensorflow": asks("2.10.1", "numpy>=1.20")}, python="3.10.13")))
    assert trouble.cures[0].install == (("numpy", "1.26.4"),)


def test_one_trouble_for_each_level() -> None:
    tensorflow = asks("2.15.1", "numpy", "six", "libclang", "keras")
    found = state({"tensorflow": tensorflow, "keras": asks("2.15.0", "b", "c")})
    gathered = list(gathered_missing(found, []))
    assert [(each.level, each.because[0]) for each in gathered] == [
        (Level.PROBLEM, "tensorflow 2.15.1 asks for numpy, six"),
        (Level.RISK, "keras 2.15.0 asks for b, c"),
        (Level.NOTE, "tensorflow 2.15.1 asks for libclang"),
    ]
    assert [each.level for each in gathered_missing(found, [frozenset({"numpy", "six"})])] == [Level.RISK, Level.NOTE]


def test_outside_of_a_range() -> None:
    found = outside(state({"a": asks("1", "numpy<2"), "numpy": "2.0.2"}))
    assert [str(each) for each in found] == ["a 1 asks for numpy<2"]
    assert outside(state({"a": asks("1", "numpy<3"), "numpy": "2.0.2"})) == ()
    assert outside(state({"a": asks("1", "numpy<2"), "numpy": "2.0.2"}, plan="p.txt")) == ()


def test_a_hidden_copy_asks_for_nothing() -> None:
    assert outside(state({"a": asks("1", "numpy<2", shadowed=True), "numpy": "2.0.2"})) == ()


def test_tensorboard_is_missed_where_it_alone_brings_requests() -> None:
    """TensorFlow 2.10 and 2.15 import requests, and ask for it only through tensorboard."""
    packages = {"tensorflow": asks("2.15.1", "tensorboard")}
    assert next(missing_troubles(state(packages))).level is Level.PROBLEM
    assert next(missing_troubles(state(packages | {"requests": "2.32.0"}))).level is Level.NOTE


def test_what_is_missing_far_from_tensorflow_is_a_note() -> None:
    """Colab has IPython without jedi."""
    packages = {"tensorflow": asks("2.15.1", "keras"), "keras": asks("2.15.0"), "ipython": asks("7.34.0", "jedi>=0.16")}
    (trouble,) = missing_troubles(state(packages))
    assert trouble.level is Level.NOTE and trouble.headline.startswith("jedi is not installed")
    (trouble,) = missing_troubles(state(packages | {"keras": asks("2.15.0", "jedi")}))
    assert trouble.level is Level.RISK
