"""Run the deaths plainly and show how each of them really ends.

Covers: the ending of each program against `expect_status`, and whether the traceback that it printed (or, with
`--stacks`, the last Python stack before a signal) stands on the marked line.
Does not cover: any verdict; nothing here uses crashcart beyond its list of causes.

    PYTHONPATH=src python -m bench.deaths.verify [--stacks] [--show] [NAME…]
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.deaths.death import HERE, Death
from bench.deaths.manifest import DEATHS

MEMORY_GROUPS = Path("/sys/fs/cgroup/memory")
PROGRAM_FILES = str(HERE / "programs")
Place = tuple[str, int]
FRAME = re.compile(r'File "([^"]+)", line (\d+)')


@dataclass(frozen=True)
class Seen:
    """One run."""

    status: int | None
    seconds: float
    oom_kills: int | None
    places: tuple[Place, ...]
    """Own lines, in the order of the traceback; the last one is the deepest."""
    output: str


def main(arguments: list[str]) -> int:
    options = _parser().parse_args(arguments)
    chosen = [death for death in DEATHS if not options.names or death.name in options.names]
    print(f"{'name':34} {'cause':22} {'expected':>8} {'seen':>5} {'oom':>4} {'s':>6}  line")
    failures = 0
    for death in chosen:
        seen = run(death, options.stacks)
        failures += seen.status != death.expect_status
        print(row(death, seen), flush=True)
        if options.show:
            print(seen.output[-2500:])
    print(f"{len(chosen)} deaths, {failures} ended otherwise than expected")
    return 1 if failures else 0


def row(death: Death, seen: Seen) -> str:
    ending = "none" if seen.status is None else str(seen.status)
    mark = " " if seen.status == death.expect_status else "!"
    kills = "-" if seen.oom_kills is None else str(seen.oom_kills)
    return (
        f"{death.name:34} {death.cause.value:22} {death.expect_status:>8} {ending:>5}{mark}{kills:>4}"
        f" {seen.seconds:6.1f}  {_line_words(death, seen)}"
    )


def run(death: Death, stacks: bool = False) -> Seen:
    """Run one program to its end and clean up after it."""
    tmp = Path(tempfile.mkdtemp(prefix=f"death-{death.name}-"))
    words = tmp.with_name(tmp.name + "-words")
    try:
        if death.setup is not None:
            death.setup(tmp)
        with memory_group(death.limit_mb) as group:
            return _run_in(death, tmp, group, words if stacks else None)
    finally:
        shutil.rmtree(tmp, ignore_errors=True)
        for file in tmp.parent.glob(words.name + ".*"):
            file.unlink()


def _run_in(death: Death, tmp: Path, group: Path | None, words: Path | None) -> Seen:
    output = tmp.with_name(tmp.name + ".out")
    with output.open("wb") as file:
        started_s = time.monotonic()
        process = _start(death, tmp, group, words, file.fileno())
        status = _wait(process, death, group, words is not None)
        seconds = time.monotonic() - started_s
        _end_rest(process.pid)
    text = output.read_text(errors="replace")
    output.unlink()
    died_of_signal = status is None or status < 0
    places = _last_words(words) if words is not None and died_of_signal else _own_places(text)
    return Seen(status, seconds, _oom_kills(group), places, text)


def _start(death: Death, tmp: Path, group: Path | None, words: Path | None, output: int) -> subprocess.Popen[bytes]:
    env = {**os.environ, **death.environment(sys.executable, tmp)}
    env.pop("PYTHONFAULTHANDLER", None)
    if words is not None:
        env["LAST_WORDS"] = str(words)
        env["PYTHONPATH"] = os.pathsep.join([str(HERE / "last_words"), *_python_path(death, env)])
    elif "PYTHONPATH" not in death.env:
        env.pop("PYTHONPATH", None)

    def enter() -> None:
        # A runner in the background of a shell ignores these, and its children would inherit that.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        if group is not None:
            (group / "cgroup.procs").write_text(str(os.getpid()))

    return subprocess.Popen(
        death.command(sys.executable, tmp),
        cwd=tmp,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        preexec_fn=enter,
    )


def _python_path(death: Death, env: dict[str, str]) -> list[str]:
    return [env["PYTHONPATH"]] if "PYTHONPATH" in death.env else []


def _wait(process: subprocess.Popen[bytes], death: Death, group: Path | None, stacks: bool) -> int | None:
    """The status, or None where it had to be killed at the timeout."""
    started_s = time.monotonic()
    signalled = death.signal is None
    while (elapsed_s := time.monotonic() - started_s) < death.timeout_s:
        try:
            return process.wait(0.2)
        except subprocess.TimeoutExpired:
            pass
        if not signalled and elapsed_s >= (death.signal_after_s or 0.0):
            process.send_signal(death.signal or signal.SIGTERM)
            signalled = True
        elif stacks:
            _ask_for_stacks(process.pid, group)
    process.kill()
    process.wait()
    return None


def _ask_for_stacks(pid: int, group: Path | None) -> None:
    """Send SIGUSR2 to the processes that catch it; to any other it would be deadly."""
    pids = [pid] if group is None else [int(each) for each in (group / "cgroup.procs").read_text().split()]
    for each in pids:
        try:
            caught = re.search(r"^SigCgt:\s*([0-9a-f]+)$", Path(f"/proc/{each}/status").read_text(), re.MULTILINE)
            if caught and int(caught[1], 16) >> (signal.SIGUSR2 - 1) & 1:
                os.kill(each, signal.SIGUSR2)
        except (FileNotFoundError, ProcessLookupError):
            continue


def _end_rest(process_group: int) -> None:
    try:
        os.killpg(process_group, signal.SIGKILL)
    except ProcessLookupError:
        return


@contextmanager
def memory_group(limit_mb: int | None) -> Iterator[Path | None]:
    """A cgroup v1 memory group with that limit; None without a limit."""
    if limit_mb is None:
        yield None
        return
    group = MEMORY_GROUPS / f"crashcart-death-{os.getpid()}-{time.monotonic_ns()}"
    group.mkdir()
    try:
        (group / "memory.limit_in_bytes").write_text(str(limit_mb * 1024**2))
        yield group
    finally:
        _remove(group)


def _remove(group: Path) -> None:
    for _ in range(100):
        for pid in (group / "cgroup.procs").read_text().split():
            os.kill(int(pid), signal.SIGKILL)
        try:
            group.rmdir()
            return
        except OSError:
            time.sleep(0.05)


def _oom_kills(group: Path | None) -> int | None:
    if group is None:
        return None
    match = re.search(r"^oom_kill (\d+)$", (group / "memory.oom_control").read_text(), re.MULTILINE)
    return int(match[1]) if match else None


def _own_places(text: str) -> tuple[Place, ...]:
    return tuple((file, int(line)) for file, line in FRAME.findall(text) if file.startswith(PROGRAM_FILES))


def _last_words(words: Path) -> tuple[Place, ...]:
    """The innermost own frame of each thread in the last dump of each process."""
    places: list[Place] = []
    for file in words.parent.glob(words.name + ".*"):
        text = file.read_text(errors="replace")
        fatal = text.rfind("Fatal Python error")
        dump = text[fatal:] if fatal >= 0 else text[text.rfind("Stack (most recent call first)") :]
        for thread in dump.split("\n\n"):
            places += _own_places(thread)[:1]
    return tuple(places)


def _line_words(death: Death, seen: Seen) -> str:
    if death.line is None:
        return "none to name"
    wanted = (str(death.marked_path), death.line)
    others = [(str(file), line) for file, line in death.other_lines]
    if seen.places and seen.places[-1] == wanted:
        return f"line {death.line} seen"
    if wanted in seen.places:
        return f"line {death.line} seen, beside {_names(seen.places)}"
    if any(place in seen.places for place in others):
        return f"line {death.line}: the other line seen"
    return f"line {death.line}: seen {_names(seen.places) or 'none'}"


def _names(places: tuple[Place, ...]) -> str:
    return ", ".join(f"{Path(file).name}:{line}" for file, line in places[-4:])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Run the deaths plainly and show how each of them ends.")
    parser.add_argument("names", nargs="*", help="the deaths to run; all where none is named")
    parser.add_argument("--stacks", action="store_true", help="look for the marked line in the last Python stack")
    parser.add_argument("--show", action="store_true", help="print the end of each program's output")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
