from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from crashcart.probe.machine import boot_id, read_machine, usable_cores

Find = Callable[[str], Path]
GIB = 1024**3


def test_whole_machine(machine: Find) -> None:
    found = read_machine(4242, machine("v1-flat"))
    assert (found.system, found.release, found.architecture) == ("Linux", "5.15.0-91-generic", "x86_64")
    assert found.cpu_model == "Intel(R) Core(TM) i5-3570 CPU @ 3.40GHz"
    assert found.cpu_flags is not None
    assert "avx" in found.cpu_flags and "avx2" not in found.cpu_flags
    assert (found.ram_bytes, found.swap_bytes) == (16 * GIB, 2 * GIB)
    assert found.boot_id == "e877d427-4f13-4fc8-87b6-42e6dcc283ba"
    assert found.rlimits is not None and found.rlimits["nofile"] == 1024
    limit = found.memory_limit()
    assert limit is not None and (limit.kind, limit.bytes) == ("container", 2 * GIB)


def test_cores_are_those_that_are_online_and_allowed(machine: Find) -> None:
    assert read_machine(4242, machine("v1-flat")).cores == 2, "allowed 0-1,6-7; online 0-3"


@pytest.mark.parametrize(("online", "cores"), [("0\n", 1), ("0-7\n", 8), ("0,2,4-5\n", 4), ("?\n", None)])
def test_cores_of_a_process_that_is_gone(machine: Find, tmp_path: Path, online: str, cores: int | None) -> None:
    root = shutil.copytree(machine("v1-flat"), tmp_path / "machine")
    (root / "sys/devices/system/cpu/online").write_text(online)
    assert read_machine(1, root).cores == cores


def test_arm_names_its_instruction_sets_otherwise(machine: Find) -> None:
    found = read_machine(300, machine("no-cgroup"))
    assert found.cpu_flags == frozenset({"fp", "asimd", "evtstrm", "aes", "crc32", "atomics"})
    assert found.cpu_model is None
    assert (found.cores, found.boot_id, found.rlimits, found.swap_bytes) == (None, None, None, None)


def test_this_machine() -> None:
    found = read_machine(os.getpid())
    assert found.system == "Linux"
    assert found.cores == len(os.sched_getaffinity(0))
    assert found.boot_id == boot_id()


def test_the_processors_own_architecture_under_emulation(machine: Find, tmp_path: Path) -> None:
    root = shutil.copytree(machine("no-cgroup"), tmp_path / "machine")
    assert os.uname().machine != "x86_64" or read_machine(300, root).architecture == "aarch64"
    (root / "proc/sys/kernel").mkdir(parents=True, exist_ok=True)
    (root / "proc/sys/kernel/arch").write_text("riscv64\n")
    assert read_machine(300, root).architecture == "riscv64"


def test_promises_of_memory(machine: Find, tmp_path: Path) -> None:
    root = shutil.copytree(machine("v1-flat"), tmp_path / "machine")
    assert read_machine(1, root).overcommit is None
    (root / "proc/sys/vm").mkdir(parents=True, exist_ok=True)
    (root / "proc/sys/vm/overcommit_memory").write_text("2\n")
    (root / "proc/meminfo").write_text("MemTotal: 16 kB\nCommitLimit:    12341208 kB\nCommitted_AS:    1108808 kB\n")
    found = read_machine(1, root)
    assert (found.overcommit, found.commit_limit_bytes, found.committed_bytes) == (2, 12341208 * 1024, 1108808 * 1024)


def test_cards_on_the_bus_with_and_without_a_driver(machine: Find, tmp_path: Path) -> None:
    root = shutil.copytree(machine("v1-flat"), tmp_path / "machine")
    assert (read_machine(1, root).nvidia_cards, read_machine(1, root).nvidia_driver) == (None, False)
    for name, vendor, kind in (
        ("0000:01:00.0", "0x10de", "0x030200"),
        ("0000:01:00.1", "0x10de", "0x040300"),
        ("0000:02:00.0", "0x8086", "0x030000"),
    ):
        device = root / "sys/bus/pci/devices" / name
        device.mkdir(parents=True)
        (device / "vendor").write_text(f"{vendor}\n")
        (device / "class").write_text(f"{kind}\n")
    assert read_machine(1, root).nvidia_cards == 1, "its sound device and Intel's card do not count"
    (root / "proc/driver/nvidia").mkdir(parents=True)
    (root / "proc/driver/nvidia/version").touch()
    assert read_machine(1, root).nvidia_driver is True


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system binds no process to processors")
def test_a_process_that_is_bound_has_fewer_processors() -> None:
    allowed = os.sched_getaffinity(0)
    assert usable_cores() == len(allowed)
    try:
        os.sched_setaffinity(0, {min(allowed)})
        assert usable_cores() == 1
    finally:
        os.sched_setaffinity(0, allowed)
