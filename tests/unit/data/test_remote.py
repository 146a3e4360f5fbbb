"""`crashcart data` on files elsewhere: a real web server, a real S3 store, the memory of a process."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fsspec import AbstractFileSystem

from crashcart.data.chunk import check_chunk
from crashcart.errors import CannotCheckError, UsageError
from crashcart.probe import files_remote
from crashcart.probe.file_remote import RemoteFile, protocol, system
from crashcart.probe.files_found import Aside, find, look
from crashcart.probe.files_remote import find_remote, is_remote, local_path
from crashcart.sound import Checked, Wanted
from tests.conftest import Crashcart
from tests.unit.data import servers

BUCKET = "pictures"
CUT = b"\x93NUMPY\x01"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "served"
    (made / "sub").mkdir(parents=True)
    (made / "good.txt").write_text("a line\n")
    (made / "sub" / "more.txt").write_text("another line\n")
    (made / "sub" / "bad.npy").write_bytes(CUT)
    return made


@pytest.fixture
def site(folder: Path) -> Iterator[tuple[str, list[str]]]:
    with servers.web(folder) as found:
        yield found


def checked(*paths: str) -> dict[str, Checked]:
    found = [each.source for each in find(paths, Aside())]
    sent = pickle.loads(pickle.dumps(found))
    return {each.path: each for each in check_chunk(sent, Wanted())}


def kinds(found: Checked) -> list[tuple[str, str]]:
    return [(each.kind, each.weight) for each in found.faults]


@pytest.mark.parametrize(
    ("path", "expected"),
    [("s3://a/b", "s3"), ("HTTP://a/b", "http"), ("a/b", None), ("://a", None), ("a b://c", None), ("/a/s3://b", None)],
)
def test_what_is_an_address(path: str, expected: str | None) -> None:
    assert protocol(path) == expected


def test_a_file_address_is_of_this_machine() -> None:
    assert local_path("file:///data/x") == "/data/x" and not is_remote("file:///data/x")
    assert local_path("s3://data/x") == "s3://data/x" and is_remote("s3://data/x")


def test_a_site_is_walked_and_checked(site: tuple[str, list[str]]) -> None:
    address, _ = site
    found = checked(address)
    assert sorted(found) == [address + name for name in ("good.txt", "sub/bad.npy", "sub/more.txt")]
    assert [path for path, each in found.items() if each.faults] == [address + "sub/bad.npy"]
    assert found[address + "good.txt"].bytes == 7


def test_one_file_and_a_list_of_files(site: tuple[str, list[str]], tmp_path: Path) -> None:
    address, _ = site
    assert list(checked(address + "good.txt")) == [address + "good.txt"]
    names = tmp_path / "names.txt"
    names.write_text(f"{address}good.txt\n{address}sub/more.txt\nfile://{tmp_path}/names.txt\n")
    found = checked(f"@{names}")
    assert sorted(found) == sorted([address + "good.txt", address + "sub/more.txt", str(names)])
    assert not any(each.faults for each in found.values())


def test_a_file_that_is_not_there_is_missing(site: tuple[str, list[str]]) -> None:
    address, _ = site
    (found,) = check_chunk([look(address + "gone.txt").source], Wanted())
    assert kinds(found) == [("missing", "damage")]


@pytest.mark.parametrize("name", ["failing.txt", "broken.txt"])
def test_a_connection_that_fails_is_not_called_damage(site: tuple[str, list[str]], folder: Path, name: str) -> None:
    address, asked = site
    (folder / name).write_text("a line\n" * 1000)
    (found,) = checked(address + name).values()
    assert kinds(found) == [("not-fetched", "unchecked")]
    assert "Error" in found.faults[0].detail
    assert asked.count(f"/{name}") >= 3  # it was tried again


def test_what_could_not_be_fetched_is_not_all_well(
    site: tuple[str, list[str]], folder: Path, crashcart: Crashcart
) -> None:
    address, _ = site
    (folder / "failing.txt").write_text("a line\n")
    (crashcart.scratch / "sound.txt").write_text("a line\n")
    done = crashcart("data", "sound.txt", address + "failing.txt")
    assert done.returncode == 3 and "could not be fetched" in done.stdout, done.stderr


def test_what_the_server_refuses_is_unreadable(site: tuple[str, list[str]], folder: Path) -> None:
    address, _ = site
    (folder / "refused.txt").write_text("a line\n")
    (found,) = checked(address + "refused.txt").values()
    assert kinds(found) == [("unreadable", "damage")] and "403" in found.faults[0].detail


def test_an_answer_at_the_second_time_is_enough(site: tuple[str, list[str]], folder: Path) -> None:
    address, asked = site
    (folder / "once.txt").write_text("a line\n")
    (found,) = checked(address + "once.txt").values()
    assert not found.faults and asked.count("/once.txt") == 2


def test_nobody_answers() -> None:
    address = f"http://127.0.0.1:{servers.free_port()}/x.txt"
    (found,) = check_chunk([look(address).source], Wanted())
    assert kinds(found) == [("not-fetched", "unchecked")]
    with pytest.raises(CannotCheckError, match="cannot be reached"):
        find((address,), Aside())


def zipped(path: Path, damaged: bool) -> None:
    """Larger than what is fetched as a whole, and sought in by the check."""
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("a.txt", "x" * (9 << 20))
        file.writestr("b.txt", "a line\n")
    if damaged:
        with path.open("r+b") as file:
            file.seek(1 << 20)
            file.write(b"y")


@pytest.mark.parametrize("name", ["parts.zip", "whole.zip"])
@pytest.mark.parametrize("damaged", [False, True])
def test_large_files_in_parts_or_as_a_stream(
    site: tuple[str, list[str]], folder: Path, name: str, damaged: bool
) -> None:
    address, _ = site
    zipped(folder / name, damaged)
    (found,) = checked(address + name).values()
    assert (found.damaged, found.unchecked) == (damaged, False), found.faults


def test_a_listing_that_breaks_off_is_told(site: tuple[str, list[str]], folder: Path) -> None:
    address, _ = site
    (folder / "zz-failing").mkdir()
    found = list(find_remote(address))
    told = [each.fault for each in found if each.fault is not None]
    assert len(found) == 4 and len(told) == 1
    assert (told[0].kind, told[0].weight) == ("not-fetched", "unchecked") and "broke off after" in told[0].detail


class Store(AbstractFileSystem):  # type: ignore[misc]
    """A store whose pattern fails, or which has a name that is no text."""

    broken = False

    def _listed(self, *_: Any, **__: Any) -> dict[str, Any]:
        if self.broken:
            raise ConnectionResetError("the server has hung up")
        return {name: {"name": name, "size": 7, "type": "file"} for name in ("a.txt", "b\ud800.txt", "c\udcff.txt")}

    glob = _listed


def test_a_pattern_that_breaks_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(skip_instance_cache=True)
    monkeypatch.setattr(files_remote, "system", lambda name: store)
    store.broken = True
    (told,) = find_remote("s3://bucket/*.txt")
    assert told.fault is not None and (told.fault.kind, told.fault.weight) == ("not-fetched", "unchecked")
    assert "hung up" in told.fault.detail


def test_a_name_that_is_no_text_is_told_and_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files_remote, "system", lambda name: Store(skip_instance_cache=True))
    found = list(find_remote("s3://bucket/*.txt"))
    assert [each.source.path for each in found] == ["s3://a.txt", "s3://b\\ud800.txt", "s3://c\udcff.txt"]
    assert [each.fault and each.fault.kind for each in found] == [None, "unreadable", None]
    for each in found:
        os.fsencode(each.source.path)


def test_memory_goes_along_to_the_processes(crashcart: Crashcart) -> None:
    program = (
        "import fsspec, crashcart as cc\n"
        "files = fsspec.filesystem('memory')\n"
        "files.pipe('/data/a.txt', b'a line\\n')\n"
        f"files.pipe('/data/b.npy', {CUT!r})\n"
        "found = cc.data('memory://data')\n"
        "print(found.report.figures['files'], found.report.figures['damaged_files'])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=100,
        cwd=crashcart.scratch,
        env=crashcart.environment,
    )
    assert done.stdout.split() == ["2", "1"], done.stderr


def test_a_driver_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gcsfs", None)
    system.cache_clear()
    with pytest.raises(CannotCheckError, match="needs gcsfs") as caught:
        find(("gs://bucket/x",), Aside())
    assert caught.value.help == "pip install gcsfs"
    with pytest.raises(UsageError, match="nobody knows"):
        find(("nonsense://bucket/x",), Aside())
    with pytest.raises(UsageError, match="inside of addresses"):
        find(("zip://a::s3://bucket/x",), Aside())


@pytest.fixture(scope="module")
def store() -> Iterator[str]:
    with servers.s3() as address:
        yield address


@pytest.fixture
def bucket(store: str, monkeypatch: pytest.MonkeyPatch, folder: Path) -> Iterator[Any]:
    for name, value in (
        ("AWS_ENDPOINT_URL", store), ("AWS_ACCESS_KEY_ID", "a"), ("AWS_SECRET_ACCESS_KEY", "b"), ("AWS_DEFAULT_REGION", "us-east-1"),
    ):  # fmt: skip
        monkeypatch.setenv(name, value)
    system.cache_clear()
    files = system("s3")
    files.mkdir(BUCKET)
    for path in (each for each in folder.rglob("*") if each.is_file()):
        files.pipe_file(f"{BUCKET}/set/{path.relative_to(folder)}", path.read_bytes())
    yield files
    files.rm(BUCKET, recursive=True)
    system.cache_clear()


def test_a_bucket_is_listed_in_pages(bucket: Any) -> None:
    names = [f"{BUCKET}/many/{number:04}.txt" for number in range(1100)]
    bucket.pipe(dict.fromkeys(names, b"x\n"))
    found = list(find_remote(f"s3://{BUCKET}/many"))
    assert [each.source.path for each in found] == [f"s3://{name}" for name in names]
    assert all(each.bytes == 2 and each.modified_ns for each in found)


def test_a_bucket_is_checked_and_remembered(bucket: Any, crashcart: Crashcart) -> None:
    environment = {name: os.environ[name] for name in os.environ if name.startswith("AWS_")}
    crashcart.environment.update(environment)
    arguments = ("data", f"s3://{BUCKET}/set", "--out", "bad.jsonl", "--good", "good.txt", "--json")
    first, second = crashcart(*arguments), crashcart(*arguments)
    assert (first.returncode, second.returncode) == (1, 1), first.stderr
    told = [json.loads(each.stdout) for each in (first, second)]
    assert [(each["files"], each["damaged_files"], each["known_files"]) for each in told] == [(3, 1, 0), (3, 1, 3)]
    good = (crashcart.scratch / "good.txt").read_text().split()
    assert good == [f"s3://{BUCKET}/set/good.txt", f"s3://{BUCKET}/set/sub/more.txt"]
    assert json.loads((crashcart.scratch / "bad.jsonl").read_text())["path"] == f"s3://{BUCKET}/set/sub/bad.npy"


def test_what_is_not_in_the_store(bucket: Any) -> None:
    with pytest.raises(UsageError, match="there is no"):
        find((f"s3://{BUCKET}/nothing/here",), Aside())
    (found,) = check_chunk([RemoteFile(f"s3://{BUCKET}/nothing")], Wanted())
    assert kinds(found) == [("missing", "damage")]


def test_patterns_in_a_store(bucket: Any) -> None:
    found = sorted(each.source.path for each in find((f"s3://{BUCKET}/set/*/*.*",), Aside()))
    assert found == [f"s3://{BUCKET}/set/sub/bad.npy", f"s3://{BUCKET}/set/sub/more.txt"]
