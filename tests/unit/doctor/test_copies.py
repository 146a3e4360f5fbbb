"""Several copies of one distribution: what is deleted, what is written again, and what is left alone."""

from __future__ import annotations

from typing import Any

import pytest

from crashcart.doctor._change import State
from crashcart.doctor._conda import over_conda
from crashcart.doctor._copies import hidden, twice, unreadable
from crashcart.doctor._files import file_troubles
from crashcart.doctor._known import known
from crashcart.doctor._tell import tell
from crashcart.finding import Finding, Level
from tests.unit.doctor.ground import state

SITE = "/home/ada/.venv/lib/python/site-packages"
PIP = "/home/ada/.venv/bin/python -m pip"
EGG = {"version": "1.16.0", "entry": "six-1.16.0-py3.11.egg-info", "installer": None}
GIT = "git+https://x.example/numpy.git@ab12"


def _told(found: State, troubles: Any) -> Finding:
    (only,) = tell(found, troubles(found))
    return only


@pytest.mark.parametrize("order", [1, -1])
def test_of_a_dist_info_and_an_egg_info_the_second_is_deleted(order: int) -> None:
    """Whichever was written later."""
    entries = [{"version": "1.16.0"}, EGG][::order]
    finding = _told(state({"tensorflow": {"version": "2.16.2", "requires": ["six"]}, "six": entries}), twice)
    assert finding.remedy == (f"`rm -rf {SITE}/six-1.16.0-py3.11.egg-info`",)
    assert finding.level is Level.NOTE


def test_two_versions_are_a_risk_and_the_files_are_written_again() -> None:
    entries = [EGG | {"version": "1.15.0"}, {"version": "1.16.0"}]
    finding = _told(state({"tensorflow": {"version": "2.16.2", "requires": ["six"]}, "six": entries}), twice)
    assert finding.level is Level.RISK
    assert finding.remedy[0].endswith(f"then `{PIP} install --force-reinstall --no-deps six==1.16.0`")


def test_what_remains_of_an_older_version_is_not_installed_again() -> None:
    """The entry of the older one lacks its METADATA, and was touched last."""
    broken = {"version": "1.24.4", "requires": None, "fault": "METADATA cannot be read: No such file or directory"}
    found = state({"numpy": [broken, {"version": "1.26.4"}]})
    assert list(unreadable(found)) == []
    assert _told(found, twice).remedy == (
        f"`rm -rf {SITE}/numpy-1.24.4.dist-info`, then `{PIP} install --force-reinstall --no-deps numpy==1.26.4`",
    )


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"version": "1.26.4+local1"}, "no package index has numpy 1.26.4+local1"),
        ({"version": "1.26.4", "origin": GIT}, GIT),
    ],
    ids=["local-version", "repository"],
)
def test_what_no_index_has_is_not_deleted_to_be_installed_again(fields: dict[str, Any], said: str) -> None:
    found = state({"numpy": fields | {"requires": None, "fault": "METADATA names no version"}})
    finding = _told(found, unreadable)
    assert len(finding.remedy) == 1 and said in finding.remedy[0]
    assert "rm -rf" not in finding.remedy[0] and "pip install" not in finding.remedy[0]


def test_what_conda_built_from_a_folder_can_be_had_again() -> None:
    entry = {
        "version": "1.26.4",
        "installer": "conda",
        "origin": "file:///home/conda/work",
        "requires": None,
        "fault": "x",
    }
    finding = _told(state({"numpy": entry}, kind="conda", tool="conda", prefix="/opt/conda"), unreadable)
    assert finding.remedy[0].endswith("`conda install -p /opt/conda --force-reinstall numpy==1.26.4`")


