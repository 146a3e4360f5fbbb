"""What pip would choose for a plan, and what is said where it can choose nothing."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path

import pytest

from crashcart.doctor._facts import TENSORFLOW_NAMES, facts
from crashcart.doctor._planned import planned
from crashcart.doctor._resolver import Search
from crashcart.errors import CannotCheckError, UsageError
from crashcart.installation import Installation, Interpreter, Wanted
from crashcart.probe.plan import read_plan

HERE = Interpreter(version="3.11.7", executable="/usr/bin/python3", prefix="/usr", architecture="x86_64", libc="glibc")


def made(folder: Path, text: str, python: str | None = "3.11", name: str = "requirements.txt") -> Installation:
    (folder / name).write_text(text)
    return planned(read_plan([str(folder / name)]), HERE, python)


def version(installation: Installation, name: str) -> str | None:
    found = installation.find(name)
    assert found is not None, f"{name} is not there"
    return found.version


def test_the_newest_release_of_the_asked_series_and_what_it_asks_for(tmp_path: Path) -> None:
    found = made(tmp_path, "tensorflow==2.15.*\n")
    assert version(found, "tensorflow") == "2.15.1"
    assert version(found, "keras") == "2.15.0"
    assert version(found, "numpy") == "1.26.4"
    assert not found.conflicts
    assert [each.pinned for each in found.distributions if each.name in ("tensorflow", "numpy")] == [False, False]


def test_a_release_without_a_cap_gets_the_numpy_that_it_cannot_use(tmp_path: Path) -> None:
    found = made(tmp_path, "tensorflow==2.10\n", "3.10")
    assert version(found, "tensorflow") == "2.10.0"
    assert str(version(found, "numpy")).startswith("2.")
    assert str(version(found, "protobuf")).startswith("3.19.")


def test_an_older_tensorflow_is_taken_where_a_pin_demands_it(tmp_path: Path) -> None:
    found = made(tmp_path, "tensorflow\nnumpy==1.24.3\n")
    assert (version(found, "tensorflow"), version(found, "numpy")) == ("2.17.1", "1.24.3")
    numpy = found.find("numpy")
    assert numpy is not None and numpy.pinned


def test_constraints_limit_and_ask_for_nothing(tmp_path: Path) -> None:
    (tmp_path / "limits.txt").write_text("tensorflow<2.19\nscipy==1.11.4\n")
    found = made(tmp_path, "-c limits.txt\ntensorflow\n")
    assert version(found, "tensorflow") == "2.18.1"
    assert found.find("scipy") is None


def test_markers_are_those_of_the_planned_python(tmp_path: Path) -> None:
    text = 'tensorflow==2.15.1; python_version < "3.12"\ntensorflow==2.16.2; python_version >= "3.12"\n'
    assert version(made(tmp_path, text, "3.11"), "tensorflow") == "2.15.1"
    assert version(made(tmp_path, text, "3.12"), "tensorflow") == "2.16.2"


def test_extras_bring_their_own_packages(tmp_path: Path) -> None:
    assert version(made(tmp_path, "tensorflow[and-cuda]==2.16.1\n"), "nvidia-cudnn-cu12") == "8.9.7.29"
    assert made(tmp_path, "tensorflow==2.16.1\n").find("nvidia-cudnn-cu12") is None


def test_two_changes_are_named_where_either_is_enough(tmp_path: Path) -> None:
    (conflict,) = made(tmp_path, "tensorflow==2.15.0\nnumpy>=2\n").conflicts
    assert (conflict.kind, conflict.package) == ("ranges", "numpy")
    assert [each.partition(" asks ")[2] for each in conflict.asked] == ["for numpy>=2", "for numpy<2.0.0,>=1.23.5"]
    assert [(each.old, each.new) for each in conflict.changes] == [
        ("numpy>=2", "numpy==1.26.4"),
        ("tensorflow==2.15.0", "tensorflow==2.18.1"),
    ]


def test_only_those_who_exclude_each_other_are_named(tmp_path: Path) -> None:
    (conflict,) = made(tmp_path, "scipy\ntensorflow==2.15.1\nopencv-python==4.12.0.88\npandas\n").conflicts
    assert {each.partition(" asks ")[0] for each in conflict.asked} == {"tensorflow 2.15.1", "opencv-python 4.12.0.88"}


def test_a_change_keeps_extras_and_marker(tmp_path: Path) -> None:
    (conflict,) = made(tmp_path, 'tensorflow[and-cuda]==2.15.1; python_version > "3.8"\n', "3.13").conflicts
    assert conflict.changes[0].new == 'tensorflow[and-cuda]==2.20.0; python_version > "3.8"'


@pytest.mark.parametrize(("python", "kind"), [("3.12", "no-wheel"), ("3.11", None), ("3.9", None)])
def test_a_python_without_wheels(tmp_path: Path, python: str, kind: str | None) -> None:
    found = made(tmp_path, "tensorflow==2.15.1\n", python)
    assert [each.kind for each in found.conflicts] == ([kind] if kind else [])
    assert all(each.pythons == ("3.9", "3.10", "3.11") for each in found.conflicts)


def test_the_nearest_later_release_that_also_works_is_named(tmp_path: Path) -> None:
    """2.8 to 2.11 have wheels for Python 3.10 as well, and pip would put NumPy 2 beside them."""
    (conflict,) = made(tmp_path, "tensorflow==2.5.0\n", "3.10").conflicts
    assert conflict.changes[0].new == "tensorflow==2.12.1"


def test_a_release_that_never_was_and_one_that_is_newer_than_the_facts(tmp_path: Path) -> None:
    (conflict,) = made(tmp_path, "tensorflow==2.15.9\n").conflicts
    assert (conflict.kind, conflict.changes[0].new) == ("no-release", "tensorflow==2.15.1")
    assert not made(tmp_path, "tensorflow==2.99.0\n").conflicts


@pytest.mark.parametrize(
    ("asked", "python", "kind", "new"),
    [
        ("tensorflow-gpu", "3.11", "refuses", "tensorflow[and-cuda]==2.21.0"),
        ("tensorflow-gpu==2.10.1", "3.11", "no-wheel", "tensorflow==2.12.1"),
        ("tensorflow-gpu==2.10.1\nnumpy<2", "3.10", None, None),
    ],
)
def test_tensorflow_gpu(tmp_path: Path, asked: str, python: str, kind: str | None, new: str | None) -> None:
    conflicts = made(tmp_path, f"{asked}\n", python).conflicts
    assert [(each.kind, each.changes[0].new) for each in conflicts] == ([(kind, new)] if kind else [])


def test_what_must_be_compiled_is_said_and_the_rest_is_judged(tmp_path: Path) -> None:
    (conflict,) = made(tmp_path, "tensorflow==2.15.1\nh5py==2.10.0\n", "3.11").conflicts
    assert conflict.package == "h5py"
    assert conflict.builds or conflict.kind == "ranges"


def test_unknown_packages_stay_open(tmp_path: Path) -> None:
    found = made(tmp_path, "tensorflow==2.15.1\nour-own-thing\nother==1.2\n")
    assert (version(found, "our-own-thing"), version(found, "other")) == (None, "1.2")


def test_conda_brings_tensorflow_with_bounds_of_its_own(tmp_path: Path) -> None:
    found = made(tmp_path, "dependencies:\n- python=3.10\n- tensorflow=2.10\n- numpy\n", None, "environment.yml")
    assert (version(found, "tensorflow"), version(found, "numpy")) == ("2.10.1", None)
    assert found.interpreter.minor == "3.10"


def test_pip_replaces_what_conda_brought(tmp_path: Path) -> None:
    text = "dependencies:\n- python=3.11\n- numpy=2.0\n- pip:\n  - tensorflow==2.15.1\n"
    found = made(tmp_path, text, None, "environment.yml")
    assert (version(found, "numpy"), found.conflicts) == ("1.26.4", ())


def test_the_python_of_the_plan(tmp_path: Path) -> None:
    project = '[project]\nname = "x"\nrequires-python = "{}"\ndependencies = ["tensorflow"]\n'
    assert made(tmp_path, project.format(">=3.9"), None, "pyproject.toml").interpreter.version == "3.11.7"
    assert made(tmp_path, project.format(">=3.8,<3.11"), None, "pyproject.toml").interpreter.version == "3.10"
    assert made(tmp_path, project.format(">=3.12"), None, "pyproject.toml").interpreter.version == "3.13"
    with pytest.raises(CannotCheckError, match="no known Python"):
        made(tmp_path, project.format("<3"), None, "pyproject.toml")
    with pytest.raises(CannotCheckError, match="no range"):
        made(tmp_path, project.format("three"), None, "pyproject.toml")
    with pytest.raises(UsageError, match="not known"):
        made(tmp_path, "tensorflow\n", "3.99")


def test_a_missing_include_is_a_conflict(tmp_path: Path) -> None:
    (conflict,) = made(tmp_path, "tensorflow\n-r nowhere.txt\n").conflicts
    assert conflict.kind == "missing-file"


def test_several_missing_includes_are_one_conflict(tmp_path: Path) -> None:
    (conflict,) = made(tmp_path, "tensorflow\n-r nowhere.txt\n-r neither.txt\n-r nowhere.txt\n").conflicts
    assert conflict.kind == "missing-file"
    assert len(conflict.asked) == 3


def test_a_file_that_includes_itself_is_a_conflict_of_its_own(tmp_path: Path) -> None:
    (conflict,) = made(tmp_path, "tensorflow\n-r requirements.txt\n-c requirements.txt\n").conflicts
    assert (conflict.kind, len(conflict.asked)) == ("includes-itself", 2)


def test_a_long_plan_of_unknown_packages(tmp_path: Path) -> None:
    pins = "".join(f"our-package-{number}==1.{number}\n" for number in range(3000))
    found = made(tmp_path, f"{pins}tensorflow==2.15.1\n")
    assert (version(found, "our-package-2999"), version(found, "numpy")) == ("1.2999", "1.26.4")
    assert not found.conflicts and not found.unread
    (conflict,) = made(tmp_path, f"{pins}tensorflow==2.15.1\nour-package-7==3\n").conflicts
    assert (conflict.package, len(conflict.asked)) == ("our-package-7", 2)


def test_a_search_that_goes_too_deep_is_given_up() -> None:
    names = ["tensorflow", *(each for each in facts("releases")["packages"] if each not in TENSORFLOW_NAMES)]
    wanted = [Wanted(each, "", each, "requirements.txt") for each in names]
    whole = Search(HERE, wanted)
    assert whole.run() is not None and not whole.exhausted
    limit = sys.getrecursionlimit()
    search = Search(HERE, wanted)
    sys.setrecursionlimit(len(inspect.stack(0)) + len(names) - 5)
    try:
        found = search.run()
    finally:
        sys.setrecursionlimit(limit)
    assert found is None and search.exhausted
