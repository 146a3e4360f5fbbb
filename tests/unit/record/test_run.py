"""`crashcart run` is invisible to the program: status, output, terminal, signals, environment."""

from __future__ import annotations

import os
import pty
import select
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import Crashcart

PYTHON = sys.executable


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("pass", 0),
        ("raise SystemExit(3)", 3),
        ("1/0", 1),
        ("import os; os._exit(7)", 7),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", 143),
        ("import os; os.abort()", 134),
    ],
)
def test_the_exit_status_passes_through(crashcart: Crashcart, source: str, code: int) -> None:
    assert crashcart.run(source).code == code


def test_no_verdict_for_a_clean_end_and_stdout_is_the_programs_own(crashcart: Crashcart) -> None:
    done = crashcart.run("print('hello')")
    assert (done.out, done.err) == ("hello\n", "")


def test_the_verdict_goes_to_stderr_after_the_programs_output(crashcart: Crashcart) -> None:
    done = crashcart.run("print('hello'); raise KeyError('x')")
    assert done.out == "hello\n"
    assert done.err.index("KeyError: 'x'") < done.err.index("crashcart: ")


def test_output_order_of_both_streams_in_one_file(crashcart: Crashcart, tmp_path: Path) -> None:
    source = "import os\nfor i in range(2000): os.write(1 + i % 2, b'%d\\n' % i)\n"
    with (tmp_path / "both").open("wb") as stream:
        subprocess.run(
            crashcart.command(source), stdout=stream, stderr=stream, env=crashcart.environment, timeout=60, check=True
        )
    assert (tmp_path / "both").read_text().split() == [str(number) for number in range(2000)]


def test_a_hundred_megabytes_of_stdout_pass_unharmed(crashcart: Crashcart) -> None:
    source = "import sys\nfor i in range(100): sys.stdout.write(f'{i:03d}' * (1024 * 1024 // 3))\n"
    command = crashcart.command(source)
    watched = subprocess.run(command, stdout=subprocess.PIPE, env=crashcart.environment, timeout=110, check=True).stdout
    assert len(watched) == 100 * 3 * (1024 * 1024 // 3)
    assert watched[-9:] == b"099099099"


def test_standard_input_reaches_the_program(crashcart: Crashcart) -> None:
    program = crashcart.program("print(input().upper())")
    done = crashcart("run", "--", PYTHON, program, input="quiet\n")
    assert done.stdout == "QUIET\n"


def in_terminal(crashcart: Crashcart, source: str, keys: bytes = b"", after_s: float = 1.0) -> tuple[str, int]:
    """Run a program under crashcart in a real pseudo-terminal, press keys after a while, return screen and status."""
    command = crashcart.command(source)
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvpe(command[0], command, crashcart.environment)
    screen, pressed_s, start_s = b"", False, time.monotonic()
    while time.monotonic() - start_s < 50:
        ready, _, _ = select.select([terminal], [], [], 0.1)
        try:
            screen += os.read(terminal, 65536) if ready else b""
        except OSError:
            break
        if keys and not pressed_s and b"ready" in screen and time.monotonic() - start_s > after_s:
            os.write(terminal, keys)
            pressed_s = True
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    return screen.decode(errors="replace"), os.waitstatus_to_exitcode(status)


def test_a_terminal_stays_a_terminal(crashcart: Crashcart) -> None:
    source = (
        "import os, sys\nprint([os.isatty(n) for n in range(3)], os.get_terminal_size().columns > 0 or 'no size')\n"
    )
    screen, code = in_terminal(crashcart, source)
    assert "[True, True, True]" in screen
    assert code == 0


def test_control_c_interrupts_the_program_once(crashcart: Crashcart) -> None:
    source = (
        "import time\ncount = 0\nprint('ready', flush=True)\n"
        "try:\n    time.sleep(30)\nexcept KeyboardInterrupt:\n    print('caught', flush=True)\n    time.sleep(1)\n    print('done', flush=True)\n"
    )
    screen, code = in_terminal(crashcart, source, b"\x03")
    assert "caught" in screen
    assert "done" in screen
    assert code == 0


def test_control_c_uncaught_is_called_interrupted(crashcart: Crashcart) -> None:
    screen, code = in_terminal(crashcart, "import time\nprint('ready', flush=True)\ntime.sleep(30)\n", b"\x03")
    assert "was interrupted" in screen
    assert code == 130


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1])
def test_a_signal_to_the_watcher_reaches_the_program(crashcart: Crashcart, number: signal.Signals) -> None:
    source = (
        "import signal, sys, time\n"
        f"signal.signal({int(number)}, lambda n, f: sys.exit(40))\n"
        "print('ready', flush=True)\ntime.sleep(30)\n"
    )
    with crashcart.start(source, "--quiet") as watcher:
        assert watcher.stdout is not None
        assert watcher.stdout.readline() == "ready\n"
        watcher.send_signal(number)
        assert watcher.wait(30) == 40


def test_no_such_command_and_not_executable(crashcart: Crashcart, tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("x")
    missing = crashcart("run", "--", "no-such-command-here")
    forbidden = crashcart("run", "--", str(tmp_path / "plain"))
    assert (missing.returncode, forbidden.returncode) == (127, 126)
    assert "no such command: no-such-command-here" in missing.stderr
    assert crashcart.last() is None


def test_nothing_to_run_is_wrong_usage(crashcart: Crashcart) -> None:
    done = crashcart("run")
    assert done.returncode == 2
    assert "no command was given" in done.stderr


def test_an_unwritable_home_is_said_and_the_program_runs(crashcart: Crashcart, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    done = crashcart(
        "run", "--", PYTHON, crashcart.program("print('ran')"), env={"CRASHCART_HOME": str(tmp_path / "file")}
    )
    assert (done.returncode, done.stdout) == (0, "ran\n")
    assert "the run was not recorded" in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to mount a tiny file system")
def test_a_full_disk_is_said_and_the_program_runs(crashcart: Crashcart, tmp_path: Path) -> None:
    program = crashcart.program("print('ran')")
    tiny = tmp_path / "tiny"
    tiny.mkdir()
    script = (
        f"mount -t tmpfs -o size=256k none {tiny} && "
        f"CRASHCART_HOME={tiny}/h {PYTHON} -m crashcart run -- {PYTHON} {program}; code=$?; ls {tiny}/h/runs; exit $code"
    )
    done = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, timeout=60)
    if "unshare" in done.stderr or "mount" in done.stderr:
        pytest.skip(f"may not mount here: {done.stderr.strip()}")
    assert (done.returncode, done.stdout) == (0, "ran\n")
    assert "No space left on device" in done.stderr


def test_recordings_are_the_owners_alone(crashcart: Crashcart) -> None:
    done = crashcart.run("pass")
    assert done.folder is not None
    for path in [done.folder.parent, done.folder, *done.folder.iterdir()]:
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_secrets_never_reach_the_disk(crashcart: Crashcart) -> None:
    secret = "hunter2" + "hunter2"
    done = crashcart.run(
        "pass", "--password", secret, f"--token={secret}", env={"TF_API_KEY": secret, "MY_TOKEN": secret}
    )
    assert done.folder is not None
    for path in done.folder.iterdir():
        assert secret.encode() not in path.read_bytes(), path
