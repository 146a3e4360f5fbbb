"""The evidence of a machine with an NVIDIA driver, and the rules over it, through the command's own path."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest

from crashcart.doctor import examine_ground
from crashcart.doctor.collect import collect, collect_around
from crashcart.finding import Level
from tests.nvml.driver import GIB, Driver, Gpu
from tests.unit.doctor.ground import state

DOCTOR = """
import json, os, pathlib
from crashcart.doctor import examine_ground
from crashcart.doctor.collect import collect, collect_around
code = [os.environ["CODE"]] if "CODE" in os.environ else []
evidence = collect(code=code, root=pathlib.Path(os.environ["ROOT"]))
report = examine_ground(evidence)
print(json.dumps([[f.code, f.level.value, f.headline, f.where and f.where.line] for f in report.findings if f.code[1] in "3"]))
"""


def found(driver: Driver, **options: Any) -> list[list[Any]]:
    answer: list[list[Any]] = json.loads(driver.run(DOCTOR, **options).stdout)
    return answer


@pytest.fixture
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Driver:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    made = Driver(tmp_path)
    made.say(Gpu(0))
    return made


def test_a_free_gpu_is_worth_a_note_at_most(driver: Driver) -> None:
    assert {level for _, level, _, _ in found(driver)} <= {"note"}


def test_a_gpu_that_others_hold(driver: Driver) -> None:
    driver.say(Gpu(15 * GIB, held={77: 15 * GIB}))
    codes = {code: (level, headline) for code, level, headline, _ in found(driver)}
    assert codes["D308"] == ("risk", "GPU 0 (Tesla T4) has 1.00 GiB of 16.0 GiB free")


def test_a_variable_that_names_another_gpu(driver: Driver) -> None:
    codes = {code: level for code, level, _, _ in found(driver, CUDA_VISIBLE_DEVICES="1")}
    assert codes["D305"] == "risk"


def test_a_driver_that_refuses(driver: Driver) -> None:
    codes = {code: headline for code, _, headline, _ in found(driver, STAND_IN_ERROR="18")}
    assert "version mismatch" in codes["D307"]


def test_a_device_that_the_code_names(driver: Driver, tmp_path: Path) -> None:
    code = tmp_path / "train.py"
    code.write_text('import torch\nmodel.to("cuda:0")\nmodel.to("cuda:1")\n')
    named = [each for each in found(driver, CODE=str(code)) if each[0] == "D306"]
    assert named == [["D306", "problem", "the code names GPU 1, and only GPU 0 is here", 3]]


def test_without_a_driver_there_are_no_devices(tmp_path: Path) -> None:
    evidence = collect(root=tmp_path)
    assert evidence.gpus == ()
    assert "gpus" not in evidence.absent and "train.py" in evidence.absent["devices_named"]


@pytest.mark.parametrize("sign", ["dev/kfd", "dev/nvhost-gpu", "etc/nv_tegra_release"])
def test_devices_that_cannot_be_asked_for_are_unknown(tmp_path: Path, sign: str) -> None:
    (tmp_path / sign).parent.mkdir()
    (tmp_path / sign).write_text("")
    evidence = collect(root=tmp_path)
    assert evidence.gpus is None and "others" in evidence.absent["gpus"]


@pytest.mark.parametrize(
    "package", [("torch", "2.4.1+rocm6.1"), ("torch", "2.6.0+xpu"), ("tensorflow-rocm", "2.14.0.600")]
)
def test_with_a_build_for_other_devices_they_are_unknown(tmp_path: Path, package: tuple[str, str]) -> None:
    installed = state(dict([package])).installation
    assert collect_around(installed, root=tmp_path).gpus is None
    assert collect_around(state({"torch": "2.4.1+cu124"}).installation, root=tmp_path).gpus == ()


def test_only_telling_variables_are_kept_and_secrets_are_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hidden")
    monkeypatch.setenv("FAVOURITE_COLOUR", "blue")
    monkeypatch.setenv("TF_GPU_ALLOCATOR", "cuda_malloc_async")
    monkeypatch.setenv("PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION", "python")
    evidence = collect(root=tmp_path)
    assert evidence.environment is not None
    kept = evidence.environment.variables
    assert "AWS_SECRET_ACCESS_KEY" not in kept and "FAVOURITE_COLOUR" not in kept
    assert kept["TF_GPU_ALLOCATOR"] == "cuda_malloc_async"
    assert kept["PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"] == "python"


def test_code_that_cannot_be_parsed_is_said(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("def (:\n")
    evidence = collect(code=[str(tmp_path / "train.py")], root=tmp_path)
    report = examine_ground(evidence)
    notes = [each for each in report.findings if each.code == "D306"]
    assert [each.level for each in notes] == [Level.NOTE]
    assert "train.py, line 1" in notes[0].because[0]


def test_the_environment_of_these_tests_is_sound(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a machine's limits and disks are is not ours to say; its Python, platform, libraries and settings are right."""
    for name in ("CUDA_VISIBLE_DEVICES", "KMP_DUPLICATE_LIB_OK", "PYTHONPATH", "LD_LIBRARY_PATH"):
        monkeypatch.delenv(name, raising=False)
    report = examine_ground(collect())
    grave = [each for each in report.findings if each.level is not Level.NOTE and each.code[:2] in ("D2", "D5")]
    assert [each.headline for each in grave] == []
    assert [each for each in report.unchecked if "failed" in " ".join(each.missing)] == []


def test_where_nothing_temporary_can_be_written_the_rest_is_still_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: ["/nowhere"])
    monkeypatch.setenv("TMPDIR", "/")
    assert collect().disks
