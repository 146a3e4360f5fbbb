"""The pool: decoders that really die, hang and eat memory, and nothing is lost."""

from __future__ import annotations

import errno
import os
import re
import signal
import time
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from crashcart.data import pool as pool_module
from crashcart.data.chunk import done_to
from crashcart.data.engine import chunks
from crashcart.data.pool import Limits, Pool
from crashcart.data.process import Process
from crashcart.errors import CannotCheckError
from crashcart.probe.file_source import LocalFile
from crashcart.probe.files_found import Found, look
from crashcart.sound import DAMAGE, UNCHECKED, Checked, Wanted
from tests.unit.data import hanging
from tests.unit.data.checkers import JOB


def write(folder: Path, contents: list[str]) -> list[Found]:
    found = []
    for number, text in enumerate(contents):
        path = folder / f"{number:04d}"
        path.write_text(text)
        found.append(look(str(path)))
    return found


def checked_by(pool: Pool, files: list[Found], chunk_files: int = 16) -> dict[str, Checked]:
    """Everything that comes out, by name; each once."""
    out: dict[str, Checked] = {}
    parts = [files[at : at + chunk_files] for at in range(0, len(files), chunk_files)]
    while parts or pool.busy:
        while parts and not pool.full:
            pool.submit(parts.pop(0))
        for each in pool.wait():
            assert each.path not in out, "told twice"
            out[each.path] = each
    return out


def kinds(checked: Checked) -> list[str]:
    return [each.kind for each in checked.faults]


def test_every_file_is_checked_once_by_as_many_processes_as_asked_for(tmp_path: Path) -> None:
    files = write(tmp_path, ["slow", *["sound"] * 200, "slow"])
    with Pool(Wanted(), 2, job=JOB) as pool:
        out = checked_by(pool, files)
    assert sorted(out) == [each.source.path for each in files]
    assert not any(each.faults for each in out.values())
    assert 1 <= len({each.facts["pid"] for each in out.values()}) <= 2
    assert os.getpid() not in {each.facts["pid"] for each in out.values()}


def test_few_small_files_take_one_process(tmp_path: Path) -> None:
    files = write(tmp_path, ["sound"] * 20)
    with Pool(Wanted(), 8, job=JOB) as pool:
        out = checked_by(pool, files)
    assert len({each.facts["pid"] for each in out.values()}) == 1


@pytest.mark.parametrize(
    ("content", "kind", "weight", "word"),
    [
        ("segv", "decoder-crashed", DAMAGE, "SIGSEGV"),
        ("abort", "decoder-crashed", DAMAGE, "free(): invalid pointer"),
        ("exit", "not-checked", UNCHECKED, "status 5"),
        ("killed", "not-checked", UNCHECKED, "SIGKILL"),
        ("memory", "too-large", UNCHECKED, "more than the"),
    ],
)
def test_the_file_that_ends_a_process_is_found_exactly(
    tmp_path: Path, content: str, kind: str, weight: str, word: str
) -> None:
    files = write(tmp_path, ["sound"] * 7 + [content] + ["sound"] * 8)
    with Pool(Wanted(), 1, Limits(memory_bytes=600 << 20), job=JOB) as pool:
        out = checked_by(pool, files)
        assert pool.restarted == 0
    assert len(out) == 16
    guilty = out[files[7].source.path]
    assert kinds(guilty) == [kind] and word in guilty.faults[0].detail
    assert guilty.faults[0].weight == weight and not guilty.good and guilty.bytes == len(content)
    assert [path for path, each in out.items() if each.faults] == [guilty.path]


def test_many_that_crash_are_each_found(tmp_path: Path) -> None:
    files = write(tmp_path, ["segv" if number % 5 == 0 else "sound" for number in range(20)])
    with Pool(Wanted(), 2, job=JOB) as pool:
        out = checked_by(pool, files)
    assert {path for path, each in out.items() if each.faults} == {each.source.path for each in files[::5]}
    assert len(out) == 20


def test_a_file_that_takes_too_long_is_found_and_the_rest_goes_on(tmp_path: Path) -> None:
    files = write(tmp_path, ["sound", "hang", "sound"])
    with Pool(Wanted(), 1, Limits(seconds=1.0), job=JOB) as pool:
        out = checked_by(pool, files)
    assert [kinds(out[each.source.path]) for each in files] == [[], ["too-slow"], []]
    (fault,) = out[files[1].source.path].faults
    took = re.search(r"it was not done after ([\d.]+)", fault.detail)  # how soon that is seen depends on the machine
    assert took is not None and float(took[1]) >= 1.0 and fault.weight == UNCHECKED


