"""One recorded run, from the command line to the ending on disk.

Covers: opening the recording (or saying why there is none and going on without), starting the program, watching it,
writing down its end with what must be read at once (kernel log, kill counts, disk space, source lines).
Does not cover: printing and judging; the shell does both with the folder that it gets back.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from crashcart.blackbox import store
from crashcart.blackbox.codec import to_plain
from crashcart.blackbox.read import read_recording
from crashcart.blackbox.recording import Recorder, write_json
from crashcart.errors import CrashcartError
from crashcart.evidence import Ending, Evidence, Frame
from crashcart.probe import gpu, machine, packages
from crashcart.probe.disk import read_disks
from crashcart.probe.files import named_files
from crashcart.probe.kernel_log import KernelLogReader
from crashcart.probe.memory import oom_kills_host
from crashcart.probe.process import is_alive
from crashcart.record import native, relay, spawn
from crashcart.record.attend import Attendant
from crashcart.record.gauge import Gauge
from crashcart.record.watch import Ended, Watch, signal_name
from crashcart.redact import redact_argv, redact_variables

MOST_KERNEL_LINES = 200
RECENT_S = 20.0
"""A signal that ends a program does so within this, handlers that save a checkpoint included."""


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

    own_group: bool = False
    """It gets a process group of its own, and the signals that reach us reach that whole group."""
    tied: bool = False
    """It ends when we do."""
    orphaned_ends: bool = False
    """It ends when the process that started us is gone."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Added to its environment."""
    name: str | None = None
    """What it is called, where its command line does not tell."""
    opened: Callable[[Path], None] | None = None
    """Called with the folder of the recording before the program starts."""


@dataclass(slots=True)
class _Before:
    """What was read before the start, to be compared at the end."""

    kernel_log: KernelLogReader
    oom_kills_host: int | None
    cwd: str
    oom_kills_group: int | None = None
    limit_hits_group: int | None = None


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
    signal.signal(signal.SIGCHLD, signal.SIG_DFL) if hold_signals else None
    try:
        watch, before = _start(argv, recorder, mask, attendant if recorder is not None else None, manner)
        ended = watch.until_end()
        failure = _finish(recorder, watch, before, ended) if recorder is not None else unrecorded
        watch.close()
    finally:
        if not hold_signals:
            relay.restore(mask)
    return Run(ended.exit_code, recorder.folder if recorder is not None else None, failure)


def attach(pid: int, folder: Path, attendant: Attendant) -> None:
    """Watch a process that runs already and that has hooked itself into the recording, until it is gone."""
    recorder = Recorder(folder, _starting_facts(_argv(pid)))
    before = _Before(KernelLogReader(), oom_kills_host(), str(Path.cwd()))
    before.kernel_log.close()
    watch = Watch(pid, recorder, _gauge(pid, recorder, before, attendant.ceiling_bytes), time.monotonic())
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
) -> tuple[Watch, _Before]:
    tether = {spawn.TETHER_VARIABLE: str(os.getpid())} if manner.tied else {}
    environment = {**os.environ, **tether, **manner.variables}
    unattended: str | None = None
    if recorder is not None:
        environment = spawn.hooked_environment(environment, recorder.folder)
        environment, attendant, unattended = _attended(environment, recorder.folder, attendant)
    before = _Before(KernelLogReader(), oom_kills_host(), str(Path.cwd()))
    started_s = time.monotonic()
    try:
        pid = spawn.spawn(argv, environment, mask, manner.own_group)
    except spawn.CannotStartError:
        if recorder is not None:
            store.remove(recorder.folder)
        raise
    _outlive()
    ceiling_bytes = attendant.ceiling_bytes if attendant is not None else None
    watch = Watch(pid, recorder, _gauge(pid, recorder, before, ceiling_bytes), started_s)
    watch.own_group, watch.tied_to = manner.own_group, os.getppid() if manner.orphaned_ends else None
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


def _finish(recorder: Recorder, watch: Watch, before: _Before, ended: Ended) -> str | None:
    """Write down the end. Whatever fails is returned in words: the program's own exit code must get through."""
    try:
        watch.last_look()
        recorder.end(_ending_facts(ended, watch, before))
        _keep(recorder, before.cwd)
        store.prune()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    finally:
        before.kernel_log.close()
    return watch.failure or recorder.failure


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
    except (
        Exception
    ) as error:  # no home directory, a working directory that is gone…: the program is to run all the same
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


