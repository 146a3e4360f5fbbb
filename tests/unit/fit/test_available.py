"""How much memory there is for a step, and which figure is compared with it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from crashcart.errors import UsageError
from crashcart.fit import available as module
from crashcart.fit.available import _left_here, available
from crashcart.ground import GpuDevice
from crashcart.probe.host_room import PROCESS_BYTES
from crashcart.probe.memory import rooms
from crashcart.units import GIB


@pytest.fixture(autouse=True)
def shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(module, "_is_installed", lambda name: name == "tensorflow")


def test_memory_that_was_named_is_a_host_less_the_process_itself() -> None:
    found = available("16G", None, None)
    assert (found.bytes, found.where, found.target) == (16 * GIB - PROCESS_BYTES, "given", "host")
    assert found.limit_bytes == 16 * GIB
    assert found.note is not None and "16.0 GiB" in found.note


def test_memory_of_a_device_is_taken_as_it_is() -> None:
    found = available("16G", None, "device")
    assert (found.bytes, found.target, found.limit_bytes, found.note) == (16 * GIB, "device", 16 * GIB, None)


def test_bytes_may_be_given_as_a_number() -> None:
    assert available(2 * GIB, None, None).limit_bytes == 2 * GIB


def test_a_named_gpu_is_a_device() -> None:
    found = available(None, "A100-40G", None)
    assert (found.where, found.target) == ("A100-40G", "device")
    assert found.bytes is not None and 37 * GIB < found.bytes < 38 * GIB


@pytest.mark.parametrize(
    "arguments", [("16G", "T4", None), (None, "T4", "host"), ("much", None, None), ("0", None, None)]
)
def test_what_cannot_be_meant_is_refused(arguments: tuple[str | None, str | None, str | None]) -> None:
    with pytest.raises(UsageError):
        available(*arguments)


def test_a_gpu_that_is_here_comes_before_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    card = GpuDevice(0, "NVIDIA L4", 23 * GIB, 22 * GIB, capability="8.9")
    monkeypatch.setattr(module.gpu_probe, "read_gpus", lambda: (card, card))
    found = available(None, None, None)
    assert (found.where, found.target) == ("NVIDIA L4", "device")
    assert found.bytes is not None and 19 * GIB < found.bytes < 20 * GIB  # less context and TensorFlow's reserve
    assert found.note is not None and "1 more" in found.note
    assert available(None, None, "host").where != "NVIDIA L4"


def test_what_the_own_process_holds_of_a_gpu_is_there_for_its_model(monkeypatch: pytest.MonkeyPatch) -> None:
    full = GpuDevice(0, "NVIDIA L4", 23 * GIB, GIB, capability="8.9", processes={os.getpid(): 21 * GIB})
    monkeypatch.setattr(module.gpu_probe, "read_gpus", lambda: (full,))
    own, other = available(None, None, None, 0), available(None, None, None)
    assert own.bytes is not None and 19 * GIB < own.bytes < 20 * GIB
    assert other.bytes == 0


def test_without_a_gpu_it_is_the_container_or_the_machine() -> None:
    found = _left_here("host", None)
    assert found.where in ("container", "machine") and found.target == "host"
    assert found.bytes is not None and found.limit_bytes is not None
    assert found.limit_bytes - found.bytes == PROCESS_BYTES


def test_in_the_own_process_the_process_is_there_already_and_so_is_the_model() -> None:
    fresh, own = _left_here("host", None), _left_here("host", 5 * GIB)
    assert fresh.bytes is not None and own.bytes is not None
    assert abs(own.bytes - fresh.bytes - PROCESS_BYTES - 5 * GIB) < GIB  # two looks at a machine that others use, too


def test_the_groups_room_is_what_it_does_not_use(tmp_path: Path) -> None:
    root = tmp_path
    group = root / "sys/fs/cgroup/memory/job"
    group.mkdir(parents=True)
    (root / "proc/7").mkdir(parents=True)
    (root / "proc/7/cgroup").write_text("4:memory:/job\n")
    mount = "30 25 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    for name in ("7", "self"):
        (root / "proc" / name).mkdir(exist_ok=True)
        (root / "proc" / name / "mountinfo").write_text(mount)
    (root / "proc/meminfo").write_text("MemTotal: 33554432 kB\nMemAvailable: 25165824 kB\n")
    (group / "memory.limit_in_bytes").write_text(str(8 * GIB))
    (group / "memory.usage_in_bytes").write_text(str(3 * GIB))
    (group / "memory.stat").write_text(f"total_inactive_file {GIB}\ntotal_active_file 0\n")
    assert sorted(rooms(7, root)) == [(6 * GIB, "container"), (24 * GIB, "machine")]
    with (group / "memory.stat").open("a") as stat:
        stat.write(f"hierarchical_memory_limit {5 * GIB}\n")
    assert sorted(rooms(7, root)) == [(3 * GIB, "container"), (24 * GIB, "machine")]


def test_where_nothing_can_be_read_nothing_is_known(tmp_path: Path) -> None:
    found = _left_here("host", None, tmp_path)
    assert (found.bytes, found.where) == (None, None)


def test_the_gpu_is_the_first_that_cuda_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    small = GpuDevice(0, "NVIDIA T4", 15 * GIB, 14 * GIB, capability="7.5")
    large = GpuDevice(1, "NVIDIA L4", 23 * GIB, 22 * GIB, capability="8.9")
    monkeypatch.setattr(module.gpu_probe, "read_gpus", lambda: (small, large))
    monkeypatch.setattr(module.gpu_probe, "read_uuids", lambda: {0: "GPU-aa11", 1: "GPU-bb22"})
    for listed, where in (("1", "NVIDIA L4"), ("1,0", "NVIDIA L4"), ("GPU-b", "NVIDIA L4"), ("0,1", "NVIDIA T4")):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", listed)
        assert available(None, None, None).where == where
    for listed in ("", "-1", "2,0", "MIG-aa11"):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", listed)
        assert available(None, None, None).target == "host"


def test_a_build_for_the_cpu_has_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    card = GpuDevice(0, "NVIDIA L4", 23 * GIB, 22 * GIB, capability="8.9")
    monkeypatch.setattr(module.gpu_probe, "read_gpus", lambda: (card,))
    for installed, target in (
        ({"tensorflow-cpu"}, "host"),
        ({"tensorflow-cpu", "tensorflow"}, "device"),
        (set(), "device"),
    ):
        monkeypatch.setattr(module, "_is_installed", lambda name, installed=installed: name in installed)
        assert available(None, None, None).target == target
