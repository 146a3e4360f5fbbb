from __future__ import annotations

import importlib.metadata
import os
import sysconfig
from pathlib import Path

import pytest

from crashcart.probe.packages import canonical, development_name, installed


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ("numpy-1.26.4.dist-info", {"numpy": "1.26.4"}),
        ("tensorflow_cpu-2.21.0.dist-info", {"tensorflow-cpu": "2.21.0"}),
        ("Ruamel.Yaml-0.18.6.dist-info", {"ruamel-yaml": "0.18.6"}),
        ("torch-2.3.0+cu121.dist-info", {"torch": "2.3.0+cu121"}),
        ("jax-0.4.30.dev20240601.dist-info", {"jax": "0.4.30.dev20240601"}),
        ("old-style-name-1.0.dist-info", {"old-style-name": "1.0"}),
        ("PyYAML-5.3.1.egg-info", {"pyyaml": "5.3.1"}),
        ("python_apt-2.4.0-py3.10.egg-info", {"python-apt": "2.4.0"}),
        ("horovod-0.28.1-py3.8-linux-x86_64.egg-info", {"horovod": "0.28.1"}),
        ("mine.egg-info", {}),
        ("~umpy-1.26.4.dist-info", {}),
        ("numpy", {}),
        ("numpy-1.26.4.data", {}),
    ],
)
def test_names_of_directories(tmp_path: Path, entry: str, expected: dict[str, str]) -> None:
    (tmp_path / entry).mkdir()
    assert installed([str(tmp_path)]) == expected


def test_first_directory_wins(tmp_path: Path) -> None:
    for folder, version in (("venv", "2.0"), ("system", "1.0")):
        (tmp_path / folder / f"numpy-{version}.dist-info").mkdir(parents=True)
    (tmp_path / "system" / "six-1.16.0.dist-info").mkdir()
    found = installed([str(tmp_path / "venv"), str(tmp_path / "missing"), str(tmp_path / "system")])
    assert found == {"numpy": "2.0", "six": "1.16.0"}


@pytest.mark.parametrize(("later", "version"), [("numpy-1.26.4", "1.26.4"), ("numpy-2.1.0", "2.1.0")])
def test_of_two_entries_the_later_installed_counts(tmp_path: Path, later: str, version: str) -> None:
    for name in ("numpy-1.26.4", "numpy-2.1.0"):
        entry = tmp_path / f"{name}.dist-info"
        entry.mkdir()
        at_s = 2000 if name == later else 1000
        os.utime(entry, (at_s, at_s))
    assert installed([str(tmp_path)]) == {"numpy": version}


def test_a_file_is_no_directory_of_packages(tmp_path: Path) -> None:
    (tmp_path / "python311.zip").touch()
    assert installed([str(tmp_path / "python311.zip")]) == {}


def test_agrees_with_the_metadata_of_this_environment() -> None:
    directory = sysconfig.get_path("purelib")
    distributions = importlib.metadata.distributions(path=[directory])
    expected = {canonical(each.metadata["Name"]): each.version for each in distributions}
    found = installed([directory])
    assert found
    assert {name: found.get(name) for name in expected} == expected


@pytest.mark.parametrize(
    ("entry", "name"),
    [
        ("My_Lib.egg-info", "my-lib"),
        ("my-lib.egg-link", "my-lib"),
        ("my_lib-0.3.egg-info", None),
        ("my_lib-0.3.dist-info", None),
        ("my_lib", None),
    ],
)
def test_names_of_development_installs(entry: str, name: str | None) -> None:
    assert development_name(entry) == name
