"""Exceptions in the user's frame, in real programs that run out of a real memory group."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.group import enter, memory_group, unavailable
from crashcart.blackbox.read import read_recording
from crashcart.record.gauge import REFRESH_FAR_S
from tests.conftest import Crashcart

pytestmark = [
    pytest.mark.skipif(unavailable() is not None, reason=str(unavailable())),
    pytest.mark.alone,  # who guards needs a share of a core while memory runs short
]

Guarded = Callable[..., "subprocess.CompletedProcess[str]"]
GROW = """
def grow(kept):
    while True:
        kept.append({"id": len(kept), "values": [1, 2, 3], "name": str(len(kept))})
"""


@pytest.fixture
def guarded(crashcart: Crashcart) -> Guarded:
    """Run a program guarded, without an airbag, in a group of its own."""

    def run(source: str, *options: str, limit_mb: int = 160) -> subprocess.CompletedProcess[str]:
        command = crashcart.command(source, "--airbag", "off", *options)
        with memory_group(limit_mb) as group:
            return subprocess.run(
                command, capture_output=True, text=True, timeout=100, env=crashcart.environment,
                preexec_fn=lambda: enter(group),
            )  # fmt: skip

    return run


def test_the_program_lives_on_with_its_variables(guarded: Guarded) -> None:
    source = GROW + (
        "before = {'model': list(range(5))}\nrows = []\n"
        "try:\n    grow(rows)\nexcept MemoryError as error:\n    caught, count = error, len(rows)\n    rows.clear()\n"
        "print(type(caught).__module__, type(caught).__name__, count > 1000, before)\n"
        "print(sum(len(str(n)) for n in range(100000)))\n"
    )
    done = guarded(source)
    assert done.stdout == "crashcart MemoryGuardError True {'model': [0, 1, 2, 3, 4]}\n488890\n", done.stderr
    assert done.returncode == 0


def test_the_traceback_ends_at_the_users_line_and_the_words_have_the_figures(guarded: Guarded) -> None:
    done = guarded(GROW + "rows = []\ngrow(rows)\n")
    trace, _, verdict = done.stderr.partition("crashcart: ")
    assert "in grow" in trace and "_crashcart_guard" not in trace
    assert "crashcart.MemoryGuardError: " in trace and "this line" in trace
    assert "(container limit)" in trace and "held: " in trace
    assert re.search(r"program\.py:[34] ", verdict), verdict
    assert done.returncode == 1


def test_a_second_time_is_as_good_as_the_first(guarded: Guarded) -> None:
    source = GROW + (
        "for turn in range(3):\n    rows = []\n    try:\n        grow(rows)\n    except MemoryError:\n"
        "        del rows\n        print('caught', turn, flush=True)\n"
    )
    # A larger reserve than that of the other tests: without an airbag, it is what grows until the exception is there.
    assert guarded(source, limit_mb=640).stdout == "caught 0\ncaught 1\ncaught 2\n"


def test_a_clean_up_is_not_interrupted(guarded: Guarded) -> None:
    source = (
        "import time\nblocks = []\n"
        "def work():\n    try:\n        return 1\n    finally:\n"
        "        for n in range(60):\n            blocks.append([{n: k} for k in range(8000)])\n            time.sleep(0.02)\n"
        "            if len(blocks) > 48:\n                time.sleep(0.1)\n"
        "        print('cleaned up')\n"
        "try:\n    work()\n    total = sum(range(5000000))\n    print('not raised')\nexcept MemoryError:\n    print('raised after')\n"
    )
    done = guarded(source, limit_mb=150)
    assert done.stdout.startswith("cleaned up\n"), (done.stdout, done.stderr)


def test_the_thread_that_grows_is_told_not_the_one_that_waits(guarded: Guarded) -> None:
    source = GROW + (
        "import threading\nseen = []\n"
        "def work():\n    rows = []\n    try:\n        grow(rows)\n    except MemoryError as error:\n"
        "        seen.append(type(error).__name__)\n"
        "thread = threading.Thread(target=work)\nthread.start()\nthread.join()\nprint(seen)\n"
    )
    done = guarded(source)
    assert done.stdout == "['MemoryGuardError']\n", done.stderr


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_child_that_grows_is_told(guarded: Guarded, method: str) -> None:
    source = GROW + (
        "import multiprocessing\n"
        "def work(queue):\n    rows = []\n    try:\n        grow(rows)\n    except MemoryError as error:\n"
        "        rows.clear()\n        queue.put(type(error).__name__)\n"
        f"if __name__ == '__main__':\n    context = multiprocessing.get_context({method!r})\n"
        "    queue = context.Queue()\n    child = context.Process(target=work, args=(queue,))\n    child.start()\n"
        "    print(queue.get(timeout=60))\n    child.join()\n    print(child.exitcode)\n"
    )
    # As above, a larger reserve: a child is seen a look later than the program itself.
    done = guarded(source, limit_mb=640)
    assert done.stdout == "MemoryGuardError\n0\n", done.stderr


def test_without_the_guard_it_dies(guarded: Guarded) -> None:
    done = guarded(GROW + "rows = []\ntry:\n    grow(rows)\nexcept MemoryError:\n    print('caught')\n", "--no-guard")
    assert (done.returncode, done.stdout) == (137, "")


def test_a_limit_of_ones_own(guarded: Guarded) -> None:
    source = GROW + "rows = []\ntry:\n    grow(rows)\nexcept MemoryError as error:\n    print(error)\n"
    done = guarded(source, "--limit", "100M", limit_mb=400)
    assert "of 100 MiB (the limit that was asked for)" in done.stdout


def test_a_running_process_can_be_guarded(crashcart: Crashcart, tmp_path: Path) -> None:
    source = (
        "import crashcart as cc\nprotection = cc.guard()\nprint(protection.level)\n" + GROW + "rows = []\n"
        "try:\n    grow(rows)\nexcept cc.MemoryGuardError as error:\n    rows.clear()\n    print('caught', 'container limit' in str(error))\n"
        "print(cc.guard().level)\n"
    )
    path = tmp_path / "program.py"
    path.write_text(source, encoding="utf-8")
    with memory_group(200) as group:
        done = subprocess.run(
            [sys.executable, str(path)], capture_output=True, text=True, timeout=60, env=crashcart.environment,
            preexec_fn=lambda: enter(group),
        )  # fmt: skip
    assert done.stdout == "interrupts\ncaught True\ninterrupts\n", done.stderr


def test_a_failing_guard_lets_the_program_be(crashcart: Crashcart) -> None:
    crashcart.environment["CRASHCART_AIRBAG"] = "/nowhere/at/all"
    done = crashcart.run("print('fine')")
    assert done.out == "fine\n" and "no airbag: /nowhere/at/all is not a directory" in done.err


@pytest.mark.parametrize(("text", "words"), [("1", "at least 64.0 MiB"), ("many", "received the size 'many'")])
def test_a_limit_that_makes_no_sense_is_said(crashcart: Crashcart, text: str, words: str) -> None:
    done = crashcart("run", "--limit", text, "--", sys.executable, "-c", "")
    assert done.returncode == 2 and words in done.stderr


def test_a_limit_larger_than_the_machine_is_said(crashcart: Crashcart) -> None:
    done = crashcart("run", "--limit", "900T", "--", sys.executable, "-c", "print('ran')")
    assert done.stdout == "ran\n" and "is more than the machine has" in done.stderr


def test_a_limit_larger_than_the_container_is_said_once_and_the_smaller_holds(guarded: Guarded) -> None:
    source = GROW + "rows = []\ntry:\n    grow(rows)\nexcept MemoryError as error:\n    print(error)\n"
    done = guarded(source, "--limit", "400M")
    assert done.stderr.count("the limit of 400 MiB is more than the container may use (160 MiB)") == 1
    assert "of 160 MiB (container limit)" in done.stdout


@pytest.mark.parametrize(("first_mb", "then_mb"), [(400, 160), (120, 200)])
def test_a_containers_limit_that_changes_is_followed(crashcart: Crashcart, first_mb: int, then_mb: int) -> None:
    source = GROW + (
        "print('ready', flush=True)\ninput()\nrows = []\n"
        "try:\n    grow(rows)\nexcept MemoryError as error:\n    rows.clear()\n    print(error)\n"
    )
    with memory_group(first_mb) as place:
        assert place is not None
        program = crashcart.start(source, "--airbag", "off", stdin=subprocess.PIPE, preexec_fn=lambda: enter(place))
        assert program.stdout is not None and program.stdout.readline() == "ready\n"
        limit = next(each for each in (place / "memory.limit_in_bytes", place / "memory.max") if each.exists())
        limit.write_text(str(then_mb << 20))
        time.sleep(2 * REFRESH_FAR_S)
        said, _ = program.communicate("go\n", timeout=60)
    assert f"of {then_mb} MiB (container limit)" in said
    changed = [each.text for each in read_recording(crashcart.last()).events or () if each.facts.get("step") == "limit"]
    assert changed == [f"container limit changed: {first_mb} MiB to {then_mb} MiB"]


def test_a_limit_below_what_is_used_is_met_with_an_exception(guarded: Guarded) -> None:
    source = "import time\nblock = b'x' * 150_000_000\ntry:\n    time.sleep(2)\n    print('slept')\nexcept MemoryError as error:\n    print(error)\n"
    done = guarded(source, "--limit", "100M", limit_mb=400)
    assert "of 100 MiB (the limit that was asked for)" in done.stdout + done.stderr
    assert "slept" not in done.stdout and done.returncode in (0, 1)


def test_pages_that_forked_workers_share_count_once(crashcart: Crashcart) -> None:
    source = (
        "import os, time\nblock = b'x' * 100_000_000\nchildren = []\n"
        "for _ in range(5):\n    pid = os.fork()\n    if not pid:\n        time.sleep(3)\n        os._exit(0)\n    children.append(pid)\n"
        "for pid in children:\n    os.waitpid(pid, 0)\nprint('fine', len(block))\n"
    )
    done = crashcart("run", "--limit", "300M", "--", sys.executable, crashcart.program(source, "forks.py"))
    assert (done.stdout, done.stderr) == ("fine 100000000\n", "")


def test_a_recording_that_loses_its_files_takes_nothing_from_the_guard(guarded: Guarded) -> None:
    source = GROW + (
        "import os\nos.unlink(os.environ['CRASHCART_RECORDING'] + '/guard')\nrows = []\n"
        "try:\n    grow(rows)\nexcept MemoryError as error:\n    rows.clear()\n    print(error)\n"
    )
    assert "(container limit)" in guarded(source).stdout


def test_a_module_is_told_as_a_script_is(guarded: Guarded, crashcart: Crashcart) -> None:
    (crashcart.scratch / "eater.py").write_text(
        GROW + "rows = []\ntry:\n    grow(rows)\nexcept MemoryError:\n    print('told')\n"
    )
    source = "import os, subprocess, sys\nhere = os.path.dirname(__file__)\nprint(subprocess.run([sys.executable, '-m', 'eater'], cwd=here, capture_output=True, text=True).stdout)\n"
    assert "told" in guarded(source).stdout


def test_a_program_that_handles_every_signal_is_left_alone(crashcart: Crashcart) -> None:
    source = (
        "import signal, sys, time\n"
        "def stop(number, frame):\n    print('got', number)\n    sys.exit(3)\n"
        "for number in signal.valid_signals():\n    try:\n        signal.signal(number, stop)\n    except (OSError, ValueError):\n        pass\n"
        "blocks = [b'x' * 20_000_000 for _ in range(16)]\ntime.sleep(1)\nprint('fine')\n"
    )
    done = crashcart("run", "--limit", "380M", "--", sys.executable, crashcart.program(source, "signals.py"))
    assert done.stdout == "fine\n", done.stderr
