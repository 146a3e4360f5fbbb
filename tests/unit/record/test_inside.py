"""The hook inside the program: records what happens, and leaves the interpreter as it found it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from questions import ASK

from tests.conftest import ROOT, Crashcart

PYTHON = sys.executable


def inside(folder: Path | None, kind: str) -> list[dict[str, object]]:
    from crashcart.blackbox.ring import read_payloads

    assert folder is not None
    records = [json.loads(each) for path in folder.glob("program-*.ring") for each in read_payloads(path.read_bytes())]
    records += [json.loads(path.read_bytes()) for path in folder.glob("program-*.json")]
    return [record for record in records if record["kind"] == kind]


def test_sys_path_and_modules_look_as_without_us(crashcart: Crashcart) -> None:
    source = "import sys\nprint(sys.path)\nprint(sorted(m for m in sys.modules if 'crashcart' in m and not m.startswith('_crashcart')))\n"
    program = crashcart.program(source)
    plain = crashcart("run", "--", PYTHON, program).stdout
    assert plain == subprocess.run([PYTHON, program], capture_output=True, text=True).stdout


def test_an_existing_sitecustomize_still_runs(crashcart: Crashcart) -> None:
    folder = crashcart.scratch / "site"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text("import sys\nsys.customized = __file__\n")
    done = crashcart.run(
        "import sys, sitecustomize\nprint(sys.customized == sitecustomize.__file__)", env={"PYTHONPATH": str(folder)}
    )
    assert done.out == "True\n"
    assert inside(done.folder, "start")


def test_a_package_in_a_folder_with_a_colon_is_hooked_all_the_same(crashcart: Crashcart) -> None:
    place = crashcart.scratch / "a:b"
    shutil.copytree(ROOT / "src" / "crashcart", place / "crashcart", ignore=shutil.ignore_patterns("__pycache__"))
    source = (
        "import os, signal, sys\n"
        "print(callable(signal.getsignal(50)), os.environ['CRASHCART_INSIDE'])\nprint(sys.path)\n"
    )
    program = crashcart.program(source)
    start = f"import sys\nsys.path.insert(0, {str(place)!r})\nfrom crashcart.cli.main import main\n"
    start += f"sys.exit(main(['run', '--', sys.executable, {program!r}]))\n"
    done = subprocess.run([PYTHON, "-c", start], capture_output=True, text=True, env=crashcart.environment)
    inside_module = place / "crashcart" / "guard" / "inside" / "_crashcart_guard.py"
    plain = subprocess.run([PYTHON, "-c", "import sys; print(sys.path[1:])"], capture_output=True, text=True).stdout
    assert done.stdout.splitlines()[0] == f"True {inside_module}", done.stderr
    assert done.stdout.splitlines()[1].partition(", ")[2] == plain.strip()[1:]
    assert inside(crashcart.last(), "start")


def test_an_uncaught_exception_is_recorded_with_its_chain_and_line(crashcart: Crashcart) -> None:
    source = "def load():\n    return {}['x']\n\ntry:\n    load()\nexcept KeyError as error:\n    raise ValueError('no data') from error\n"
    done = crashcart.run(source)
    (record,) = inside(done.folder, "error")
    error = record["error"]
    assert isinstance(error, dict)
    assert (error["type"], error["message"]) == ("builtins.ValueError", "no data")
    assert error["chain"][0]["frames"][-1][1:] == [2, "load"]


def test_a_users_own_excepthook_still_runs_and_ours_saw_the_error_first(crashcart: Crashcart) -> None:
    done = crashcart.run(
        "import sys\nold = sys.excepthook\nsys.excepthook = lambda *a: (print('mine'), old(*a))\n1/0\n"
    )
    assert "mine" in done.out
    assert inside(done.folder, "error")


def test_an_exception_in_a_thread_names_the_thread(crashcart: Crashcart) -> None:
    done = crashcart.run(
        "import threading\nt = threading.Thread(target=lambda: 1/0, name='loader')\nt.start(); t.join()\n"
    )
    (record,) = inside(done.folder, "error")
    assert record["thread"] == "loader"
    assert done.code == 0


def test_a_message_that_cannot_be_read_does_not_hurt(crashcart: Crashcart) -> None:
    source = "class Odd(Exception):\n    def __str__(self): raise RuntimeError('no')\nraise Odd()\n"
    done = crashcart.run(source)
    (record,) = inside(done.folder, "error")
    assert done.code == 1
    assert "could not be read" in record["error"]["message"]  # type: ignore[index]


@pytest.mark.parametrize(
    "arguments",
    [("-m", "package.tool"), ("-c", "import package.tool"), ("-X", "dev", "-m", "package.tool")],
)
def test_modules_and_commands_are_hooked_too(crashcart: Crashcart, arguments: tuple[str, ...]) -> None:
    package = crashcart.scratch / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "tool.py").write_text("def main():\n    raise LookupError('here')\n\nmain()\n")
    done = crashcart("run", "--", PYTHON, *arguments)
    assert done.returncode == 1
    (record,) = inside(crashcart.last(), "error")
    assert record["error"]["frames"][-1][1:] == [2, "main"]  # type: ignore[index]


def test_an_isolated_interpreter_runs_unhooked_and_that_is_said(crashcart: Crashcart) -> None:
    done = crashcart("run", "--", PYTHON, "-I", "-c", "raise SystemExit(5)")
    assert done.returncode == 5
    assert inside(crashcart.last(), "start") == []
    assert "start-up hook did not run" in crashcart("why").stdout


def test_children_by_fork_and_by_exec_have_recordings_of_their_own(crashcart: Crashcart) -> None:
    source = (
        "import os, subprocess, sys\n"
        "pid = os.fork()\n"
        "if pid == 0:\n    raise IndexError('in the fork')\n"
        "os.waitpid(pid, 0)\n"
        "subprocess.run([sys.executable, '-c', 'raise KeyError(1)'])\n"
        "print('parent lives')\n"
    )
    done = crashcart.run(source)
    assert done.code == 0
    types = {record["error"]["type"]: record["pid"] for record in inside(done.folder, "error")}  # type: ignore[index]
    assert set(types) == {"builtins.IndexError", "builtins.KeyError"}
    assert len(set(types.values())) == 2


def test_a_daemon_that_closes_all_descriptors_never_gets_our_bytes(crashcart: Crashcart) -> None:
    source = (
        "import os, ctypes\nos.closerange(3, 4096)\n"
        "mine = [open(f'f{n}', 'w+') for n in range(20)]\n"
        "ctypes.string_at(16)\n"
    )
    assert crashcart.run(source).code == 139
    assert [path.stat().st_size for path in crashcart.scratch.glob("f*")] == [0] * 20


def test_a_program_that_waits_for_signals_is_not_woken(crashcart: Crashcart) -> None:
    source = (
        "import signal, time, threading, os\n"
        "start = time.monotonic()\n"
        "sum(range(10**6))\n"
        "threading.Timer(4, lambda: os.kill(os.getpid(), signal.SIGUSR1)).start()\n"
        "signal.signal(signal.SIGUSR1, lambda *a: None)\n"
        "signal.pause()\n"
        "print(time.monotonic() - start > 3.5)\n"
    )
    assert crashcart.run(source).out == "True\n"


def test_the_largest_named_objects_are_noted(crashcart: Crashcart) -> None:
    source = (
        "import os, time\nclass Trainer:\n    def __init__(self): self.history = [bytes(1 << 20) for _ in range(40)]\n"
        "trainer = Trainer()\n"
        f"def main():\n    block = bytearray(50 << 20)\n    {ASK}\n    time.sleep(0.1)\n    del block\n    time.sleep(0.1)\n"
        "main()\n"
    )
    done = crashcart.run(source)
    holders = {each["name"]: each["bytes"] for each in inside(done.folder, "holders")[-1]["holders"]}  # type: ignore[attr-defined]
    assert holders["block"] >= 50 << 20
    assert 40 << 20 <= holders["trainer.history"] < 41 << 20


def test_what_caches_of_functions_hold_is_noted(crashcart: Crashcart) -> None:
    source = (
        "import functools, os\n"
        "@functools.lru_cache(maxsize=None)\ndef endless(n): return bytes(1 << 20)\n"
        "@functools.lru_cache(maxsize=100)\ndef bounded(n): return bytes(1 << 20)\n"
        f"for n in range(30):\n    endless(n), bounded(n)\n{ASK}\n"
    )
    done = crashcart.run(source)
    holders = {each["name"]: each for each in inside(done.folder, "holders")[-1]["holders"]}  # type: ignore[attr-defined]
    for name in ("endless", "bounded"):
        assert (holders[name]["kind"], holders[name]["count"]) == ("lru_cache", 30)
        assert 30 << 20 <= holders[name]["bytes"] < 31 << 20


def test_noting_does_not_keep_alive_what_a_function_deletes(crashcart: Crashcart) -> None:
    source = (
        "import os, weakref\nclass Big(list):\n    pass\n"
        f"def main():\n    big = Big([bytes(1 << 20)] * 10)\n    seen = weakref.ref(big)\n    {ASK}\n"
        "    sum(range(1000))\n    del big\n    print(seen() is None)\n"
        "main()\n"
    )
    assert crashcart.run(source).out == "True\n"


def test_an_epoch_that_begins_is_an_event(crashcart: Crashcart) -> None:
    source = "import time\nfor n in (1, 2):\n    print(f'Epoch {n}/2', flush=True)\n    time.sleep(1.5)\n"
    done = crashcart.run(source)
    from crashcart.blackbox.read import read_recording

    assert done.folder is not None
    evidence = read_recording(done.folder)
    assert [event.text for event in evidence.events or () if event.kind == "epoch"] == [
        "epoch 1 of 2 began",
        "epoch 2 of 2 began",
    ]


def test_a_program_can_mark_a_moment_itself(crashcart: Crashcart) -> None:
    from crashcart.blackbox.read import read_recording

    done = crashcart.run("import crashcart as cc\nprint(cc.note('phase two'))")
    assert done.out == "True\n"
    assert done.folder is not None
    assert [event.text for event in read_recording(done.folder).events or () if event.kind == "note"] == ["phase two"]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="exception groups came with Python 3.11")
def test_the_members_of_an_exception_group_are_recorded(crashcart: Crashcart) -> None:
    source = (
        "def fetch(shard):\n    raise ConnectionError(shard)\nerrors = []\n"
        "for shard in ('a', 'b'):\n    try:\n        fetch(shard)\n    except ConnectionError as error:\n        errors.append(error)\n"
        "raise ExceptionGroup('failed', [ExceptionGroup('inner', errors[:1]), errors[1]])\n"
    )
    done = crashcart.run(source)
    (record,) = inside(done.folder, "error")
    error = record["error"]
    assert isinstance(error, dict)
    assert [(each["message"], each["frames"][-1][1]) for each in error["chain"]] == [("a", 2), ("b", 2)]


def test_a_stack_that_the_program_prints_itself_is_the_crashs_own(crashcart: Crashcart) -> None:
    from crashcart.blackbox.read import read_recording

    program = crashcart.program("import ctypes\ndef poke():\n    ctypes.string_at(16)\npoke()\n")
    crashcart("run", "--", PYTHON, "-X", "faulthandler", program)
    folder = crashcart.last()
    assert folder is not None
    crash = read_recording(folder).crash
    assert crash is not None and crash.python is not None
    stack = crash.python.current_stack()
    own = stack.own_frame() if stack is not None else None
    assert own is not None and (own.line, own.function, own.source) == (3, "poke", "ctypes.string_at(16)")
    assert stack is not None and stack.main


def test_a_survey_that_runs_out_of_time_estimates_from_what_it_saw(monkeypatch: pytest.MonkeyPatch) -> None:
    from crashcart.record.inside import _crashcart_holders as holders

    monkeypatch.setattr(holders, "MOST_LOOKS", 12)
    around = holders._Survey()
    holders._add(around, "rows", "main", [[bytes(1 << 20)] for _ in range(100)])
    (found,) = around.holders
    assert 100 << 20 <= found["bytes"] < 101 << 20
    assert found["count"] == 100
