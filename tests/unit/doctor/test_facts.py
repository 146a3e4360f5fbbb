"""The files of facts have the form that the code reads, and agree with each other."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from crashcart.doctor import _index
from crashcart.doctor._facts import declared, facts
from crashcart.probe.packages import canonical

ROOT = Path(__file__).resolve().parents[3]
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


def tool() -> Any:
    loader = SourceFileLoader("refresh_facts", str(ROOT / "tools" / "refresh-facts"))
    spec = spec_from_loader("refresh_facts", loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("pythons", "said"),
    [(["3.9", "3.10", "3.11"], "3.9-3.11"), (["3.6", "3.7", "3.9"], "3.6-3.7 3.9"), (["3.12"], "3.12"), ([], "")],
)
def test_the_tool_writes_pythons_as_they_are_read(pythons: list[str], said: str) -> None:
    assert tool().spans(pythons) == said
    assert tool().expanded(said) == pythons


def test_the_tool_keeps_what_decides() -> None:
    asked = ["numpy>=1.21", "pytest; extra == 'tests'", "rich", "numpy>=2; extra == 'dev'", "not a ~ requirement"]
    assert tool().relevant(asked) == ["numpy>=1.21"]
    assert tool().last_of_each_minor({"1.0.0": [], "1.0.2": [], "1.1.0": []}) == ["1.0.2", "1.1.0"]
    assert not tool().wanted_release("numpy", "2.0.0rc1")
    assert not tool().wanted_release("numpy", "1.15.0")
    assert tool().wanted_release("numpy", "2.0.0")


def test_the_tool_writes_the_file_as_it_lies_there(tmp_path: Path) -> None:
    module = tool()
    module.FACTS = tmp_path
    module.write_releases(facts("releases")["packages"])
    there = ROOT / "src" / "crashcart" / "doctor" / "facts" / "releases.json"
    assert (tmp_path / "releases.json").read_text() == there.read_text()


def test_the_tool_that_refreshes_them_starts() -> None:
    done = subprocess.run([sys.executable, ROOT / "tools" / "refresh-facts", "--help"], capture_output=True, text=True)
    assert done.returncode == 0 and "package index" in done.stdout
