"""Fatal signals in real processes under the recorder: the crash file, the true exit signal, faulthandler after us."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from native_recorder import Recorder, compiled, programs, recorder_library

from crashcart.blackbox.crashfile import read_crash

__all__ = ["programs", "recorder_library"]

HOOK = """
import ctypes, faulthandler, os, signal, sys, threading
file = open(sys.argv[1] + "/python", "w")
faulthandler.enable(file=file)
try:
    os.write(-47, b"crashcart:arm:" + os.fsencode(sys.argv[1] + "/crash") + b"\\n")
except OSError:
    pass
faults = ctypes.CDLL(sys.argv[2])
"""


@pytest.fixture
def recorder(recorder_library: Path, tmp_path: Path) -> Recorder:
    return Recorder(recorder_library, tmp_path)


@pytest.fixture
def faults(programs: Path) -> str:
    return str(compiled(programs, "faults.c", "-shared", "-fPIC", "-O1", "-fno-omit-frame-pointer", "-pthread"))


def die(recorder: Recorder, faults: str, statement: str, preload: bool = True) -> subprocess.CompletedProcess[bytes]:
    return recorder.run(sys.executable, "-c", HOOK + statement, str(recorder.directory), faults, preload=preload)


def is_complete(path: Path) -> bool:
    return path.read_bytes().endswith(b"\nend\n")


def crashed_thread(recorder: Recorder) -> list[str]:
    """What faulthandler wrote, without the other threads, which may have been anywhere."""
    error, stack = (recorder.directory / "python").read_text().split("\n\n")[:2]
    return [error, *stack.splitlines()[1:]]


@pytest.mark.parametrize(
    ("statement", "number", "symbol"),
    [
        ("ctypes.string_at(0)", signal.SIGSEGV, None),
        ("os.abort()", signal.SIGABRT, "abort"),
        ("faults.divide()", signal.SIGFPE, "divide"),
        ("faults.illegal()", signal.SIGILL, "illegal"),
        ("faults.bus(os.fsencode(sys.argv[1] + '/page'))", signal.SIGBUS, "bus"),
        ("faults.double_free()", signal.SIGABRT, "double_free"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", signal.SIGSEGV, "kill"),
        ("t = threading.Thread(target=faults.divide); t.start(); t.join()", signal.SIGFPE, "divide"),
    ],
)
def test_each_death_is_recorded_and_stays_the_same(
    recorder: Recorder, faults: str, statement: str, number: int, symbol: str | None
) -> None:
    without = die(recorder, faults, statement, preload=False)
    python_stack = crashed_thread(recorder)
    assert without.returncode == -number
    done = die(recorder, faults, statement)
    assert (done.returncode, done.stdout, done.stderr) == (-number, without.stdout, without.stderr)
    assert is_complete(recorder.directory / "crash")
    crash = read_crash(recorder.directory / "crash")
    assert crash is not None
    assert crash.signal == number
    assert len(crash.frames) > 5
    assert symbol is None or symbol in {frame.symbol for frame in crash.frames}
    assert not [frame for frame in crash.frames if "crashcart" in frame.library]
    assert crash.instruction
    assert crashed_thread(recorder) == python_stack
    assert python_stack[0].startswith("Fatal Python error: ")


def test_a_fault_has_its_address_and_code(recorder: Recorder, faults: str) -> None:
    die(recorder, faults, "ctypes.string_at(0x1234)")
    crash = read_crash(recorder.directory / "crash")
    assert crash is not None
    assert (crash.address, crash.code) == (0x1234, 1)
    assert crash.stack_distance_bytes is not None
    assert crash.stack_distance_bytes > 1 << 30
    lines = dict(line.partition(" ")[::2] for line in (recorder.directory / "crash").read_text().splitlines())
    low, high = (int(each, 16) for each in lines["stack"].split())
    assert low < int(lines["sp"], 16) < high
    assert "sender" not in lines
    assert oct((recorder.directory / "crash").stat().st_mode & 0o777) == "0o600"


def test_a_protection_fault_claims_no_address(recorder: Recorder, faults: str) -> None:
    done = die(recorder, faults, "ctypes.string_at(0x8888888888888888)")
    crash = read_crash(recorder.directory / "crash")
    assert done.returncode == -signal.SIGSEGV
    assert crash is not None
    assert crash.address is None


def test_a_stack_overflow_faults_beside_its_stack_pointer(recorder: Recorder, faults: str) -> None:
    statement = """
sys.setrecursionlimit(10**9)
class Endless:
    def __repr__(self):
        return repr(self.own)
