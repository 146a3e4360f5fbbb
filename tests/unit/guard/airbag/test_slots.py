"""What a process held is taken back once, however it ends: real processes on the airbag, and the watcher's look at them."""

from __future__ import annotations

import mmap
import os
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from airbag_rig import MIB, Guard, Rig

from crashcart.guard.slots import SLOTS, TOP, Slots


@pytest.fixture
def content(guard: Guard) -> mmap.mmap:
    with (guard.folder / "guard").open("r+b") as file:
        return mmap.mmap(file.fileno(), 65536)


@contextmanager
def asked(rig: Rig, guard: Guard, what: str) -> Iterator[tuple[int, int]]:
    """A program that has done what it should and waits: its process, and the one it tells of."""
    program = subprocess.Popen(
        [rig.program("places"), what],
        env=guard.environment(rig.library),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert program.stdout is not None
    try:
        yield program.pid, int(program.stdout.readline())
    finally:
        program.communicate()


def test_a_killed_child_is_taken_off_while_its_parent_stays_on_the_airbag(
    rig: Rig, guard: Guard, content: mmap.mmap
) -> None:
    with asked(rig, guard, "child") as (parent, child):
        held = {pid: figures for pid, *figures in guard.slots()}
        assert held[child][3:] == [10 * MIB, 2 * MIB], "as it was when it was killed"
        given = held[child][2]
        assert given >= 7 * MIB
        slots = Slots(content)
        net_bytes = slots.net_bytes
        for _ in range(2):
            slots.look({parent: 5 * MIB}, closely=False)
            assert [(each.pid, each.airbag_bytes, each.sparse_bytes) for each in slots.living] == [
                (parent, 11 * MIB, 8 * MIB)
            ]
            assert (slots.net_bytes, slots.untouched_bytes) == (net_bytes, given), "once"
    slots.look({})
    assert (slots.living, guard.slots()) == ((), [])


def test_what_was_touched_went_with_the_process(guard: Guard, content: mmap.mmap) -> None:
    slots = Slots(content)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        _write(content, 0, process.pid, net_bytes=900)
        slots.look({process.pid: 600})
        slots.look({process.pid: 200}, closely=False)
        assert (slots.net_bytes, slots.untouched_bytes) == (900, 0)
        process.kill()
    slots.look({})
    assert (slots.net_bytes, slots.untouched_bytes) == (900, 300)


def test_a_process_that_became_another_program_holds_nothing(rig: Rig, guard: Guard, content: mmap.mmap) -> None:
    slots = Slots(content)
    with asked(rig, guard, "exec") as (pid, same):
        assert pid == same and guard.slots()[0][4] == 3 * MIB
        slots.look({pid: MIB}, closely=False)
        assert [each.pid for each in slots.living] == [pid], "known to be there; nobody looked closer"
        slots.look({pid: MIB})
        assert slots.living == () and guard.slots() == []


def test_a_living_process_keeps_its_slot(guard: Guard, content: mmap.mmap) -> None:
    slots = Slots(content)
    _write(content, 3, os.getpid(), airbag_bytes=70)
    slots.look({})
    slots.look({os.getpid(): 5}, closely=False)
    assert [(each.pid, each.dense_bytes) for each in slots.living] == [(os.getpid(), 70)]


def _write(content: mmap.mmap, index: int, pid: int, net_bytes: int = 0, airbag_bytes: int = 0) -> None:
    struct.pack_into("<I", content, TOP, index + 1)
    struct.pack_into("<QIIqQqQI", content, SLOTS + 64 * index, 5 << 32 | pid, 3, 0, net_bytes, airbag_bytes, 0, 0, 0)