@pytest.mark.parametrize(
    "packages",
    [
        {"tensorflow": "2.17.0+nv25.02"},
        {"tensorflow": "2.17.0+nv25.02", "tensorflow-cpu": "2.16.2"},
    ],
    ids=["alone", "with-another"],
)
def test_a_vendor_s_build_is_not_written_again_from_the_index(packages: dict[str, Any]) -> None:
    module = {
        "name": "tensorflow",
        "file": None,
        "owners": list(packages),
        "remnant": "/x/tensorflow",
        "missing_files": 3,
    }
    found = state(packages, modules={"tensorflow": module})
    remedies = [each for finding in tell(found, file_troubles(found)) for each in finding.remedy]
    assert any("no package index has tensorflow 2.17.0+nv25.02" in each for each in remedies)
    assert not any("+nv25.02`" in each or "--force-reinstall" in each for each in remedies)


@pytest.mark.parametrize(
    ("name", "remove", "install"),
    [
        ("tensorflow", (), ("tensorflow", "2.19.1")),
        ("tensorflow-cpu", (), ("tensorflow-cpu", "2.19.1")),
        ("tensorflow-macos", ("tensorflow-macos",), ("tensorflow", "2.19.1")),
    ],
)
def test_another_release_under_a_name_that_has_it(name: str, remove: tuple[str, ...], install: tuple[str, str]) -> None:
    found = state({name: "2.20.0", "pyarrow": "17.0.0"}, system="Darwin", architecture="arm64")
    trouble = next(each for each in known(found) if each.key == "mac-2.20-pyarrow")
    assert [(each.remove, each.install) for each in trouble.cures] == [(remove, (install,))]


def _hiding(pythonpath: str, folder: str = "/opt/a b") -> State:
    numpy = [{"version": "1.24.4", "folder": folder}, {"version": "1.26.4", "shadowed": True}]
    return state({"tensorflow": "2.16.2", "numpy": numpy}, variables={"PYTHONPATH": pythonpath})


@pytest.mark.parametrize(
    ("pythonpath", "command"),
    [
        ("/opt/mine:/opt/a b/:/opt/it's", "`export PYTHONPATH='/opt/mine:/opt/it'\"'\"'s'`"),
        ("/opt/a b", "`unset PYTHONPATH`"),
    ],
)
def test_only_the_directory_that_hides_is_taken_off_the_path(pythonpath: str, command: str) -> None:
    assert _told(_hiding(pythonpath), hidden).remedy[0] == command


@pytest.mark.parametrize("pythonpath", ["/opt/mine", "/opt/a b:/[redacted]"])
def test_a_path_that_is_not_known_is_not_rewritten(pythonpath: str) -> None:
    assert not any("`" in each for each in _told(_hiding(pythonpath), hidden).remedy)


def _over_conda(tensorflow: str, numpy: str, by_conda: str) -> Finding:
    found = state(
        {"tensorflow": tensorflow, "numpy": numpy},
        kind="conda",
        tool="conda",
        prefix="/opt/conda envs/a",
        conda={"numpy": by_conda},
    )
    return _told(found, over_conda)


def test_conda_s_version_comes_back_only_where_it_fits() -> None:
    keep, back = _over_conda("2.16.2", "1.26.4", "1.26.0").remedy
    assert keep.startswith("keep it")
    assert back.endswith(
        f"`{PIP} uninstall -y numpy`, then `conda install -p '/opt/conda envs/a' --force-reinstall numpy==1.26.0`"
    )


@pytest.mark.parametrize("there", ["1.26.4", "2.0.2"], ids=["works", "fails-already"])
def test_conda_s_version_does_not_come_back_where_it_fails(there: str) -> None:
    """TensorFlow 2.15 cannot be imported with NumPy 2."""
    (keep,) = _over_conda("2.15.1", there, "2.2.0").remedy
    assert keep.startswith("keep it") and "conda" not in keep


def test_a_directory_with_a_space_is_quoted() -> None:
    found = state({"numpy": "1.26.4"}, unreadable=["/opt/a b: Permission denied"])
    assert "`chmod -R a+rX '/opt/a b'`" in _told(found, unreadable).remedy[0]
