"""The preloaded recorder in real processes: what is written stays as it was, and its end is kept.

Fatal signals are in test_native_crash.py.
"""

from __future__ import annotations

import errno
import hashlib
import os
import pty
import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from native_recorder import Recorder, compiled, programs, recorder_library

from crashcart.blackbox.output import OutputTail, create_output, read_output
from crashcart.record import native

__all__ = ["programs", "recorder_library"]

INTERLEAVED = """
import os, sys
print("tty", os.isatty(1), os.isatty(2))
for i in range(300):
    print("out", i, flush=i % 7 == 0)
    print("err", i, file=sys.stderr)
    os.write(2 - i % 2, b"raw %d\\n" % i)
"""


@pytest.fixture
def recorder(recorder_library: Path, tmp_path: Path) -> Recorder:
    return Recorder(recorder_library, tmp_path)


def text_of(stream: OutputTail) -> bytes:
    assert stream.dropped_bytes == 0
    return stream.head + stream.tail


def into_one_file(command: list[str], environment: dict[str, str], path: Path) -> bytes:
    with path.open("wb") as file:
        subprocess.run(command, env=environment, stdout=file, stderr=file, check=True, timeout=60)
    return path.read_bytes()


def into_terminal(command: list[str], environment: dict[str, str]) -> bytes:
    ours, theirs = pty.openpty()
    child = subprocess.Popen(command, env=environment, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    shown = b""
    while True:
        try:
            chunk = os.read(ours, 65536)
        except OSError as error:  # the terminal ends with an input/output error
            assert error.errno == errno.EIO
            break
        shown += chunk
    os.close(ours)
    assert child.wait(timeout=60) == 0
    return shown


@pytest.fixture(params=["c", "c++", "python"])
def speaker(request: pytest.FixtureRequest) -> list[str]:
    if request.param == "python":
        return [sys.executable, "-c", INTERLEAVED]
    build: Path = request.getfixturevalue("programs")
    return [str(compiled(build, "speak.c" if request.param == "c" else "speak.cpp"))]


def test_a_shared_file_gets_the_same_bytes_in_the_same_order(
    recorder: Recorder, speaker: list[str], tmp_path: Path
) -> None:
    without = into_one_file(speaker, recorder.environment(preload=False), tmp_path / "without")
    assert len(without) > 50
    assert into_one_file(speaker, recorder.environment(), tmp_path / "with") == without


def test_a_terminal_stays_a_terminal(recorder: Recorder, speaker: list[str]) -> None:
    without = into_terminal(speaker, recorder.environment(preload=False))
    shown = into_terminal(speaker, recorder.environment())
    assert shown == without
    assert (b"tty True True" in shown) == (speaker[0] == sys.executable)


@pytest.mark.parametrize("flags", [["-O0"], ["-O2", "-D_FORTIFY_SOURCE=2"]], ids=["plain", "fortified"])
def test_every_way_to_stderr_is_kept(recorder: Recorder, programs: Path, flags: list[str]) -> None:
    done = recorder.run(str(compiled(programs, "speak.c", *flags)), "argument")
    stdout, stderr = (text_of(stream) for stream in recorder.streams())
    assert done.returncode == 0
    before, _, after = done.stderr.partition(b"x" * 6000 + b"\n")
    assert before.count(b"\n") == 14
    assert stderr == before + b"x" * 4095 + b"\n" + after + b"reopened\n", "one formatted message keeps 4096 bytes"
    assert stdout == b"out write\nout dprintf 43\nout end\n"


@pytest.mark.parametrize("arguments", [[], ["apart"]], ids=["joined", "apart"])
def test_cpp_streams_are_kept(recorder: Recorder, programs: Path, arguments: list[str]) -> None:
    done = recorder.run(str(compiled(programs, "speak.cpp")), *arguments)
    assert done.stderr.startswith(b"cerr 42 1.5\nclog ")
    assert text_of(recorder.streams()[1]) == done.stderr


def test_the_tail_survives_sigkill(recorder: Recorder) -> None:
    program = """
import os, signal, sys
for i in range(40000):
    os.write(2, b"line %d\\n" % i)
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = recorder.run(sys.executable, "-c", program)
    stderr = recorder.streams()[1]
    assert done.returncode == -signal.SIGKILL
    assert stderr.head == done.stderr[:16384]
    assert stderr.tail == done.stderr[-65536:]
    assert stderr.dropped_bytes == len(done.stderr) - 16384 - 65536


def test_a_hundred_megabytes_pass_through_a_pipe(recorder: Recorder) -> None:
    program = """
import os
block = bytes(range(256)) * 4096
for i in range(100):
    view = memoryview(b"%d " % i + block)
    while view:
        view = view[os.write(1, view):]
"""
    digests = []
    for preload in (False, True):
        digest, last = hashlib.sha256(), b""
        command = [sys.executable, "-c", program]
        with subprocess.Popen(command, env=recorder.environment(preload), stdout=subprocess.PIPE) as child:
            assert child.stdout is not None
            while chunk := child.stdout.read(1 << 20):
                digest.update(chunk)
                last = (last + chunk)[-65536:]
        assert child.returncode == 0
        digests.append(digest.digest())
    assert digests[0] == digests[1]
    assert recorder.streams()[0].tail == last


def test_threads_and_forks_lose_no_line(recorder: Recorder, programs: Path) -> None:
    recorder.replace_output(ring_bytes=1 << 20)
    done = recorder.run(str(compiled(programs, "threads.c", "-pthread")), "8", "2000")
    assert done.returncode == 0
    kept = Counter(text_of(recorder.streams()[1]).split(b"\n"))
    assert kept == Counter(done.stderr.split(b"\n"))
    assert len(kept) == 12 * 2000 + 1


def test_a_captured_child_keeps_its_data_to_itself(recorder: Recorder) -> None:
    child = "import os; os.write(1, b'data for the parent'); os.write(2, b'words for the user')"
    program = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}], stdout=subprocess.PIPE)"
    recorder.run(sys.executable, "-c", program + "; print('done')")
    stdout, stderr = recorder.streams()
    assert text_of(stdout) == b"done\n"
    assert text_of(stderr) == b"words for the user"


def test_a_child_that_shares_stdout_is_kept(recorder: Recorder) -> None:
    recorder.run(sys.executable, "-c", "import subprocess, sys; subprocess.run([sys.executable, '-c', 'print(1 + 1)'])")
    assert text_of(recorder.streams()[0]) == b"2\n"


@pytest.mark.parametrize("damage", ["absent", "empty", "short", "magic", "version", "offset", "ring", "folder"])
def test_a_foreign_output_file_is_left_alone(recorder: Recorder, damage: str) -> None:
    path = recorder.directory / "output"
    sound = path.read_bytes()
    path.unlink()
    content = {
        "empty": b"",
        "short": sound[:60],
        "magic": b"X" + sound[1:],
        "version": sound[:8] + b"\2" + sound[9:],
        "offset": sound[:22] + b"\1" + sound[23:],
        "ring": sound[:38] + b"\1" + sound[39:],
    }
    if damage in content:
        path.write_bytes(content[damage])
    elif damage == "folder":
        path.mkdir()
    done = recorder.run(sys.executable, "-c", "import sys; print('out'); print('err', file=sys.stderr)")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"out\n", b"err\n")
    assert (path.read_bytes() if path.is_file() else None) == content.get(damage)


def test_without_the_variable_nothing_is_kept(recorder: Recorder) -> None:
    environment = {**recorder.environment(), "CRASHCART_RECORDING": ""}
    done = subprocess.run([sys.executable, "-c", "print('out')"], env=environment, capture_output=True, check=True)
    assert done.stdout == b"out\n"
    assert recorder.streams() == (OutputTail(b"", b"", 0), OutputTail(b"", b"", 0))


def test_another_preloaded_library_still_works(recorder: Recorder, programs: Path) -> None:
    other = compiled(programs, "other_preload.c", "-shared", "-fPIC")
    environment = {**recorder.environment(), "LD_PRELOAD": f"{other}:{recorder.library}"}
    done = subprocess.run([sys.executable, "-c", "import os; os.write(2, b'x')"], env=environment, capture_output=True)
    assert done.stderr == b"marked: x"
    assert text_of(recorder.streams()[1]) == b"marked: x"


@pytest.mark.parametrize(
    "command",
    [
        "echo out; echo err >&2; printf '%s\\n' a b | sort -r; (exit 3)",
        "ls -la /usr; cat /etc/passwd | wc -l; env -i /bin/echo bare",
        "exec 1>&-; exec 2>&-; echo nobody",
        "exec 3>&1 1>&2 2>&3; echo to-err; echo to-out >&2",
        "git --version; git -C / log 2>&1; git help -a | head -3",
    ],
)
def test_shells_and_their_children_behave_the_same(recorder: Recorder, command: str) -> None:
    if command.startswith("git") and shutil.which("git") is None:
        pytest.skip("no git here")
    results = [recorder.run("/bin/sh", "-c", command, preload=preload) for preload in (False, True)]
    assert results[0].returncode == results[1].returncode
    assert (results[0].stdout, results[0].stderr) == (results[1].stdout, results[1].stderr)


def test_it_answers_only_where_it_is_loaded(recorder: Recorder) -> None:
    program = "import os; print(os.write(-47, b'crashcart:ping'))"
    assert recorder.run(sys.executable, "-c", program).stdout == b"14\n"
    assert b"Bad file descriptor" in recorder.run(sys.executable, "-c", program, preload=False).stderr
    nonsense = "import os; os.write(-47, b'crashcart:dance')"
    assert b"Bad file descriptor" in recorder.run(sys.executable, "-c", nonsense).stderr


def test_only_the_interposed_names_are_exported(recorder_library: Path) -> None:
    if shutil.which("nm") is None:
        pytest.skip("no nm here")
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", recorder_library], capture_output=True, text=True, check=True
    )
    names = {line.split()[-1] for line in listed.stdout.splitlines()}
    assert {"write", "writev", "fwrite", "fprintf", "__vfprintf_chk", "perror"} <= names
    assert not [name for name in names if name.startswith(("output_", "crash_", "real_", "find_"))]


def test_library_names_the_built_file_or_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "__file__", str(tmp_path / "__init__.py"))
    assert native.library() is None
    (tmp_path / native.LIBRARY_NAME).touch()
    assert native.library() == tmp_path / native.LIBRARY_NAME


def test_head_ring_and_position_agree_at_every_length(recorder: Recorder) -> None:
    """Writes of many sizes against a tiny ring, so that each boundary is crossed."""
    program = "import os, sys; [os.write(2, bytes([65 + i % 26]) * int(n)) for i, n in enumerate(sys.argv[1:])]"
    for sizes in ([3], [10], [11], [10, 16], [10, 17], [26, 1], [100], [5, 100, 7], [9, 2, 300, 1, 15], [1] * 60):
        (recorder.directory / "output").unlink()
        create_output(recorder.directory / "output", head_bytes=10, ring_bytes=16)
        done = recorder.run(sys.executable, "-c", program, *map(str, sizes))
        streams = read_output(recorder.directory / "output")
        assert streams is not None
        written = done.stderr
        assert streams[1].head == written[:10]
        assert streams[1].tail == written[10:][-16:]
        assert streams[1].dropped_bytes == max(0, len(written) - 26)
