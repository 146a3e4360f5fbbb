"""`crashcart data`, as a user runs it: real files, real deaths, exit codes, lists, interrupts."""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
import sys
import time
import zlib
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT, Crashcart

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108000000003a7e9b550000000a49444154789c6360000000020001e221bc330000000049454e44ae426082"
)
WITH_CHECKERS = f"""
import sys
sys.path.append({str(ROOT)!r})
from crashcart.cli import data_engines
data_engines.CHECK = "tests.unit.data.checkers:check"
from crashcart.cli.main import main
sys.exit(main(sys.argv[1:]))
"""
"""The command with a decoder that dies when a file says so."""


@pytest.fixture
def data(crashcart: Crashcart) -> Path:
    folder = crashcart.scratch / "data"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.txt").write_text("one line\n")
    (folder / "sub" / "b.txt").write_text("another line\n")
    return folder


def document(crashcart: Crashcart, *arguments: str, code: int | None = None) -> dict[str, Any]:
    done = crashcart("data", *arguments, "--json")
    assert code is None or done.returncode == code, done.stderr
    read: dict[str, Any] = json.loads(done.stdout)
    return read


def test_sound_files(crashcart: Crashcart, data: Path) -> None:
    done = crashcart("data", str(data))
    assert (done.returncode, done.stderr) == (0, "")
    assert "all 2 files are sound" in done.stdout and "22 B · text 2" in done.stdout


def test_what_is_bad_is_told_in_every_form(crashcart: Crashcart, data: Path) -> None:
    (data / "empty.png").touch()
    (data / "cut.png").write_bytes(PNG[:-20])
    out = crashcart.scratch / "bad.jsonl"
    done = crashcart("data", str(data), "--out", str(out), "--html", "page.html")
    assert done.returncode == 1
    assert "2 of 4 files are damaged" in done.stdout and "--quarantine bad/" in done.stdout
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert {(Path(each["path"]).name, each["kind"]) for each in lines} >= {
        ("empty.png", "zero-bytes"),
        ("cut.png", "truncated"),
    }
    assert "2 of 4 files are damaged" in (crashcart.scratch / "page.html").read_text()
    read = document(crashcart, str(data), code=1)
    assert (read["schema"], read["files"], read["damaged_files"], read["good_files"]) == (1, 4, 2, 2)
    assert {each["code"] for each in read["findings"] if each["level"] == "problem"} == {"S102", "S103"}
    assert read["known_files"] == 4


def test_a_second_run_checks_only_what_changed(crashcart: Crashcart, data: Path) -> None:
    document(crashcart, str(data), code=0)
    (data / "a.txt").write_text("changed, and longer\n")
    (data / "new.txt").write_text("new\n")
    read = document(crashcart, str(data), code=0)
    assert (read["files"], read["known_files"]) == (3, 1)
    assert document(crashcart, str(data), "--fresh", code=0)["known_files"] == 0
    assert document(crashcart, str(data), "--classes", "3", code=3)["known_files"] == 0


def test_a_quick_check_says_so_in_every_form_and_is_no_whole_one_later(crashcart: Crashcart, data: Path) -> None:
    parts = ((b"IHDR", struct.pack(">IIBBBBB", 4, 4, 8, 0, 0, 0, 0)), (b"IDAT", b"no deflate"), (b"IEND", b""))
    chunks = (
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) for kind, body in parts
    )
    (data / "broken.png").write_bytes(PNG[:8] + b"".join(chunks))
    done = crashcart("data", str(data), "--quick", "--html", "page.html")
    assert done.returncode == 0 and "all 3 files are sound" in done.stdout
    for form in (done.stdout, (crashcart.scratch / "page.html").read_text()):
        words = " ".join(form.split())
        assert (
            "(quick check: structure alone)" in words
            and "not decoded: pixels, text after its beginning, in files beyond 1 MiB" in words
        )
    read = document(crashcart, str(data), "--quick", code=0)
    assert read["quick"] is True and read["not_decoded"] == [
        "pixels",
        "text after its beginning, in files beyond 1 MiB",
    ]
    assert read["known_files"] == 3
    whole = document(crashcart, str(data), code=1)
    assert (whole["known_files"], whole["damaged_files"], whole["quick"], whole["not_decoded"]) == (0, 1, False, [])
    again = document(crashcart, str(data), "--quick", code=1)
    assert (again["known_files"], again["damaged_files"]) == (3, 1), "what a whole check found is known"


