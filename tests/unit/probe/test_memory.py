from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from crashcart.evidence import MemoryLimit
from crashcart.probe.memory import HostMemory, MemoryGroup, find_groups, memory_limits, oom_kills_host, read_host

MIB = 1024**2
GIB = 1024**3
Find = Callable[[str], Path]


def shown(groups: tuple[MemoryGroup, ...]) -> list[tuple[str, int | None]]:
    return [(group.limit_source, group.limit_bytes()) for group in groups]


def test_host_memory_is_in_bytes(machine: Find) -> None:
    assert read_host(machine("v1-flat")) == HostMemory(16 * GIB, 12 * GIB, 2 * GIB, 3 * GIB // 2)


def test_what_an_old_kernel_does_not_show_is_none(machine: Find) -> None:
    assert read_host(machine("no-cgroup")) == HostMemory(4041916 * 1024, None, None, None)


def test_no_meminfo_is_none(tmp_path: Path) -> None:
    assert read_host(tmp_path) is None


def test_host_kills(machine: Find) -> None:
    assert oom_kills_host(machine("v1-flat")) == 13
    assert oom_kills_host(machine("no-cgroup")) is None


def test_v1_own_limit(machine: Find) -> None:
    own, top = find_groups(4242, machine("v1-flat"))
    assert own.limit_source == "/sys/fs/cgroup/memory/job-7/memory.limit_in_bytes"
    assert own.path == machine("v1-flat") / "sys/fs/cgroup/memory/job-7"
    assert (own.version, own.limit_bytes(), own.usage_bytes(), own.oom_kills()) == (1, 2 * GIB, 1500 * MIB, 3)
    assert own.reclaimable_bytes() == 240 * MIB, "inactive and active, with all groups below"
    assert own.limit_hits() == 87
    assert top.limit_bytes() is None, "the page-rounded largest number is no limit"


def test_v1_limit_of_an_ancestor(machine: Find) -> None:
    top = "/sys/fs/cgroup/memory"
    job = f"{top}/slurm/uid_1000/job_77"
    assert shown(find_groups(4242, machine("v1-nested"))) == [
        (f"{job}/step_batch/task_0/memory.limit_in_bytes", None),
        (f"{job}/step_batch/memory.limit_in_bytes", None),
        (f"{job}/memory.limit_in_bytes", 8 * GIB),
        (f"{top}/slurm/uid_1000/memory.limit_in_bytes", None),
        (f"{top}/slurm/memory.limit_in_bytes", None),
        (f"{top}/memory.limit_in_bytes", None),
    ]


def test_v1_ancestor_that_is_not_charged_does_not_bind(machine: Find, tmp_path: Path) -> None:
    root = shutil.copytree(machine("v1-nested"), tmp_path / "machine")
    (root / "sys/fs/cgroup/memory/slurm/uid_1000/job_77/memory.use_hierarchy").write_text("0\n")
    groups = find_groups(4242, root)
    assert [group.path.name for group in groups] == ["task_0", "step_batch"]


def test_docker_v1_maps_the_hosts_path_through_the_mounts_root(machine: Find) -> None:
    (own,) = find_groups(17, machine("v1-docker"))
    assert (own.limit_source, own.limit_bytes()) == ("/sys/fs/cgroup/memory/memory.limit_in_bytes", 4 * GIB)
    assert own.oom_kills() == 2
    assert [limit.kind for limit in memory_limits(17, machine("v1-docker"))] == ["container", "machine"]


def test_of_two_mounts_the_one_that_shows_the_group_counts(machine: Find, tmp_path: Path) -> None:
    root = shutil.copytree(machine("v1-docker"), tmp_path / "machine")
    other = shutil.copytree(root / "sys/fs/cgroup/memory", root / "mnt/other")
    (other / "memory.limit_in_bytes").write_text("4096\n")
    table = root / "proc/self/mountinfo"
    table.write_text("30 24 0:31 /docker/other /mnt/other rw - cgroup cgroup rw,memory\n" + table.read_text())
    assert [group.limit_bytes() for group in find_groups(17, root)] == [4 * GIB]


def test_v1_limit_above_the_container_is_told_by_its_statistics(machine: Find) -> None:
    limits = memory_limits(17, machine("v1-kubernetes"))
    assert limits[0] == MemoryLimit("container", GIB, "/sys/fs/cgroup/memory/memory.stat hierarchical_memory_limit")


def test_v1_statistics_repeat_no_limit_that_is_seen(machine: Find) -> None:
    sources = [limit.source for limit in memory_limits(4242, machine("v1-nested")) if limit.kind == "container"]
    assert sources == ["/sys/fs/cgroup/memory/slurm/uid_1000/job_77/memory.limit_in_bytes"]


def test_v2_literal_max_and_the_slice_above(machine: Find) -> None:
    session, user, users = find_groups(4242, machine("v2-nested"))
    assert [each.limit_bytes() for each in (session, user, users)] == [None, 6 * GIB, None]
    assert user.limit_source == "/sys/fs/cgroup/user.slice/user-1000.slice/memory.max"
    assert (user.version, user.usage_bytes(), user.reclaimable_bytes()) == (2, 5 * GIB, 1600 * MIB)
    assert (user.oom_kills(), user.limit_hits()) == (1, 41)
    assert user.hierarchical_limit_bytes() is None, "version 2 tells nothing of what is above"


def test_v2_leaf_without_the_memory_controller_belongs_to_its_parent(machine: Find) -> None:
    assert find_groups(4243, machine("v2-nested"))[0].path.name == "session-2.scope"


def test_v2_group_that_was_removed_leaves_its_ancestors(machine: Find) -> None:
    assert find_groups(4244, machine("v2-nested"))[0].path.name == "user-1000.slice"


def test_v2_in_a_cgroup_namespace(machine: Find) -> None:
    (own,) = find_groups(1, machine("v2-namespace"))
    assert (own.limit_source, own.limit_bytes()) == ("/sys/fs/cgroup/memory.max", 3 * GIB)
    assert own.oom_kills() == 0


def test_process_outside_our_namespace_has_no_group_that_we_see(machine: Find) -> None:
    assert find_groups(8, machine("v2-namespace")) == ()


def test_v2_mount_from_above_the_namespace_shows_its_top(machine: Find) -> None:
    assert shown(find_groups(1, machine("v2-host-mount"))) == [("/sys/fs/cgroup/memory.max", 12 * GIB)]


def test_hybrid_takes_memory_from_version_1(machine: Find) -> None:
    groups = find_groups(4242, machine("hybrid"))
    assert [group.version for group in groups] == [1, 1, 1]
    assert groups[0].limit_source == "/sys/fs/cgroup/memory controller/jobs/a b/memory.limit_in_bytes"
    assert groups[0].limit_bytes() == GIB


@pytest.mark.parametrize("pid", [300, 99999])
def test_no_cgroup_and_no_process(machine: Find, pid: int) -> None:
    assert find_groups(pid, machine("no-cgroup")) == ()
    assert memory_limits(pid, machine("no-cgroup")) == (
        MemoryLimit("machine", 4041916 * 1024, "/proc/meminfo MemTotal"),
    )


def test_limits_of_all_kinds(machine: Find) -> None:
    assert memory_limits(4242, machine("v1-flat")) == (
        MemoryLimit("container", 2 * GIB, "/sys/fs/cgroup/memory/job-7/memory.limit_in_bytes"),
        MemoryLimit("machine", 16 * GIB, "/proc/meminfo MemTotal"),
        MemoryLimit("address-space", 8 * GIB, "/proc/4242/limits Max address space"),
        MemoryLimit("data-segment", 4 * GIB, "/proc/4242/limits Max data size"),
    )


def test_limit_above_the_machines_memory_bounds_nothing(machine: Find, tmp_path: Path) -> None:
    root = shutil.copytree(machine("v1-docker"), tmp_path / "machine")
    (root / "sys/fs/cgroup/memory/memory.limit_in_bytes").write_text(f"{64 * GIB}\n")
    (root / "sys/fs/cgroup/memory/memory.stat").write_text(f"hierarchical_memory_limit {64 * GIB}\n")
    assert [limit.kind for limit in memory_limits(17, root)] == ["machine"]


def test_usage_is_read_anew_through_one_descriptor(machine: Find, tmp_path: Path) -> None:
    root = shutil.copytree(machine("v1-docker"), tmp_path / "machine")
    (own,) = find_groups(17, root)
    before = own.usage_bytes()
    open_files = len(os.listdir("/proc/self/fd"))
    (root / "sys/fs/cgroup/memory/memory.usage_in_bytes").write_text("4096\n")
    assert (before, own.usage_bytes()) == (3 * GIB, 4096)
    assert len(os.listdir("/proc/self/fd")) == open_files
    own.close()
    assert len(os.listdir("/proc/self/fd")) == open_files - 1


def test_group_that_vanished_knows_nothing(machine: Find, tmp_path: Path) -> None:
    root = shutil.copytree(machine("v1-docker"), tmp_path / "machine")
    (own,) = find_groups(17, root)
    shutil.rmtree(own.path)
    assert (own.usage_bytes(), own.limit_bytes(), own.reclaimable_bytes(), own.oom_kills()) == (None,) * 4


def test_memory_limits_leaves_no_descriptor_open(machine: Find) -> None:
    before = len(os.listdir("/proc/self/fd"))
    memory_limits(4242, machine("v1-nested"))
    assert len(os.listdir("/proc/self/fd")) == before


def test_this_machine() -> None:
    host = read_host()
    assert host is not None
    assert host.total_bytes is not None and host.available_bytes is not None
    assert 0 < host.available_bytes < host.total_bytes
    kinds = [limit.kind for limit in memory_limits(os.getpid())]
    assert kinds.count("machine") == 1
