"""One recorded run, from the command line to the ending on disk.

Covers: opening the recording (or saying why there is none and going on without), starting the program, having it watched and its
end written down.
Does not cover: what is written then (`finish.py`); printing and judging: the shell does both with the folder that it gets back.
What is needed only once the program runs is imported after its start: a kernel's user waits for that.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crashcart.blackbox import store
from crashcart.blackbox.codec import to_plain
from crashcart.blackbox.recording import Recorder
from crashcart.probe import gpu, machine
from crashcart.record import native, relay, spawn
from crashcart.record.attend import Attendant
from crashcart.record.before import Before, read_before
from crashcart.redact import redact_argv, redact_variables

if TYPE_CHECKING:
    from crashcart.record.watch import Ended, Watch


@dataclass(frozen=True, slots=True)
class Run:
    """A finished run: its shell exit code, and its recording where there is one."""

    exit_code: int
    folder: Path | None
    unrecorded: str | None
    """Why there is no recording, or why it stopped early."""


@dataclass(frozen=True, slots=True)
class Manner:
    """In what way a program is run, where that differs from a command at a prompt: a kernel, say."""

    tied: bool = False
    """It ends when we do."""
    parent: int | None = None
    """The process that started us, where that is Jupyter: it signals our whole group, and without it the program ends."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Added to its environment."""
    name: str | None = None
    """What it is called, where its command line does not tell."""
    opened: Callable[[Path], None] | None = None
    """Called with the folder of the recording before the program starts."""


COMMAND = Manner()


def run(
    argv: Sequence[str],
    hold_signals: bool = False,
    attendant: Attendant | None = None,
    manner: Manner = COMMAND,
) -> Run:
    """Run a command, recorded as well as can be, and return how it ended. CannotStartError if it cannot be run.

    An attendant (the guard) sees every sample and may act; without a recording there is none.
    With `hold_signals` the signals stay held back afterwards, for a caller that still has a verdict to print: a second
    Ctrl-C was meant for the program, too.
    """
    recorder, unrecorded = _open(argv, manner)
    mask = relay.block()
    if hold_signals:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        watch, before = _start(argv, recorder, mask, attendant if recorder is not None else None, manner)
        watch.when_settled = _finish
        ended = watch.until_end()
        failure = _finish()(recorder, watch, before, ended) if recorder is not None else unrecorded
        watch.close()
    finally:
        if not hold_signals:
            relay.restore(mask)
    return Run(ended.exit_code, recorder.folder if recorder is not None else None, failure)


def _finish() -> Callable[[Recorder, Watch, Before, Ended], str | None]:
    """What writes down the end. Loaded when the program has settled: at its end, another version may have been installed."""
    from crashcart.record.finish import finish

    return finish


def attach(pid: int, folder: Path, attendant: Attendant) -> None:
    """Watch a process that runs already and that has hooked itself into the recording, until it is gone."""
    recorder = Recorder(folder, _starting_facts(_argv(pid)))
    before = read_before()
    before.kernel_log.close()
    watch = _watch(pid, recorder, before, attendant.ceiling_bytes, time.monotonic())
    recorder.started(pid, watch.gauge.process.start_ticks())
    recorder.note("started", 0.0, text=f"pid {pid} is watched from here on", pid=pid)
    watch.attend(attendant)
    try:
        watch.until_gone()
    finally:
        watch.last_look()
        watch.close()


def _argv(pid: int) -> list[str]:
    command = Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0")
    return [os.fsdecode(part) for part in command.split(b"\0")]