def test_a_place_that_is_read_while_it_is_written_accuses_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every other look sees a file with the time of none, as a look into memory that is just being written may."""
    real, looks = Process.at, count()

    def torn(process: Process) -> tuple[int, int, float]:
        number, index, since_s = real.fget(process)  # type: ignore[attr-defined]
        return (number, max(index, 0), 0.0) if next(looks) % 2 else (number, index, since_s)

    monkeypatch.setattr(Process, "at", property(torn))
    files = write(tmp_path, ["slow"] * 40)
    with Pool(Wanted(), 1, job=JOB) as pool:
        assert len(checked_by(pool, files)) == 40
        assert pool.restarted == 0


def test_a_large_file_may_take_longer() -> None:
    assert Limits().seconds_for(None) == 60
    assert Limits().seconds_for(400 << 20) == Limits().seconds_for(400 << 20, "a.csv") == 160


def test_what_is_packed_may_take_the_time_of_what_is_unpacked() -> None:
    assert Limits().seconds_for(400 << 20, "a.csv.gz") == Limits().seconds_for(400 << 20, "a.npz") == 2060


def test_a_file_that_does_no_harm_the_second_time_is_not_accused(tmp_path: Path) -> None:
    files = write(tmp_path, ["sound", "once", "sound"])
    with Pool(Wanted(), 1, job=JOB) as pool:
        out = checked_by(pool, files)
        assert (pool.restarted, pool.restarts[0].path) == (1, files[1].source.path)
        assert "SIGSEGV" in pool.restarts[0].how
    assert len(out) == 3 and not any(each.faults for each in out.values())


def test_memory_is_bounded_by_the_limit_and_not_below_it(tmp_path: Path) -> None:
    files = write(tmp_path, ["sound", "huge", "sound"])
    with Pool(Wanted(), 1, Limits(memory_bytes=1400 << 20), job=JOB) as pool:
        assert not any(each.faults for each in checked_by(pool, files).values())
    with Pool(Wanted(), 1, Limits(memory_bytes=600 << 20), job=JOB) as pool:
        assert kinds(checked_by(pool, files)[files[1].source.path]) == ["too-large"]


def test_a_process_that_is_killed_from_outside_costs_nothing_but_its_work(tmp_path: Path) -> None:
    files = write(tmp_path, ["slow"] * 120)
    out: dict[str, Checked] = {}
    with Pool(Wanted(), 2, job=JOB) as pool:
        parts = [files[at : at + 30] for at in range(0, 120, 30)]
        killed = False
        while parts or pool.busy:
            while parts and not pool.full:
                pool.submit(parts.pop(0))
            for each in pool.wait():
                assert each.path not in out
                out[each.path] = each
            if not killed and out:  # the last one to answer still has most of its files before it
                os.kill(next(reversed(out.values())).facts["pid"], signal.SIGKILL)
                killed = True
        assert pool.restarted == 1
    assert len(out) == 120 and not any(each.faults for each in out.values())


def test_a_process_that_is_killed_before_it_begins_is_replaced(tmp_path: Path) -> None:
    files = write(tmp_path, ["sound"] * 10)
    with Pool(Wanted(), 1, job=JOB) as pool:
        pool.submit(files)
        os.kill(pool._slots[0].process.pid, signal.SIGKILL)
        out = [each for _ in range(400) if pool.busy for each in pool.wait()]
        assert pool.restarted <= 1
    assert sorted(each.path for each in out) == [each.source.path for each in files]
    assert not any(each.faults for each in out)


@pytest.mark.parametrize("files", [["untellable"], ["sound"] * 5 + ["untellable", "slow", "sound"]])
def test_what_ends_processes_between_files_is_not_tried_for_ever(tmp_path: Path, files: list[str]) -> None:
    found = write(tmp_path, files)
    with Pool(Wanted(), 1, job=JOB) as pool:
        pool.submit(found)
        out = [each for _ in range(200) if pool.busy for each in pool.wait()]
        assert not pool.busy
    assert sorted(each.path for each in out) == [each.source.path for each in found]
    assert pool.restarted >= 2
    (fault,) = (fault for each in out for fault in each.faults)
    assert (fault.kind, fault.weight) == ("not-checked", UNCHECKED) and "2 processes ended" in fault.detail
    assert [each.path for each in out if each.faults] == [found[files.index("untellable")].source.path]


def test_a_process_that_hangs_while_it_starts_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HANGS", str(tmp_path / "mark"))
    files = write(tmp_path, ["sound"] * 3)
    with Pool(Wanted(), 1, job=hanging.JOB) as pool:
        pool.submit(files)
        first = pool._slots[0].process.pid
        while not (tmp_path / "mark").exists():  # it hangs from now on, however long a start takes here
            time.sleep(0.05)
        monkeypatch.setattr(pool_module, "_START_S", 0.1)
        while pool._slots[0].process.pid == first:
            assert not pool.wait()
        monkeypatch.undo()
        out = [each for _ in range(400) if pool.busy for each in pool.wait()]
    assert len(out) == 3 and not any(each.faults for each in out)


def test_processes_that_always_hang_while_they_start_end_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool_module, "_START_S", 0.3)
    monkeypatch.setenv("HANGS", str(tmp_path))
    files = write(tmp_path, ["sound"])
    with Pool(Wanted(), 1, job=hanging.JOB) as pool, pytest.raises(CannotCheckError, match="ended before they began"):
        pool.submit(files)
        for _ in range(200):
            pool.wait()


def test_processes_killed_while_they_start_do_not_end_a_run_that_goes_on(tmp_path: Path) -> None:
    """Six of them, never four in a row."""
    files = write(tmp_path, ["sound"] * 6)
    with Pool(Wanted(), 1, job=JOB) as pool:
        for each in files:
            pool.submit([each])
            for _ in range(2):
                pool._slots[0].process.kill()
                pool._bury(pool._slots[0], pool._slots[0].process.ended())
            (checked,) = (found for _ in range(200) if pool.busy for found in pool.wait())
            assert not checked.faults
            pool._dismiss(pool._slots[0])


def test_what_was_told_is_not_lost_where_no_process_can_be_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a busy machine, what a process told and its end are read in one go."""
    files = write(tmp_path, ["sound"] * 20 + ["killed"])

    def refused(*arguments: object) -> Process:
        raise OSError(errno.EAGAIN, "Resource temporarily unavailable")

    with Pool(Wanted(), 1, job=JOB) as pool:
        pool.submit(files[:20])
        monkeypatch.setattr(pool_module, "Process", refused)
        pool.submit(files[20:])
        os.waitid(os.P_PID, pool._slots[0].process.pid, os.WEXITED | os.WNOWAIT)
        assert len(pool.wait()) == 20 and pool.busy
        with pytest.raises(CannotCheckError, match="could not be started"):
            pool.wait()


