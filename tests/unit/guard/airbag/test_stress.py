"""Many threads across the border of the budget, which another process moves, with forks in the middle of it.

Measured on 2 cores: 8 threads of a million calls and 20 forks take 22 s. AIRBAG_STRESS_CALLS sets another number of calls.
"""

from __future__ import annotations

import os
import shutil

import pytest
from airbag_rig import GIB, PREFIXED, Guard, Rig, run

CALLS = os.environ.get("AIRBAG_STRESS_CALLS", "1000000")


@pytest.fixture
def stressed(guard: Guard) -> Guard:
    guard.set("bound", GIB)
    return guard


def test_threads_and_forks(rig: Rig, stressed: Guard) -> None:
    done = run([rig.program("stress"), "8", CALLS, "20"], stressed.environment(rig.library), timeout_s=110)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_byte_is_given_back(rig: Rig, stressed: Guard) -> None:
    """Without forks, the large bytes given out and freed are equal to the byte; children free what they did not take."""
    done = run([rig.program("stress"), "4", "30000", "0"], stressed.environment(rig.library))
    assert (done.returncode, done.stderr) == (0, "")


def sanitizer(rig: Rig, kind: str) -> list[str]:
    flags = [*PREFIXED, f"-fsanitize={kind}"]
    try:
        rig.program("plain", f"-fsanitize={kind}")
    except AssertionError as error:
        pytest.skip(f"no sanitizer here: {str(error)[:200]}")
    return flags


def test_stress_under_address_and_undefined_sanitizers(rig: Rig, stressed: Guard) -> None:
    """Without forks: the sanitizer's own allocator waits for ever in a child that was forked while a thread held its lock."""
    flags = sanitizer(rig, "address,undefined")
    environment = {**stressed.environment(), "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1"}
    done = run([rig.program("stress", *flags), "4", "20000", "0"], environment)
    assert (done.returncode, done.stderr) == (0, "")


def test_entry_points_under_address_and_undefined_sanitizers(rig: Rig, guard: Guard) -> None:
    flags = sanitizer(rig, "address,undefined")
    options = {"UBSAN_OPTIONS": "halt_on_error=1", "ASAN_OPTIONS": "allocator_may_return_null=1"}
    for part in ("airbag", "alignment", "realloc", "squeeze", "mapping", "remap", "threads", "bound"):
        done = run([rig.program("entries", *flags), part], {**guard.environment(), **options})
        assert (done.returncode, done.stderr) == (0, ""), part


def test_stress_under_the_thread_sanitizer(rig: Rig, stressed: Guard) -> None:
    """Without forks: the sanitizer does not follow them."""
    flags = sanitizer(rig, "thread")
    done = run([rig.program("stress", *flags), "4", "10000", "0"], stressed.environment())
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("part", ["realloc", "squeeze", "mapping"])
def test_entry_points_under_valgrind(rig: Rig, guard: Guard, part: str) -> None:
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        pytest.skip("no valgrind here")
    options = ["-q", "--error-exitcode=3", "--soname-synonyms=somalloc=nouserintercepts"]
    done = run([valgrind, *options, rig.program("entries"), part], guard.environment(rig.library))
    assert (done.returncode, done.stderr) == (0, "")