def _gauge(pid: int, recorder: Recorder | None, before: _Before, ceiling_bytes: int | None) -> Gauge:
    reader = gpu.GpuReader() if recorder is not None and gpu.read_gpus() else None
    gauge = Gauge(pid, reader, ceiling_bytes)
    if gauge.groups:
        before.oom_kills_group = gauge.groups[0].oom_kills()
        before.limit_hits_group = gauge.groups[0].limit_hits()
    return gauge


def _ending_facts(ended: Ended, watch: Watch, before: _Before) -> dict[str, Any]:
    own_group = watch.gauge.groups[0] if watch.gauge.groups else None
    number = -os.waitstatus_to_exitcode(ended.status)
    signalled = number > 0
    core_dumped = os.WCOREDUMP(ended.status) if signalled else None
    ending = Ending(
        kind="signal" if signalled else "exit",
        at_s=watch.now_s(),
        exit_code=None if signalled else -number,
        signal=number if signalled else None,
        signal_name=signal_name(number) if signalled else None,
        core_dumped=core_dumped,
        core_file=_core_file(watch.pid, before.cwd) if core_dumped else None,
        oom_kills_group=_rise(before.oom_kills_group, own_group.oom_kills() if own_group else None),
        oom_kills_host=_rise(before.oom_kills_host, oom_kills_host()),
        limit_hits_group=_rise(before.limit_hits_group, own_group.limit_hits() if own_group else None),
        same_boot=True,
        sent_by=_sent_by(ended, number if signalled else -number - 128),
        peak_rss_bytes=ended.peak_rss_bytes,
        survivors=tuple(pid for pid in watch.gauge.descendants if is_alive(pid, None)),
    )
    return {
        "ending": to_plain(ending),
        **_kernel_facts(before),
        "disks": to_plain(read_disks([before.cwd, os.environ.get("TMPDIR", "/tmp"), str(store.home())])),
    }


def _sent_by(ended: Ended, number: int) -> str | None:
    """Who sent the signal that ended the program, if it passed through us shortly before."""
    passed = ended.passed
    if passed is None or passed.number != number or time.monotonic() - passed.at_s > RECENT_S:
        return None
    return passed.sender


def _rise(before: int | None, after: int | None) -> int | None:
    return None if before is None or after is None else after - before


def _kernel_facts(before: _Before) -> dict[str, Any]:
    if before.kernel_log.unreadable is not None:
        return {"absent": {"kernel_log": before.kernel_log.unreadable}}
    return {"kernel_log": before.kernel_log.read_new()[-MOST_KERNEL_LINES:]}


def _core_file(pid: int, cwd: str) -> str | None:
    """Where a core file was left, if it went to a plain file; a crash collector's pipe keeps its own counsel."""
    for candidate in (Path(cwd) / f"core.{pid}", Path(cwd) / "core"):
        if candidate.is_file():
            return str(candidate)
    return None


def _keep(recorder: Recorder, cwd: str) -> None:
    """Keep what may change before somebody asks why: the text of the user's lines, the versions of the packages."""
    try:
        evidence = read_recording(recorder.folder)
        sources: dict[str, dict[str, tuple[str, bool | None]]] = {}
        for frame in _own_frames(evidence):
            if frame.source is not None:
                sources.setdefault(frame.file, {})[str(frame.line)] = (frame.source, frame.looped)
        search_path = evidence.environment.search_path if evidence.environment is not None else ()
        messages = [each.message for error in evidence.errors or () for each in error.with_chain()]
        files = named_files(messages, cwd)
        kept = {"sources": sources, "packages": packages.installed(search_path), "files": files}
        write_json(recorder.folder / "kept.json", kept)
    except (OSError, CrashcartError) as error:
        recorder.failure = f"{type(error).__name__}: {error}"


def _own_frames(evidence: Evidence) -> Iterator[Frame]:
    """Every frame of the user's own code that the evidence names, for keeping its source text."""
    for dump in evidence.stacks or ():
        for stack in dump.stacks:
            yield from (frame for frame in stack.frames if frame.own)
    for error in evidence.errors or ():
        for each in error.with_chain():
            yield from (frame for frame in each.frames if frame.own)
    if evidence.crash is not None and evidence.crash.python is not None:
        for stack in evidence.crash.python.stacks:
            yield from (frame for frame in stack.frames if frame.own)