def _start(
    argv: Sequence[str], recorder: Recorder | None, mask: set[int], attendant: Attendant | None, manner: Manner
) -> tuple[Watch, Before]:
    tether = {spawn.TETHER_VARIABLE: str(os.getpid())} if manner.tied else {}
    environment = {**os.environ, **tether, **manner.variables}
    unattended: str | None = None
    if recorder is not None:
        environment = spawn.hooked_environment(environment, recorder.folder)
        environment, attendant, unattended = _attended(environment, recorder.folder, attendant)
    before = read_before()
    started_s = time.monotonic()
    try:
        pid = spawn.spawn(argv, environment, mask)
    except spawn.CannotStartError:
        if attendant is not None:
            with suppress(Exception):
                attendant.end()
        if recorder is not None:
            store.remove(recorder.folder)
        raise
    _outlive()
    ceiling_bytes = attendant.ceiling_bytes if attendant is not None else None
    watch = _watch(pid, recorder, before, ceiling_bytes, started_s)
    watch.parent = manner.parent
    if recorder is not None:
        try:
            recorder.started(pid, watch.gauge.process.start_ticks())
            recorder.note("started", 0.0, text=f"pid {pid} started", pid=pid)
            if unattended is not None:
                recorder.note("guard", 0.0, text=f"off: {unattended}", facts={"step": "off"})
        except OSError as error:
            watch.failure = f"{type(error).__name__}: {error}"
    if attendant is not None:
        watch.attend(attendant)
    return watch, before


def _attended(
    environment: dict[str, str], folder: Path, attendant: Attendant | None
) -> tuple[dict[str, str], Attendant | None, str | None]:
    """The environment as the attendant wants it; one that cannot begin is let go, with the reason."""
    if attendant is None:
        return environment, None, None
    try:
        return attendant.environment(environment, folder), attendant, None
    except Exception as error:
        return environment, None, f"{type(error).__name__}: {error}"


def _outlive() -> None:
    """Ask not to be killed for memory, where that is allowed: while a large victim is being cleared away, the kernel may
    take a second one, and the watcher in the same group is often all that is left. The program started before this and
    keeps its own score."""
    try:
        Path("/proc/self/oom_score_adj").write_text("-999")
    except OSError:
        return


def _open(argv: Sequence[str], manner: Manner) -> tuple[Recorder | None, str | None]:
    folder: Path | None = None
    try:
        folder = store.new_folder(manner.name or spawn.program_name(argv))
        recorder = Recorder(folder, _starting_facts(argv, manner.name))
        if manner.opened is not None:
            manner.opened(folder)
        return recorder, None
    except OSError as error:
        reason = f"{error.strerror or error}: {error.filename or 'the folder of recordings'}"
    except Exception as error:  # no home or working directory any more…: the program is to run all the same
        reason = f"{type(error).__name__}: {error}"
    if folder is not None:
        store.remove(folder)
    return None, reason


def _starting_facts(argv: Sequence[str], name: str | None = None) -> dict[str, Any]:
    gpus = gpu.read_gpus() if gpu.has_driver() else ()
    absent = {} if gpus is not None else {"gpus": gpu.absent_reason()}
    output_kept = native.library() is not None
    if not output_kept:
        absent["log"] = "the native recorder was not built, so the program's output was not kept"
    redacted = redact_argv(argv)
    return {
        "program": {
            "argv": redacted,
            "cwd": str(Path.cwd()),
            "started_unix_s": time.time(),
            "name": name or spawn.program_name(redacted),
        },
        "watcher_pid": os.getpid(),
        "machine": to_plain(machine.read_machine(os.getpid())),
        "variables": redact_variables(os.environ),
        "gpus": to_plain(gpus),
        "output_kept": output_kept,
        "absent": absent,
    }


def _watch(pid: int, recorder: Recorder | None, before: Before, ceiling_bytes: int | None, started_s: float) -> Watch:
    from crashcart.record.gauge import Gauge
    from crashcart.record.watch import Watch

    reader = gpu.GpuReader() if recorder is not None and gpu.read_gpus() else None
    gauge = Gauge(pid, reader, ceiling_bytes)
    if gauge.groups:
        before.oom_kills_group = gauge.groups[0].oom_kills()
        before.limit_hits_group = gauge.groups[0].limit_hits()
    return Watch(pid, recorder, gauge, started_s)