endless = Endless()
endless.own = endless
repr(endless)
"""
    done = die(recorder, faults, statement)
    if done.returncode != -signal.SIGSEGV:
        pytest.skip("this Python guards its C stack")
    crash = read_crash(recorder.directory / "crash")
    assert crash is not None
    assert crash.stack_distance_bytes is not None
    assert crash.stack_distance_bytes < 1 << 16


def test_the_abort_message_is_the_c_librarys(recorder: Recorder, faults: str) -> None:
    done = die(recorder, faults, "faults.double_free()")
    crash = read_crash(recorder.directory / "crash")
    assert crash is not None
    if os.confstr("CS_GNU_LIBC_VERSION") is None:
        pytest.skip("only glibc leaves a message")
    assert crash.message is not None
    assert "double free" in crash.message
    assert crash.message.encode() in done.stderr


def test_a_call_of_nothing_names_the_caller(recorder: Recorder, faults: str) -> None:
    done = die(recorder, faults, "faults.call_nothing()")
    crash = read_crash(recorder.directory / "crash")
    assert done.returncode == -signal.SIGSEGV
    assert crash is not None
    assert crash.address == 0
    assert crash.instruction is None
    assert [(frame.library, frame.symbol) for frame in crash.frames[:2]] == [("", None), (faults, "call_nothing")]


def test_a_lost_stack_costs_the_frames_only(recorder: Recorder, faults: str) -> None:
    without = die(recorder, faults, "faults.lose_stack()", preload=False)
    done = die(recorder, faults, "faults.lose_stack()")
    assert done.returncode == without.returncode
    crash = read_crash(recorder.directory / "crash")
    assert crash is not None
    assert crash.signal == -done.returncode


def test_the_first_of_many_crashing_threads_finishes_its_record(recorder: Recorder, faults: str) -> None:
    done = die(recorder, faults, "faults.fault_in_many_threads()")
    assert done.returncode == -signal.SIGSEGV
    assert is_complete(recorder.directory / "crash")
    assert b"Fatal Python error" in (recorder.directory / "python").read_bytes()


def test_a_held_loader_lock_does_not_turn_the_crash_into_a_hang(
    recorder: Recorder, programs: Path, faults: str
) -> None:
    stuck = compiled(programs, "stuck.c", "-shared", "-fPIC")
    statement = f"""
reader, writer = os.pipe()
os.environ["STUCK_FD"] = str(writer)
faults.fault_while_loading({os.fsencode(stuck)!r}, reader)
"""
    assert die(recorder, faults, statement).returncode == -signal.SIGFPE
    crash = read_crash(recorder.directory / "crash")
    assert crash is not None
    assert crash.signal == signal.SIGFPE


def test_a_forked_child_writes_beside_its_parent(recorder: Recorder, faults: str) -> None:
    statement = """
child = os.fork()
if child == 0:
    faults.divide()
print(child, os.waitpid(child, 0)[1], flush=True)
faults.illegal()
"""
    done = die(recorder, faults, statement)
    child, status = (int(word) for word in done.stdout.split())
    assert (os.WTERMSIG(status), -done.returncode) == (signal.SIGFPE, signal.SIGILL)
    parents = read_crash(recorder.directory / "crash")
    childs = read_crash(recorder.directory / f"crash-{child}")
    assert parents is not None
    assert childs is not None
    assert (parents.signal, childs.signal, childs.pid) == (signal.SIGILL, signal.SIGFPE, child)


def test_a_signal_from_outside_names_its_sender(recorder: Recorder, faults: str) -> None:
    command = [sys.executable, "-c", HOOK + "print(1, flush=True); signal.pause()", str(recorder.directory), faults]
    with subprocess.Popen(command, env=recorder.environment(), stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        child.send_signal(signal.SIGABRT)
        assert child.wait(timeout=60) == -signal.SIGABRT
    assert f"\nsender {os.getpid()}\n" in (recorder.directory / "crash").read_text()


@pytest.mark.parametrize("way", ["abort", "raise", "kill", "fault"])
def test_the_previous_handler_sees_what_it_would_have_seen(recorder: Recorder, programs: Path, way: str) -> None:
    """The code, the sender and even the depth on the alternate stack, where nothing of ours may be left."""
    witness = str(compiled(programs, "witness.c"))
    without, done = (
        recorder.run(witness, way, str(recorder.directory / "crash"), preload=preload) for preload in (False, True)
    )
    assert without.returncode == done.returncode == 7
    assert without.stdout == done.stdout
    assert is_complete(recorder.directory / "crash")


def test_an_ignored_signal_stays_ignored(recorder: Recorder, faults: str) -> None:
    program = "signal.signal(signal.SIGFPE, signal.SIG_IGN);" + HOOK.replace("faulthandler.enable(file=file)", "")
    program = "import signal\n" + program + "os.kill(os.getpid(), signal.SIGFPE); print('alive')"
    done = recorder.run(sys.executable, "-c", program, str(recorder.directory), faults)
    assert (done.returncode, done.stdout) == (0, b"alive\n")
    assert not (recorder.directory / "crash").exists()


def test_a_second_arming_moves_the_file(recorder: Recorder, faults: str) -> None:
    move = "os.write(-47, b'crashcart:arm:' + os.fsencode(sys.argv[1] + '/moved') + b'\\n'); faults.divide()"
    assert die(recorder, faults, move).returncode == -signal.SIGFPE
    assert is_complete(recorder.directory / "moved")
    assert not (recorder.directory / "crash").exists()
    assert b"Fatal Python error" in (recorder.directory / "python").read_bytes()


def test_a_path_too_long_is_refused(recorder: Recorder, faults: str) -> None:
    done = die(recorder, faults, "os.write(-47, b'crashcart:arm:' + b'/' * 5000 + b'\\n')")
    assert b"File name too long" in done.stderr
