"""The end of a recorded run: what must be written down at once, before it changes.

Covers: how the program ended, the kernel log, kill counts, disk space, source lines and package versions.
Does not cover: judging. `session.py` loads it when the program has started.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from crashcart.blackbox import store
from crashcart.blackbox.codec import to_plain
from crashcart.blackbox.read import read_recording
from crashcart.blackbox.recording import Recorder, write_json
from crashcart.errors import CrashcartError
from crashcart.evidence import Ending, Evidence, Frame
from crashcart.probe import packages
from crashcart.probe.disk import read_disks
from crashcart.probe.files import named_files
from crashcart.probe.memory import oom_kills_host
from crashcart.probe.process import is_alive
from crashcart.record.before import Before
from crashcart.record.watch import Ended, Watch, signal_name

MOST_KERNEL_LINES = 200
RECENT_S = 20.0
"""A signal that ends a program does so within this, handlers that save a checkpoint included."""


def finish(recorder: Recorder, watch: Watch, before: Before, ended: Ended) -> str | None:
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


def _ending_facts(ended: Ended, watch: Watch, before: Before) -> dict[str, Any]:
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
        asked_for=ended.passed is not None and ended.passed.pid == os.getppid(),
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


def _kernel_facts(before: Before) -> dict[str, Any]:
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
    if evidence.growth is not None:
        yield from (frame for frame in evidence.growth.frames() if frame.own)
    if evidence.crash is not None and evidence.crash.python is not None:
        for stack in evidence.crash.python.stacks:
            yield from (frame for frame in stack.frames if frame.own)
