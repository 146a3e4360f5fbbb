"""A real kill in a real memory group, where the machine lets us make one."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from crashcart.probe.kernel_log import KernelLogReader, find_lines
from crashcart.probe.memory import find_groups, memory_limits, oom_kills_host

HIERARCHY = Path("/sys/fs/cgroup/memory")
LIMIT_BYTES = 64 * 1024**2

EATER = "import sys; sys.stdin.read(1); held = b'x' * (256 * 1024**2)"


@pytest.fixture
def eater() -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """A program that waits in a group of its own for a byte, and then takes four times what the group allows."""
    program = subprocess.Popen([sys.executable, "-S", "-c", EATER], stdin=subprocess.PIPE)
    group = HIERARCHY / f"crashcart-test-{program.pid}"
    try:
        try:
            group.mkdir()
            (group / "memory.limit_in_bytes").write_text(str(LIMIT_BYTES))
            (group / "cgroup.procs").write_text(str(program.pid))
        except OSError as error:
            pytest.skip(f"no memory group (cgroup v1) can be made here: {error}")
        yield program, group
    finally:
        program.kill()
        program.communicate()
        remove(group)


def remove(group: Path) -> None:
    for _ in range(50):
        try:
            group.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(0.02)


def test_a_kill_is_counted_and_logged(eater: tuple[subprocess.Popen[bytes], Path]) -> None:
    program, directory = eater
    groups = find_groups(program.pid)
    own = groups[0]
    log = KernelLogReader()
    assert (own.path, own.limit_bytes(), own.oom_kills()) == (directory, LIMIT_BYTES, 0)
    assert memory_limits(program.pid)[0].bytes == LIMIT_BYTES
    host_before = oom_kills_host()
    program.communicate(b"x")
    assert program.returncode == -signal.SIGKILL
    assert own.oom_kills() == 1
    assert own.limit_hits() != 0
    host_after = oom_kills_host()
    assert host_before is not None and host_after is not None and host_after > host_before
    for group in groups:
        group.close()
    if log.unreadable is None:
        named = f"Killed process {program.pid} "
        assert any(named in line for line in log.read_new())
        assert any(named in line for line in find_lines() or ())
    log.close()