def test_good_files_are_listed_and_can_be_checked_by_the_list(crashcart: Crashcart, data: Path) -> None:
    (data / "empty.png").touch()
    (data / "new\nline.txt").write_text("text\n")
    with open(os.path.join(os.fsencode(data), b"\xff.txt"), "w") as file:
        file.write("more\n")
    done = crashcart("data", str(data), "--good", "good.txt")
    assert "1 names with a line break are left out" in done.stdout
    assert (crashcart.scratch / "good.txt").read_bytes().splitlines() == [
        os.fsencode(data / "a.txt"), os.fsencode(data / "sub" / "b.txt"), os.fsencode(data) + b"/\xff.txt",
    ]  # fmt: skip
    crashcart("data", str(data), "--good", "good.jsonl")
    assert document(crashcart, "@good.txt", code=0)["files"] == 3
    read = document(crashcart, "@good.jsonl", code=0)
    assert (read["files"], read["good_files"]) == (4, 4)


def test_what_differs_and_what_is_there_twice_is_listed_as_odd(crashcart: Crashcart, data: Path) -> None:
    for number in range(4):
        (data / f"{number}.csv").write_text(f"a,b\n1,{number}\n")
    (data / "z.csv").write_text("a,c\n1,2\n")
    (data / "sub" / "copy.txt").write_text("one line\n")
    done = crashcart("data", str(data), "--out", "bad.jsonl")
    assert done.returncode == 1 and "1 of 5 csv files differs from the others in columns" in done.stdout
    lines = [json.loads(line) for line in (crashcart.scratch / "bad.jsonl").read_text().splitlines()]
    assert [(Path(each["path"]).name, each["kind"], each["weight"]) for each in lines] == [
        ("z.csv", "differs", "odd"),
        ("copy.txt", "duplicate", "odd"),
    ]
    assert lines[0]["detail"] == "columns: a, c; 4 others have a, b"


def test_names_of_any_bytes_pass_through_json_without_loss(crashcart: Crashcart, data: Path) -> None:
    name = os.path.join(os.fsencode(data), b"\xff\n\x1b[31m.png")
    with open(name, "wb"):
        pass
    done = crashcart("data", str(data), "--out", "bad.jsonl")
    assert done.returncode == 1 and "\x1b" not in done.stdout
    (line,) = (crashcart.scratch / "bad.jsonl").read_text().splitlines()
    assert os.fsencode(json.loads(line)["path"]) == name


def test_quarantine_and_undo(crashcart: Crashcart, data: Path) -> None:
    (data / "sub" / "empty.png").touch()
    done = crashcart("data", str(data), "--quarantine", "bad")
    assert done.returncode == 1 and "1 file moved" in done.stdout
    assert (crashcart.scratch / "bad" / "sub" / "empty.png").exists() and not (data / "sub" / "empty.png").exists()
    assert crashcart("data", str(data)).returncode == 0
    done = crashcart("data", "--undo", "bad")
    assert (done.returncode, done.stderr) == (0, "1 file moved back\n")
    assert (data / "sub" / "empty.png").exists()


def test_undo_as_json_and_what_is_gone(crashcart: Crashcart, data: Path) -> None:
    (data / "empty.png").touch()
    (data / "sub" / "empty.png").touch()
    crashcart("data", str(data), "--quarantine", "bad")
    (crashcart.scratch / "bad").rename(crashcart.scratch / "moved")
    (crashcart.scratch / "moved" / "sub" / "empty.png").unlink()
    done = crashcart("data", "--undo", "moved", "--json")
    read = json.loads(done.stdout)
    assert (done.returncode, read["schema"], read["findings"], read["undo"]["files"]) == (1, 1, [], 1)
    (stayed,) = read["undo"]["stayed"]
    assert (stayed["path"], stayed["to"]) == ("moved/sub/empty.png", str(data / "sub" / "empty.png"))
    assert "is gone" in done.stderr and "1 file moved back, 1 not" in done.stderr and (data / "empty.png").exists()
    (data / "sub" / "empty.png").touch()
    done = crashcart("data", "--undo", "moved", "--json")
    assert (done.returncode, json.loads(done.stdout)["undo"]["files"]) == (0, 0)


