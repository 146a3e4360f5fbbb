"""The real nvidia-ml-py over a stand-in for the driver's library, in a process of its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.nvml.driver import GIB, Driver, Gpu

READ = """
import json, os, pathlib
from crashcart.blackbox.codec import to_plain
from crashcart.probe.gpu import absent_reason, read_gpus
root = pathlib.Path(os.environ["ROOT"])
print(json.dumps([to_plain(read_gpus(root)), absent_reason(root)]))
"""
FOLLOW = """
import os, pathlib
from crashcart.probe.gpu import GpuReader
reader = GpuReader(pathlib.Path(os.environ["ROOT"]))
print(reader.count, reader.use(), reader.name(0), reader.processes(0), reader.used_bytes(77), reader.absent)
os.unlink(os.environ["STAND_IN_NVML"])
print(reader.count, reader.use(), reader.name(0), reader.processes(0), reader.used_bytes(77))
reader.close()
print(reader.count, reader.use(), reader.name(0), reader.processes(0), reader.used_bytes(77))
"""


@pytest.mark.parametrize("flags", [(), ("-DOLD_DRIVER",)], ids=["a driver of today", "a driver older than the package"])
def test_name_size_free_memory_and_processes(tmp_path: Path, flags: tuple[str, ...]) -> None:
    driver = Driver(tmp_path, *flags)
    driver.say(
        Gpu(4 * GIB, held={77: 3 * GIB, 78: None}), Gpu(0, 80 * GIB, name="NVIDIA A100-SXM4-80GB", capability="8.0")
    )
    devices, reason = json.loads(driver.run(READ).stdout)
    assert reason == ""
    assert devices == [
        {
            "index": 0, "name": "Tesla T4", "total_bytes": 16 * GIB, "free_bytes": 12 * GIB, "driver": "550.54.15",
            "processes": {"77": 3 * GIB, "78": None}, "capability": "7.5",
        },
        {
            "index": 1, "name": "NVIDIA A100-SXM4-80GB", "total_bytes": 80 * GIB, "free_bytes": 80 * GIB,
            "driver": "550.54.15", "processes": {}, "capability": "8.0",
        },
    ]  # fmt: skip


def test_a_driver_that_goes_away_is_followed_no_further(tmp_path: Path) -> None:
    driver = Driver(tmp_path)
    driver.say(Gpu(4 * GIB, held={77: 3 * GIB, 78: None}))
    there, gone, closed = driver.run(FOLLOW).stdout.splitlines()
    used = {0: (4 * GIB, 16 * GIB)}
    assert there == f"1 {used} Tesla T4 { {77: 3 * GIB, 78: None} } {3 * GIB} None"
    assert gone == "1 {} None {} None"
    assert closed == "0 {} None {} None"


def test_a_library_without_its_driver(tmp_path: Path) -> None:
    devices, reason = json.loads(Driver(tmp_path).run(READ).stdout)
    assert devices is None
    assert reason == "the NVIDIA driver does not answer: Driver Not Loaded"


def test_a_driver_that_was_updated_without_a_restart(tmp_path: Path) -> None:
    driver = Driver(tmp_path)
    driver.say(Gpu(0))
    devices, reason = json.loads(driver.run(READ, STAND_IN_ERROR="18").stdout)
    assert devices is None
    assert reason == "the NVIDIA driver does not answer: RM has detected an NVML/RM version mismatch."
