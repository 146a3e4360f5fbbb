from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from crashcart.probe.machine import read_machine
from crashcart.probe.tasks import task_limits

Find = Callable[[str], Path]


def test_v1_the_container_sees_its_own_limit(machine: Find) -> None:
    assert task_limits(17, machine("v1-docker")) == {"/sys/fs/cgroup/pids/pids.max": 100}


def test_v2_limits_of_the_groups_above(machine: Find) -> None:
    slices = {
        "/sys/fs/cgroup/user.slice/user-1000.slice/pids.max": 10813,
        "/sys/fs/cgroup/user.slice/pids.max": 30000,
    }
    assert task_limits(4242, machine("v2-nested")) == slices, "the word max is no limit"
    assert read_machine(4242, machine("v2-nested")).task_limits == slices


def test_no_limit_is_empty(machine: Find) -> None:
    assert task_limits(4242, machine("v1-flat")) == {}
    assert task_limits(300, machine("no-cgroup")) == {}


def test_a_process_outside_of_what_is_mounted(machine: Find, tmp_path: Path) -> None:
    assert task_limits(1, tmp_path) == {}
    assert task_limits(1, machine("v2-namespace")) == {}
