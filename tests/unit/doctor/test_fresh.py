"""Environments that are right: nothing above a note. What was measured to work is never blamed."""

from __future__ import annotations

from typing import Any

import pytest

from crashcart.doctor import examine_ground, fix_all
from crashcart.doctor._facts import facts
from crashcart.evidence import Environment, Evidence
from crashcart.finding import Level
from tests.unit.doctor.ground import state

# As `pip install tensorflow-cpu==…` chose them in November 2026.
FRESH: dict[str, tuple[str, dict[str, str]]] = {
    "2.15.1": ("3.11.7", {"numpy": "1.26.4", "protobuf": "4.25.8", "keras": "2.15.0", "ml-dtypes": "0.3.2", "wrapt": "1.14.2",
                          "typing-extensions": "4.16.0", "h5py": "3.14.0", "flatbuffers": "25.12.19", "tensorboard": "2.15.2",
                          "tensorflow-estimator": "2.15.0", "setuptools": "65.5.0"}),
    "2.18.1": ("3.12.1", {"numpy": "2.0.2", "protobuf": "5.29.5", "keras": "3.15.1", "ml-dtypes": "0.6.0", "wrapt": "2.5.2",
                          "typing-extensions": "4.16.0", "h5py": "3.16.0", "optree": "0.20.0", "tensorboard": "2.18.0",
                          "setuptools": "84.2.1"}),
    "2.21.0": ("3.13.0", {"numpy": "2.5.4", "protobuf": "7.36.2", "keras": "3.15.1", "ml-dtypes": "0.6.0", "wrapt": "2.5.2",
                          "typing-extensions": "4.16.0", "h5py": "3.14.0", "optree": "0.20.0", "setuptools": "84.2.1"}),
}  # fmt: skip
RUN = [
    (package, minor, version)
    for package in ("numpy", "protobuf")
    for minor, points in facts("measured")[package].items()
    for version, entry in points.items()
    if entry["ok"]
]


def _report(packages: dict[str, Any], python: str, **variables: str) -> Any:
    found = state(packages, python)
    environment = Environment(python, None, {}, variables)
    return examine_ground(Evidence(installation=found.installation, environment=environment))


def _grave(report: Any) -> list[str]:
    packages = [each for each in report.findings if each.code.startswith("D1")]
    return [each.headline for each in packages if each.level is not Level.NOTE]


@pytest.mark.parametrize("version", FRESH)
def test_a_fresh_environment_is_right(version: str) -> None:
    python, packages = FRESH[version]
    report = _report({"tensorflow-cpu": version, **packages}, python)
    assert _grave(report) == []
    assert "fix" not in report.figures


@pytest.mark.parametrize(("package", "minor", "version"), RUN)
def test_what_was_measured_to_work_is_not_blamed(package: str, minor: str, version: str) -> None:
    entry = facts("measured")[package][minor][version]
    release = max(each for each in facts("tensorflow")["releases"] if each.startswith(f"{minor}."))
    report = _report({"tensorflow": release, package: version}, entry["python"])
    assert [each.headline for each in report.findings if package in each.headline.lower()] == []
    assert _grave(report) == []


def test_an_environment_without_tensorflow_is_right() -> None:
    assert _report({"numpy": "2.3.4", "protobuf": "7.34.0", "keras": "3.15.1"}, "3.13.0").findings == ()


def test_nothing_to_fix_without_an_installation() -> None:
    assert fix_all(Evidence()) == ""


def test_one_line_for_everything() -> None:
    report = _report({"tensorflow": "2.15.1", "numpy": "2.0.2", "keras": "3.5.0"}, "3.11.7")
    assert [each.code for each in report.findings] == ["D101", "D103"]
    assert report.figures["fix"] == "/home/ada/.venv/bin/python -m pip install numpy==1.26.4 keras==2.15.0"
