"""The files of facts have the form that the code reads, and agree with each other."""

from __future__ import annotations

import re

from packaging.requirements import Requirement
from packaging.version import Version

from crashcart.doctor import _index
from crashcart.doctor._facts import declared, facts
from crashcart.probe.packages import canonical

SPAN = re.compile(r"3\.\d+(-3\.\d+)?( 3\.\d+(-3\.\d+)?)*")


def test_releases_are_final_ordered_and_have_their_pythons() -> None:
    known = facts("releases")
    assert known["platform"] == "Linux x86_64"
    assert list(known["packages"]) == sorted(known["packages"])
    for name, entry in known["packages"].items():
        assert name == canonical(name)
        versions = [Version(each) for each in entry["releases"]]
        assert versions == sorted(versions), name
        assert versions and not any(each.is_prerelease for each in versions), name
        assert all(SPAN.fullmatch(each) for each in entry["releases"].values() if name != "tensorflow-gpu"), name
        assert {python for each in entry["releases"] for python in _index.pythons_of(name, each)} <= set(
            known["pythons"]
        )


def test_what_is_asked_can_be_parsed_and_is_of_known_packages() -> None:
    for name, entry in facts("releases")["packages"].items():
        for version, asked in entry.get("requires", {}).items():
            assert version in entry["releases"], f"{name} {version}"
            assert all(_index.is_known(canonical(Requirement(each).name)) for each in asked), f"{name} {version}"


def test_both_files_know_the_same_releases_of_tensorflow() -> None:
    index = {str(each) for each in _index.releases("tensorflow") if each >= Version("2.4")}
    assert index == facts("tensorflow")["releases"].keys()
    for each in index:
        assert list(_index.pythons_of("tensorflow", each)) == facts("tensorflow")["releases"][each]["pythons"]
        assert declared(each)
        assert f"{Version(each).major}.{Version(each).minor}" in facts("tensorflow")["minors"]


def test_the_measured_versions_exist() -> None:
    for package in ("numpy", "protobuf"):
        known = {str(each) for each in _index.releases(package)}
        assert {version for points in facts("measured")[package].values() for version in points} <= known


def test_what_tensorflow_needs_most_is_known() -> None:
    assert all(
        _index.is_known(each) for each in ("numpy", "protobuf", "keras", "h5py", "ml-dtypes", "tf-keras", "wrapt")
    )
    assert "3.11" in _index.pythons_of("numpy", "1.26.4")
    assert "3.8" not in _index.pythons_of("numpy", "2.0.2")


def test_the_last_tensorflow_gpu_is_source_alone() -> None:
    newest = _index.releases("tensorflow-gpu")[0]
    assert (str(newest), _index.pythons_of("tensorflow-gpu", str(newest))) == ("2.12.0", ())
