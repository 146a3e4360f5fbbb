"""What one report tells to do: each thing once, and nothing that another finding of it contradicts."""

from __future__ import annotations

from typing import Any

from crashcart.doctor import examine_ground
from crashcart.evidence import Environment, Evidence
from crashcart.finding import Finding, Report
from crashcart.ground import GpuDevice
from crashcart.installation import ImportAttempt
from tests.unit.doctor.ground import state

GPU = GpuDevice(
    index=0, name="Tesla T4", total_bytes=16 << 30, free_bytes=15 << 30, driver="550.54.15", capability="7.5"
)
LEGACY = {"TF_USE_LEGACY_KERAS": "1"}


def report(packages: dict[str, Any], variables: dict[str, str] | None = None, **further: Any) -> Report:
    sections = {name: further.pop(name) for name in ("gpus", "attempts") if name in further}
    installation = state(packages, **further).installation
    environment = Environment(installation.interpreter.version, None, {}, variables or {})
    return examine_ground(Evidence(installation=installation, environment=environment, **sections))


def finding(found: Report, code: str) -> Finding:
    return next(each for each in found.findings if each.code == code)


def test_what_the_command_says_is_not_said_again_as_advice() -> None:
    told = finding(report({"tf-nightly": "2.99.0.dev20261101", "keras-nightly": "3.99.0"}, LEGACY), "D104").remedy
    assert [each for each in told if "unset TF_USE_LEGACY_KERAS" in each] == ["`unset TF_USE_LEGACY_KERAS`"]


def test_keras_3_is_offered_where_the_release_has_it() -> None:
    later = finding(report({"tensorflow": "2.16.2", "keras": "3.5.0"}, LEGACY), "D104").remedy
    assert any("Keras 3" in each for each in later)
    earlier = finding(report({"tensorflow": "2.15.1", "keras": "2.15.0"}, LEGACY), "D104").remedy
    assert not any("Keras 3" in each for each in earlier)


def test_a_note_names_no_other_version_than_the_problem_does() -> None:
    """tensorboard is not there, and asks for another protobuf; so does TensorFlow, whose finding decides the version."""
    packages = {"tensorflow": "2.21.0", "protobuf": "3.20.3", "numpy": "1.26.4", "keras": "3.15.1"}
    found = report(packages)
    (decided,) = {word for word in finding(found, "D102").remedy[0].replace("`", " ").split() if "protobuf==" in word}
    named = {
        word.strip("`,;()")
        for each in found.findings
        for text in each.remedy
        for word in text.split()
        if "protobuf==" in word
    }
    assert named == {decided}
    assert any("tensorboard" in each.headline for each in found.findings)


def test_an_unknown_version_is_not_called_none() -> None:
    assert report({"tf-nightly": {"version": None}}).subject.endswith("tf-nightly)")
    assert report({"tensorflow": "2.21.0"}).subject.endswith("tensorflow 2.21.0)")


def test_the_cudnn_that_another_package_pins_is_left_alone() -> None:
    torch = {"version": "2.4.1", "requires": ["nvidia-cudnn-cu12==9.1.0.70"]}
    packages = {"tensorflow": "2.19.1", "nvidia-cudnn-cu12": "9.1.0.70"}
    alone = finding(report(packages, gpus=(GPU,)), "D310").remedy
    assert "pip install 'nvidia-cudnn-cu12>=9.3" in alone[0]
    beside = finding(report({**packages, "torch": torch}, gpus=(GPU,)), "D310").remedy
    assert not any("nvidia-cudnn-cu12>=" in each for each in beside)
    assert "torch 2.4.1 asks for nvidia-cudnn-cu12==9.1.0.70" in beside[0] and "-m venv" in beside[0]


def test_the_libraries_of_a_nightly_build_come_without_a_version() -> None:
    version = "2.21.0.dev20250901"
    tried = ImportAttempt("tensorflow", 4.0, 0, None, "", {"version": version, "gpus": [], "gpu_code": True})
    found = report({"tf-nightly": version}, gpus=(GPU,), attempts=(tried,), libraries=[])
    for code in ("D303", "D602"):
        told = finding(found, code).remedy
        assert any("'tf-nightly[and-cuda]'" in each for each in told) and not any(version in each for each in told)


def test_a_release_without_the_extra_is_not_told_to_take_it() -> None:
    tried = ImportAttempt("tensorflow", 4.0, 0, None, "", {"version": "2.13.1", "gpus": []})
    told = finding(report({"tensorflow": "2.13.1"}, gpus=(GPU,), attempts=(tried,)), "D602").remedy
    assert "CUDA 11.8" in told[0] and not any("and-cuda" in each for each in told)
