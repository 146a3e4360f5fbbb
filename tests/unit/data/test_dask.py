"""The engine on a real cluster of Dask: processes that are really killed, and the same report as of one machine."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from crashcart.data import dask_cluster, dask_engine
from crashcart.data.dask_cluster import Cluster
from crashcart.data.dask_engine import Spread
from crashcart.data.dask_task import Bundle, check_there
from crashcart.data.engine import Executor, check_files
from crashcart.data.pool import Limits, Pool
from crashcart.data.state import State
from crashcart.data.tally import Tally
from crashcart.errors import CannotCheckError
from crashcart.probe.files_found import Aside, Found, find, look
from crashcart.sound import UNCHECKED, Checked, Wanted
from crashcart.survey import Survey
from tests.conftest import Crashcart
from tests.unit.data import checkers, deadly, servers

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),
]
WANTED = Wanted()
LIMITS = Limits(60)


@pytest.fixture(scope="module")
def local() -> Iterator[Any]:
    """Two workers that come back when they are killed, and a scheduler that gives up on a task after the second death."""
    import dask
    import distributed

    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 1}),
        dask_cluster._own(distributed, 2) as made,
    ):
        yield made


@pytest.fixture
def cluster(local: Any) -> Iterator[Cluster]:
    import distributed

    connect: Any = distributed.Client  # it has no types
    with connect(local) as client:
        client.wait_for_workers(2, timeout=60)
        yield Cluster(client, "this machine")


def files(folder: Path, count: int, **special: str) -> Path:
    folder.mkdir()
    for number in range(count):
        (folder / f"{number:04}.txt").write_text(f"slow {number}" if number % 7 else f"bad {number}")
    for name, text in special.items():
        (folder / f"{name}.txt").write_text(text)
    return folder


def counted(folder: Path, executor: Executor, state: State) -> tuple[Survey, list[Checked]]:
    tally, all_of_them = Tally(), []
    for each in check_files(find((str(folder),), Aside()), state, executor):
        each = replace(each, facts={})  # the process that checked it
        tally.add(each)
        all_of_them.append(each)
    assert state.pending() == 0
    return tally.survey(), sorted(all_of_them, key=lambda each: each.path)


def test_a_worker_killed_in_the_middle_changes_nothing(cluster: Cluster, tmp_path: Path) -> None:
    folder = files(tmp_path / "data", 400, segv="segv", broken="raise")
    with Pool(WANTED, 2, LIMITS, checkers.JOB) as pool:
        expected = counted(folder, pool, State.passing(WANTED))
    pids = list(cluster.client.run(os.getpid).values())

    class Killing(Spread):
        """Kills a worker when the first answers are there, and many are not."""

        def wait(self) -> list[Checked]:
            done = super().wait()
            if done and pids:
                os.kill(pids.pop(), signal.SIGKILL)
                pids.clear()
            return done

    with Killing(cluster, WANTED, LIMITS, checkers.JOB) as spread:
        found = counted(folder, spread, State.passing(WANTED))
    assert not pids  # one was killed
    assert found == expected
    assert found[0].files == 402 and found[0].damaged_files == 59


def test_small_bundles_and_many_deaths_lose_and_double_nothing(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_engine, "BUNDLE_FILES", 16)
    folder = files(tmp_path / "data", 200)
    seen: list[Checked] = []
    killed = 0
    state = State.passing(WANTED)
    with Spread(cluster, WANTED, LIMITS, checkers.JOB) as spread:
        for each in check_files(find((str(folder),), Aside()), state, spread):
            seen.append(each)
            if len(seen) in (20, 90, 150):
                pids = sorted(cluster.client.run(os.getpid, on_error="ignore").values())
                os.kill(pids[killed % len(pids)], signal.SIGKILL)
                killed += 1
    assert killed == 3
    assert sorted(each.path for each in seen) == sorted(str(path) for path in folder.iterdir())
    assert state.pending() == 0 and not any(each.unchecked for each in seen)


def test_a_file_that_kills_each_worker_is_found(cluster: Cluster, tmp_path: Path) -> None:
    folder = files(tmp_path / "data", 12, killer="deadly")
    with Spread(cluster, WANTED, LIMITS, deadly.JOB) as spread:
        survey, found = counted(folder, spread, State.passing(WANTED))
    (lost,) = [each for each in found if each.unchecked]
    assert Path(lost.path).name == "killer.txt" and lost.bytes == 6
    assert [(each.kind, each.weight) for each in lost.faults] == [("not-fetched", UNCHECKED)]
    assert "each of 2 workers was lost" in lost.faults[0].detail
    assert (survey.files, survey.damaged_files, survey.unchecked_files) == (13, 2, 1)


def test_names_are_absolute_there_and_as_typed_here(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The workers were begun in another folder."""
    files(tmp_path / "data", 3, once="once")
    monkeypatch.chdir(tmp_path)
    names = [
        "data/0000.txt",
        "./data/0000.txt",
        "data/../data/0001.txt",
        "data/once.txt",
        str(tmp_path / "data/0002.txt"),
    ]
    with Spread(cluster, WANTED, LIMITS, checkers.JOB) as spread:
        spread.submit([look(each) for each in names])
        found = [each for _ in range(200) if spread.busy for each in spread.wait()]
    assert sorted(each.path for each in found) == sorted(names)
    assert {each.path: [fault.kind for fault in each.faults] for each in found} == {
        each: ["not-decodable"] if "0000" in each else [] for each in names
    }
    assert [each.path for each in spread.restarts] == ["data/once.txt"]