def test_an_error_of_ours_is_told_as_ours(tmp_path: Path) -> None:
    files = write(tmp_path, ["raise", "sound"])
    with Pool(Wanted(), 1, job=JOB) as pool:
        out = checked_by(pool, files)
    (fault,) = out[files[0].source.path].faults
    assert (fault.kind, fault.weight) == ("not-checked", UNCHECKED)
    assert "RuntimeError: a bug of ours" in fault.detail


def test_a_job_that_cannot_be_imported_is_said_and_not_tried_for_ever(tmp_path: Path) -> None:
    files = write(tmp_path, ["sound"])
    with (
        Pool(Wanted(), 1, job="tests.unit.data.nothing:check") as pool,
        pytest.raises(CannotCheckError, match="No module"),
    ):
        checked_by(pool, files)


def test_no_process_outlives_the_pool(tmp_path: Path) -> None:
    files = write(tmp_path, ["sound", "hang"])
    with Pool(Wanted(), 1, job=JOB) as pool:
        (first,) = checked_by(pool, files[:1]).values()
        pool.submit(files[1:])
        time.sleep(0.2)
    assert not Path(f"/proc/{first.facts['pid']}").exists()


def test_names_in_what_is_learnt_are_bounded_and_stay_different(tmp_path: Path) -> None:
    def found(facts: dict[str, Any]) -> Any:
        return done_to(lambda source, _: Checked(source.path, facts=facts), LocalFile("a"), Wanted()).facts

    plain = {"features": {"image": ["bytes", 1, 1]}, "columns": ["a", "b"], "shape": (1, 2)}
    assert found(plain) is plain
    names = ["n" * 1_000_000 + end for end in "ab"]
    long = found({"features": {name: ["bytes", 1, 1] for name in names}, "columns": names})
    assert len(long["features"]) == len(set(long["columns"])) == 2
    assert len(str(long)) < 3000 and list(long["features"].values()) == [["bytes", 1, 1]] * 2


def test_chunks_are_bounded_by_number_bytes_and_names() -> None:
    def found(count_bytes: int, name: str = "a") -> Found:
        return Found(LocalFile(name), count_bytes, 0)

    assert [len(each) for each in chunks([found(1)] * 130)] == [64, 64, 2]
    assert [len(each) for each in chunks([found(3 << 20)] * 5)] == [2, 2, 1]
    assert [len(each) for each in chunks([found(1, "n" * 4000)] * 7)] == [3, 3, 1]
    assert list(chunks([])) == []