@pytest.mark.parametrize(
    ("arguments", "code", "word"),
    [
        (["nothing-here"], 2, "there is no nothing-here"),
        ([], 2, "received no path"),
        (["data", "--workers", "0"], 2, "expected 1 or more"),
        (["data", "--classes", "0"], 2, "expected 1 or more"),
        (["data", "--memory", "much"], 2, "expected a number"),
        (["data", "--memory", "1M"], 2, "expected at least 512 MiB"),
        (["data", "--out", "no/such/folder"], 2, "there is no folder"),
        (["data", "--good", "data"], 2, "it is a folder"),
        (["data", "--html", "no/page.html"], 2, "there is no folder no"),
        (["data", "--quarantine", "data/bad"], 2, "lies in"),
        (["empty"], 3, "there are no files in empty"),
        (["nothing-*"], 2, "nothing matches nothing-*"),
        (["data", "--state", "data/a.txt"], 3, "no state of crashcart"),
        (["--undo", "data"], 2, "no quarantine"),
    ],
)
def test_what_cannot_be_meant(crashcart: Crashcart, data: Path, arguments: list[str], code: int, word: str) -> None:
    (crashcart.scratch / "empty").mkdir()
    done = crashcart("data", *arguments)
    assert (done.returncode, done.stdout) == (code, "") and word in done.stderr


def test_a_cache_that_cannot_be_written_is_no_reason_not_to_check(crashcart: Crashcart, data: Path) -> None:
    crashcart.home.write_text("a file where the cache should be")
    done = crashcart("data", str(data))
    assert done.returncode == 0 and "all 2 files are sound" in done.stdout
    assert "not remembered" in done.stderr
    assert crashcart("data", str(data), "--state", str(crashcart.home / "s.sqlite")).returncode == 3


def test_where_nothing_can_be_checked_nothing_is_called_sound(crashcart: Crashcart, data: Path) -> None:
    (data / "x.bin").write_bytes(bytes(range(128, 256)))
    done = crashcart("data", str(data / "x.bin"))
    assert done.returncode == 3 and "none of 1 file could be checked" in done.stdout
    assert crashcart("data", str(data)).returncode == 0


def test_files_that_were_not_checked_are_not_all_well(crashcart: Crashcart, data: Path) -> None:
    (data / "song.mp3").write_bytes(b"ID3\x04" + bytes(100))  # a format that is known, and has no check
    done = crashcart("data", str(data))
    assert done.returncode == 3 and "could not be checked" in done.stdout
    (data / "empty.png").touch()  # what was found counts for more
    assert crashcart("data", str(data)).returncode == 1


def test_a_file_over_a_limit_is_not_all_well(crashcart: Crashcart, data: Path) -> None:
    head = b"IHDR" + struct.pack(">IIBBBBB", 1 << 15, 1 << 14, 8, 2, 0, 0, 0)
    (data / "vast.png").write_bytes(PNG[:12] + head + struct.pack(">I", zlib.crc32(head)) + PNG[33:])
    done = crashcart("data", str(data))
    assert done.returncode == 3 and "more memory than a check may take" in done.stdout


def test_special_files_end_nothing(crashcart: Crashcart, data: Path) -> None:
    os.mkfifo(data / "fifo")
    (data / "dangling").symlink_to("nowhere")
    (data / "sub" / "up").symlink_to("..")
    read = document(crashcart, str(data), code=1)
    assert {each["kind"]: each["files"] for each in read["kinds"]} == {
        "not-a-file": 1,
        "dangling-link": 1,
    }
    assert read["files"] == 4
    assert [each["count"] for each in read["passed"] if "links back" in each["reason"]] == [1]
    assert document(crashcart, str(data / "fifo"), code=1)["files"] == 1


def start(crashcart: Crashcart, data: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WITH_CHECKERS, "data", str(data), "--no-duplicates", "--workers", "2", *arguments],
        env=crashcart.environment, cwd=crashcart.scratch, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def many(data: Path, content: str, count: int) -> None:
    for number in range(count):
        (data / f"{number:04d}.x").write_text(content)


