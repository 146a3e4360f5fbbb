"""The commands that the findings on ground give: each names a release that exists and fits what it is given for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from crashcart.doctor._builds import (
    all_pythons,
    change_release,
    new_environment,
    newest_release,
    official,
    tags_fit,
    tensorflow_pythons,
    wanted,
)
from crashcart.doctor._cuda import gpu_build, needed, with_libraries
from crashcart.doctor._facts import build, facts
from crashcart.doctor._releases import releases
from crashcart.doctor.c_library_too_old import c_library_too_old
from crashcart.doctor.cuda_libraries_not_found import cuda_libraries_not_found
from crashcart.doctor.disk_nearly_full import disk_nearly_full
from crashcart.doctor.no_wheel_for_this_python import no_wheel_for_this_python
from crashcart.doctor.setting_breaks import setting_breaks
from crashcart.evidence import Disk, Environment, GpuDevice
from crashcart.finding import Finding
from crashcart.installation import Distribution, Installation, Interpreter, SharedLibrary
from crashcart.units import GIB, MIB


def environment(*packages: Distribution, tool: str = "pip", system: str = "Linux", kind: str = "venv") -> Installation:
    interpreter = Interpreter(
        "3.11.7", "/env/bin/python", "/env", system=system, architecture="x86_64", kind=kind, tool=tool
    )
    return Installation(interpreter, packages)


@pytest.mark.parametrize("python", all_pythons())
def test_every_known_python_has_a_newest_release(python: str) -> None:
    release = newest_release(python)
    assert release is not None and python in tensorflow_pythons(release)


def test_what_nothing_fits_has_none() -> None:
    assert newest_release("3.5") is None
    assert newest_release("3.11", lambda build: False) is None
    assert tensorflow_pythons("9.9.9") == ()


@pytest.mark.parametrize("version", ["2.14.0", "2.14.1", "2.15.0", "2.15.1", "2.21.0"])
def test_libraries_come_without_a_tensorrt_that_cannot_be_had(version: str) -> None:
    found = with_libraries(Distribution("tensorflow", version))
    assert found[0].partition("==")[2] in facts("tensorflow")["releases"]
    assert not any("tensorrt" in each for each in found)
    assert found[0].startswith("tensorflow[and-cuda]==") or any(
        each.startswith("nvidia-cudnn-cu11==8.7") for each in found
    )


@pytest.mark.parametrize("minor", list(facts("tensorflow")["minors"]))
def test_every_build_names_its_libraries(minor: str) -> None:
    known = build(minor)
    assert known is not None
    names = needed(known)
    assert len(names) == 6 and names[-1] == f"libcudnn.so.{known['cudnn'].partition('.')[0]}"
    assert names[0] in ("libcudart.so.11.0", "libcudart.so.12")


def test_uncapped_releases_are_asked_for_with_a_numpy_that_they_bear() -> None:
    assert wanted("tensorflow", "2.10.1") == ("tensorflow==2.10.1", "numpy<2")
    assert wanted("tensorflow", "2.14.0") == ("tensorflow==2.14.0", "numpy<2")
    assert wanted("tensorflow-cpu", "2.14.1") == ("tensorflow-cpu==2.14.1",)


def test_those_who_refuse_a_release_are_named() -> None:
    text = Distribution("tensorflow-text", "2.18.1", requires=("tensorflow<2.19,>=2.18.0",))
    said = change_release(environment(Distribution("tensorflow", "2.18.1"), text), "tensorflow", "2.20.0")
    assert said.startswith("`/env/bin/python -m pip install tensorflow==2.20.0`")
    assert "tensorflow-text 2.18.1 asks for tensorflow<2.19,>=2.18.0" in said
    assert change_release(environment(text), "tensorflow", "2.18.0").endswith("`")


@pytest.mark.parametrize(
    ("tool", "system", "begins"),
    [
        ("pip", "Linux", "`python3.12 -m venv .venv-tf && .venv-tf/bin/python"),
        ("uv", "Linux", "`uv venv --python 3.12"),
        ("conda", "Linux", "`conda create -n tensorflow python=3.12"),
        ("pip", "Windows", "`py -3.12 -m venv .venv-tf && .venv-tf\\Scripts\\python"),
    ],
)
def test_another_environment_by_the_tool_of_this_one(tool: str, system: str, begins: str) -> None:
    said = new_environment(environment(tool=tool, system=system), "3.12", "tensorflow==2.20.0", "numpy<2")
    assert said.startswith(begins)
    assert said.endswith(' tensorflow==2.20.0 "numpy<2"`' if system == "Windows" else " tensorflow==2.20.0 'numpy<2'`")


@pytest.mark.parametrize(
    ("found", "is_official"),
    [
        (Distribution("tensorflow", "2.18.1", installer="pip"), True),
        (Distribution("tensorflow", "2.18.1", installer="conda"), False),
        (Distribution("tensorflow", "2.17.0+nv25.02", installer="pip"), False),
        (Distribution("tensorflow-rocm", "2.14.0.600", installer="pip"), False),
        (Distribution("tensorflow", None, installer="pip"), True),
        (Distribution("tensorflow", "2.18.1", installer="uv"), True),
        (Distribution("tensorflow", "2.18.1", installer="Poetry 1.8.2"), True),
        (Distribution("tensorflow", "2.18.1", installer="pdm"), True),
        (Distribution("tensorflow", "2.18.1", installer="installer"), False),
        (Distribution("tensorflow", "2.18.1"), False),
        (Distribution("tensorflow", "2.18.1", installer="pip", origin="file:///tensorflow.whl"), False),
    ],
)
def test_builds_of_others_are_not_the_official_wheel(found: Distribution, is_official: bool) -> None:
    assert (official(environment(found)) is not None) is is_official
    assert gpu_build(environment(Distribution("tensorflow", None))) is None


@pytest.mark.parametrize("name", ["tensorflow-gpu", "tf-nightly", "tensorflow-intel"])
def test_a_name_that_lacks_releases_gives_way_to_tensorflow(name: str) -> None:
    pip = "/env/bin/python -m pip"
    said = change_release(environment(Distribution(name, "2.11.0")), name, "2.21.0")
    assert said == f"`{pip} uninstall -y {name}`, then `{pip} install tensorflow==2.21.0`"
    assert releases(name, environment().interpreter) == ()
    assert "2.21.0" in releases("tensorflow-cpu", environment().interpreter)


def test_where_only_another_python_helps_no_first_remedy_is_missed() -> None:
    """Python 3.5 has no release at all; Python 3.12 has one."""
    for python, first in (("3.5.10", "keep the release, with another Python: `"), ("3.12.3", "`")):
        found = Installation(
            Interpreter(python, "/env/bin/python", "/env"), (Distribution("tensorflow", "2.13.1", installer="pip"),)
        )
        (finding,) = no_wheel_for_this_python.judge(installation=found)
        assert finding.remedy[0].startswith(first)
    assert finding.remedy[1].startswith("or keep the release")


def test_paths_are_quoted_for_the_shell() -> None:
    interpreter = replace(environment().interpreter, prefix="/opt/a b", libc="glibc", libc_version="2.36")
    library = SharedLibrary("libstdc++.so.6", "/opt/a b/lib/libstdc++.so.6", "conda", ("GLIBCXX_3.4.1", "CXXABI_1.3.1"))
    found = Installation(interpreter, (Distribution("tensorflow", "2.18.1", installer="pip"),), libraries=(library,))
    (finding,) = c_library_too_old.judge(installation=found)
    assert finding.remedy[0].startswith("`conda install -p '/opt/a b' ")
    aside = SharedLibrary("libcudnn.so.9", "/opt/a b/libcudnn.so.9")
    (finding,) = cuda_libraries_not_found.judge(
        installation=Installation(
            interpreter, (Distribution("tensorflow", "2.18.1", installer="pip"),), libraries=(aside,)
        ),
        gpus=(GpuDevice(0, "NVIDIA A100", 40 * GIB, 40 * GIB),),
    )
    assert finding.remedy[0].startswith("`export LD_LIBRARY_PATH='/opt/a b':$LD_LIBRARY_PATH`")
    (finding,) = disk_nearly_full.judge(disks=(Disk("/mnt/a b", 100 * GIB, 1 * MIB, "ext4"),))
    assert "--max-depth=2 '/mnt/a b' 2>" in finding.remedy[0]


def _settings(variables: dict[str, str], files: dict[str, int | None] | None = None) -> list[Finding]:
    python = Environment(python="3.11.7", executable=None, packages={}, variables=variables)
    return list(setting_breaks.judge(environment=python, installation=environment(), files=files or {}))


def test_a_missing_directory_is_quoted() -> None:
    (finding,) = _settings({"TMPDIR": "/opt/a b"}, {"/opt/a b": None})
    assert finding.remedy == ("`mkdir -p '/opt/a b'`, or `unset TMPDIR`",)


def test_only_the_packages_of_other_pythons_are_taken_off_the_path() -> None:
    old, older = "/opt/python3.9/site-packages", "/opt/python3.8/dist-packages"
    for given, command in ((f"{old}:/my lib:{older}", "export PYTHONPATH='/my lib'"), (old, "unset PYTHONPATH")):
        found = _settings({"PYTHONPATH": given})
        assert found and all(each.remedy[0].startswith(f"`{command}`, and") for each in found)


def test_a_planned_wheel_is_the_indexs_own_unless_an_address_is_named() -> None:
    of_index = replace(environment(Distribution("tensorflow", "2.18.1")), plan="requirements.txt")
    assert official(of_index) is not None
    named = Distribution("tensorflow", "2.18.1", installer="pip", origin="https://example.org/tensorflow.whl")
    assert official(replace(of_index, distributions=(named,))) is None


@pytest.mark.parametrize(
    ("tags", "fits"),
    [
        ((), None),
        (("cp311-cp311-linux_x86_64",), True),
        (("cp39-cp39-linux_x86_64", "cp311-cp311-linux_x86_64"), True),
        (("py3-none-any",), True),
        (("cp38-abi3-linux_x86_64",), True),
        (("cp312-abi3-linux_x86_64",), False),
        (("cp310-cp310-manylinux_2_17_x86_64",), False),
        (("cp31-cp31-linux_x86_64",), False),
        (("junk",), True),
    ],
)
def test_tags_of_a_wheel(tags: tuple[str, ...], fits: bool | None) -> None:
    found = Distribution("tensorflow", "2.18.1", tags=tags)
    assert tags_fit(environment(found), found) is fits