def test_a_time_that_is_over_is_known_by_both_its_names() -> None:
    """Until Python 3.11 the one of asyncio is a class of its own."""
    assert {TimeoutError, asyncio.TimeoutError} == set(dask_cluster.TIMEOUTS)

    class Late:
        status = "finished"

        def result(self, timeout: float) -> None:
            raise asyncio.TimeoutError

        def release(self) -> None:
            pass

    spread = Spread(Cluster(None, "nowhere"), WANTED)
    assert spread._taken(Late(), dask_engine._Task([look("a")])) == [] and spread.busy


def test_what_is_answered_twice_counts_once(tmp_path: Path) -> None:
    folder = files(tmp_path / "data", 5)

    class Twice:
        """An engine that has lost count of what it has told."""

        full, busy = False, False

        def submit(self, files: Sequence[Found]) -> None:
            self._checked = check_there(Bundle(files, WANTED, checkers.JOB, LIMITS)).checked
            self.busy = True

        def wait(self) -> list[Checked]:
            self.busy = False
            return self._checked * 2

    survey, _ = counted(folder, Twice(), State.passing(WANTED))
    assert survey.files == 5


def test_workers_with_other_checks_are_refused(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    cluster.examine()
    monkeypatch.setattr(dask_cluster, "mark", lambda: "0.0.1 other")
    monkeypatch.setattr(dask_cluster, "__version__", "0.0.1")
    with pytest.raises(CannotCheckError, match=r"has crashcart .*this is 0.0.1"):
        cluster.examine()
    monkeypatch.setattr(dask_engine, "mark", lambda: "0.0.1 other")
    with (
        pytest.raises(CannotCheckError, match="with other checks"),
        Spread(cluster, WANTED, LIMITS, checkers.JOB) as spread,
    ):
        counted(files(tmp_path / "data", 3), spread, State.passing(WANTED))


def test_workers_without_crashcart_are_told() -> None:
    missing = ModuleNotFoundError("No module named 'crashcart'", name="crashcart")
    assert "has no crashcart" in (dask_cluster._without(missing) or ())
    assert dask_cluster._without(["0.1.0", "mark", []]) is None
    other = dask_cluster._of_another_version(ModuleNotFoundError("No module named 'crashcart.data'"))
    assert other is not None and "another crashcart" in other[0] and "pip install" in other[1]


def test_workers_that_do_not_see_the_files_are_refused(cluster: Cluster, tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    seeing = Cluster(cluster.client, "here", [str(tmp_path / "gone"), "s3://bucket/x"])
    seeing.examine()
    (tmp_path / "gone").rmdir()
    with pytest.raises(CannotCheckError, match="does not see"):
        seeing.examine()


@pytest.mark.parametrize("there", [True, False])
def test_a_file_that_only_the_worker_does_not_see_is_not_called_missing(tmp_path: Path, there: bool) -> None:
    path = tmp_path / "a.txt"
    path.write_text("x")
    (found,) = find((str(path),), Aside())
    from crashcart.sound import Fault

    if not there:
        path.unlink()
    assert dask_engine._is_blind(Checked(str(path), faults=(Fault("missing", ""),)), found) is there
    assert not dask_engine._is_blind(Checked(str(path)), found)


def test_the_command_says_the_same_as_on_one_machine_and_goes_on(local: Any, crashcart: Crashcart) -> None:
    folder = crashcart.scratch / "data"
    folder.mkdir()
    for number in range(30):
        name, data = (
            (f"{number}.txt", b"line %d\n" % (number % 20)) if number % 9 else (f"{number}.npy", b"\x93NUMPY\x01")
        )
        (folder / name).write_bytes(data)
    there = ("--engine", "dask", "--scheduler", local.scheduler_address, "--state", "there.sqlite")
    told = []
    for options in (("--state", "here.sqlite"), there, there):
        done = crashcart("data", str(folder), "--json", *options, timeout_s=120)
        assert done.returncode == 1, done.stderr
        told.append(json.loads(done.stdout))
    here, first, again = ({key: each[key] for key in each if key not in _OF_THE_RUN} for each in told)
    assert here == first == again
    assert first["files"] == 30 and first["damaged_files"] == 4 and first["duplicates"]["groups"] > 0
    assert [each["known_files"] for each in told] == [0, 0, 30]


_OF_THE_RUN = {"seconds", "known_files", "created", "workers", "evidence", "at_s"}


def test_a_scheduler_that_is_lost_ends_the_run_and_the_next_goes_on(crashcart: Crashcart) -> None:
    folder = files(crashcart.scratch / "data", 1500)
    program = (
        "import sys; from crashcart.data.dask_engine import Spread; from tests.unit.data import checkers\n"
        "Spread.__init__.__defaults__ = (None, checkers.JOB)\n"
        "from crashcart.cli.main import main; sys.exit(main(sys.argv[1:]))"
    )
    path = os.pathsep.join(each for each in sys.path if each)
    command = [
        sys.executable,
        "-c",
        program,
        "data",
        str(folder),
        "--json",
        "--no-duplicates",
        "--state",
        "kept.sqlite",
    ]
    crashcart.environment["PYTHONPATH"] = path
    with servers.dask(crashcart.scratch, PYTHONPATH=path) as (address, scheduler, _):
        run = subprocess.Popen(
            [*command, "--engine", "dask", "--scheduler", address],
            cwd=crashcart.scratch, env=crashcart.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert run.stderr is not None
        first = run.stderr.readline()
        assert "files" in first, first + run.stderr.read()  # a word on how far it is: some are checked
        scheduler.kill()
        _, said = run.communicate(timeout=120)
    assert run.returncode == 3, said
    assert "Traceback" not in said and "goes on from here" in said
    again = crashcart("data", str(folder), "--json", "--no-duplicates", "--state", "kept.sqlite")
    told = json.loads(again.stdout)
    assert told["files"] == 1500 and 0 < told["known_files"] < 1500


def test_a_worker_with_another_crashcart_is_named(crashcart: Crashcart, tmp_path: Path) -> None:
    (tmp_path / "other" / "crashcart").mkdir(parents=True)
    (tmp_path / "other" / "crashcart" / "__init__.py").write_text("__version__ = '0.0.1'\n")
    (crashcart.scratch / "a.txt").write_text("x\n")
    with servers.dask(crashcart.scratch, PYTHONPATH=str(tmp_path / "other")) as (address, _, _):
        done = crashcart("data", "a.txt", "--engine", "dask", "--scheduler", address, timeout_s=100)
    assert done.returncode == 3 and "another crashcart" in done.stderr and "pip install crashcart==" in done.stderr


def test_dask_that_is_not_installed_is_named(crashcart: Crashcart) -> None:
    (crashcart.scratch / "a.txt").write_text("x\n")
    program = "import sys; sys.modules['distributed'] = None; from crashcart.cli.main import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", program, "data", "a.txt", "--engine", "dask"],
        capture_output=True, text=True, timeout=60, cwd=crashcart.scratch, env=crashcart.environment,
    )  # fmt: skip
    assert done.returncode == 3
    assert "needs distributed, which is not installed" in done.stderr and "pip install 'crashcart[dask]'" in done.stderr


def test_a_scheduler_that_is_not_there(crashcart: Crashcart, monkeypatch: pytest.MonkeyPatch) -> None:
    (crashcart.scratch / "a.txt").write_text("x\n")
    address = f"tcp://127.0.0.1:{servers.free_port()}"
    done = crashcart("data", "a.txt", "--engine", "dask", "--scheduler", address, timeout_s=100)
    assert done.returncode == 3 and "no scheduler of Dask answers" in done.stderr and "Traceback" not in done.stderr
    done = crashcart("data", "a.txt", "--scheduler", address)
    assert done.returncode == 2 and "--engine dask" in done.stderr