def children_of(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def wait_for_work(process: subprocess.Popen[str], state: Path) -> list[int]:
    """Until rows have been committed: the processes work, and something would be lost."""
    for _ in range(600):
        if (
            state.with_name(state.name + "-wal").exists()
            and state.with_name(state.name + "-wal").stat().st_size > 100_000
        ):
            return children_of(process.pid)
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    raise AssertionError("nothing was recorded")


def test_a_decoder_that_crashes_is_a_finding(crashcart: Crashcart, data: Path) -> None:
    (data / "crash.x").write_text("segv")
    process = start(crashcart, data, "--json")
    out, err = process.communicate(timeout=100)
    read = json.loads(out)
    assert process.returncode == 1, err
    assert [(each["code"], each["cause"]) for each in read["findings"]] == [("S105", "native-crash")]
    assert "crash.x" in read["findings"][0]["because"][0] and "SIGSEGV" in read["findings"][0]["because"][0]
    assert (read["files"], read["good_files"]) == (3, 2)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_with_a_report_and_the_next_run_goes_on(
    crashcart: Crashcart, data: Path, number: signal.Signals
) -> None:
    many(data, "slow", 400)
    process = start(crashcart, data, "--state", "s.sqlite", "--out", "bad.jsonl", "--json")
    workers = wait_for_work(process, crashcart.scratch / "s.sqlite")
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    read = json.loads(out)
    assert process.returncode == 3 and read["interrupted"] and not read["complete"], err
    assert 0 < read["files"] < 402 and read["findings"][0]["cause"] == "interrupted"
    assert not any(Path(f"/proc/{pid}").exists() for pid in workers)
    again = start(crashcart, data, "--state", "s.sqlite", "--json")
    out, err = again.communicate(timeout=100)
    second = json.loads(out)
    assert (again.returncode, second["files"], second["interrupted"]) == (0, 402, False), err
    assert second["known_files"] >= read["files"]


def test_an_interrupt_leaves_the_lists_of_an_earlier_run_and_tells_the_whole_command(
    crashcart: Crashcart, data: Path
) -> None:
    many(data, "slow", 400)
    for name in ("good.txt", "bad.jsonl"):
        (crashcart.scratch / name).write_text("of a whole run\n")
    process = start(
        crashcart, data, "--state", "s.sqlite", "--classes", "3", "--good", "good.txt", "--out", "bad.jsonl", "--hidden"
    )  # fmt: skip
    wait_for_work(process, crashcart.scratch / "s.sqlite")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    words = " ".join(out.split())
    assert process.returncode == 3, err
    assert (crashcart.scratch / "good.txt").read_text() == "of a whole run\n"
    assert (crashcart.scratch / "bad.jsonl").read_text() == "of a whole run\n"
    part = (crashcart.scratch / "good.txt.part").read_text().splitlines()
    assert 0 < len(part) < 402 and (crashcart.scratch / "bad.jsonl.part").exists()
    assert f"good.txt.part: {len(part)} good files so far: the run did not come to its end" in words
    assert (
        " --classes 3 --workers 2 --state s.sqlite --no-duplicates --hidden"
        " --out bad.jsonl --good good.txt # goes on from here"
    ) in words


def test_a_run_that_is_killed_leaves_no_process_and_the_next_one_goes_on(crashcart: Crashcart, data: Path) -> None:
    many(data, "slow", 400)
    process = start(crashcart, data, "--state", "s.sqlite", "--json")
    workers = wait_for_work(process, crashcart.scratch / "s.sqlite")
    assert workers
    process.kill()
    process.communicate()
    for _ in range(100):
        if not any(Path(f"/proc/{pid}").exists() for pid in workers):
            break
        time.sleep(0.05)
    assert not any(Path(f"/proc/{pid}").exists() for pid in workers)
    again = start(crashcart, data, "--state", "s.sqlite", "--json")
    out, err = again.communicate(timeout=100)
    read = json.loads(out)
    assert (again.returncode, read["files"], read["good_files"]) == (0, 402, 402), err
    assert 0 < read["known_files"] < 402


def test_lines_tell_how_far_it_is_where_there_is_no_terminal(crashcart: Crashcart, data: Path) -> None:
    many(data, "slow", 300)
    process = start(crashcart, data, "--workers", "1")
    out, err = process.communicate(timeout=100)
    assert process.returncode == 0
    assert "files/s" in err.splitlines()[0] and "0 damaged" in err
    assert "all 302 files are sound" in out


def test_the_function_in_a_script_without_a_guard(crashcart: Crashcart, data: Path) -> None:
    (data / "empty.png").touch()
    script = crashcart.program(
        "import sys, crashcart as cc\n"
        "done = cc.data(sys.argv[1], good='good.txt')\n"
        "print(done.sound, done.survey.damaged_files, done.verdict.code, len(done.to_html()) > 1000)\n"
        "print(done)\n"
    )
    done = subprocess.run(
        [sys.executable, script, str(data)],
        env=crashcart.environment,
        cwd=crashcart.scratch,
        capture_output=True,
        text=True,
    )
    assert done.stdout.startswith("False 1 S102 True\n1 of 3 files is damaged"), done.stderr
    assert done.stderr == "" and (crashcart.scratch / "good.txt").read_text().count("\n") == 2
