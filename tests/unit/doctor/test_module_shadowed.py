"""What to rename, and what may be meant."""

from __future__ import annotations

import pytest

from crashcart.doctor.module_shadowed import module_shadowed
from crashcart.finding import Finding, Level
from tests.unit.doctor.ground import state

PATH = "/home/ada/lib, which is on PYTHONPATH"


def _found(
    file: str, place: str | None = None, hidden: str | None = "/x/site-packages/requests/__init__.py"
) -> Finding:
    shadow = {"name": "requests", "file": file, "hidden": hidden} | ({"place": place} if place else {})
    (finding,) = module_shadowed.judge(installation=state({}, shadows=[shadow]).installation)
    return finding


def test_of_a_package_the_folder_is_renamed() -> None:
    finding = _found("/home/ada/lib/requests/__init__.py")
    assert finding.headline == "/home/ada/lib/requests hides the installed requests"
    assert finding.remedy == ("rename /home/ada/lib/requests",) and finding.level is Level.PROBLEM


def test_of_a_package_that_hides_a_standard_module_too() -> None:
    finding = _found("/home/ada/lib/random/__init__.py", hidden=None)
    assert "__init__" not in finding.headline + finding.remedy[0]


@pytest.mark.parametrize(
    ("file", "level"),
    [("/home/ada/lib/requests/__init__.py", Level.RISK), ("/home/ada/lib/requests.py", Level.PROBLEM)],
)
def test_a_whole_package_on_the_path_may_be_meant(file: str, level: Level) -> None:
    finding = _found(file, PATH)
    assert finding.level is level
    assert finding.remedy[0].startswith("nothing, if that is meant") is (level is Level.RISK)
