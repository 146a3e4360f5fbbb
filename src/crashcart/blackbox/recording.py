"""The black box of one run: a folder that both sides write while the program lives, and that is read after its death.

Covers: the files of a recording, writing the watcher's side, reading every side back as Evidence.
Does not cover: where recordings live (`store.py`), the ring format (`ring.py`), sampling (`record/`), judging (`why/`).

    run.json            written once at the start: program, machine, environment, GPUs (atomic)
    samples.ring        the last minutes of samples, at full rate         written by the watcher
    history.ring        samples thinned so that the whole run fits        written by the watcher
    events.ring         events, endings of children                       written by the watcher
    stacks.ring         Python stacks, read from outside                  written by the watcher
    program-PID.ring    exceptions, holders, orderly end                  written by the hook inside the program
    cells-PID.ring      the cells that a notebook's kernel ran            written by the hook inside the kernel
    kernel.json         which kernel it is, where it is one               written by the watcher at the start
    kernel-information.json  how that kernel answers who asks what it is  written by the hook inside the kernel
    fatal-PID.txt       the stack of a fatal signal                       written by faulthandler inside
    crash-PID.txt       native frames of a fatal signal                   written by the preloaded library
    output              first and last bytes of stdout and stderr         written by the preloaded library
    ending.json         written once at the end by the watcher (atomic); absent where nobody saw the end
    kept.json           source lines and package versions as they were at the end, which may change before one asks
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from crashcart.blackbox.codec import to_plain
from crashcart.blackbox.output import create_output
from crashcart.blackbox.ring import Ring
from crashcart.sample import Sample

SCHEMA = 1
SAMPLES_BYTES = 192 * 1024
HISTORY_BYTES = 384 * 1024
EVENTS_BYTES = 128 * 1024
STACKS_BYTES = 512 * 1024


class Recorder:
    """The watcher's side of a recording. Raises OSError from the constructor alone; later failures stop the recording."""

    def __init__(self, folder: Path, facts: dict[str, Any]) -> None:
        self.folder = folder
        self.failure: str | None = None
        self._facts = {"schema": SCHEMA, **facts}
        write_json(folder / "run.json", self._facts)
        create_output(folder / "output")
        self._samples = Ring(str(folder / "samples.ring"), SAMPLES_BYTES)
        self._history = Ring(str(folder / "history.ring"), HISTORY_BYTES)
        self._events = Ring(str(folder / "events.ring"), EVENTS_BYTES)
        self._stacks = Ring(str(folder / "stacks.ring"), STACKS_BYTES)
        self._next_history_s = 0.0

    def started(self, pid: int, start_ticks: int | None) -> None:
        """Write down which process the program is."""
        self._facts["program"] = {**self._facts["program"], "pid": pid, "start_ticks": start_ticks}
        write_json(self.folder / "run.json", self._facts)

    def sample(self, sample: Sample) -> None:
        """Keep a sample; the thinned history keeps a 400th of the run so far, a second at the least, between two."""
        record = _compact(sample)
        self._samples.append(record)
        if sample.at_s >= self._next_history_s:
            self._history.append(record)
            self._next_history_s = sample.at_s + max(1.0, sample.at_s / 400)

    def note(self, kind: str, at_s: float, **facts: Any) -> None:
        """Keep an event of any kind."""
        self._events.append({"kind": kind, "at_s": at_s, **facts})

    def stack(self, pid: int, at_s: float, reason: str, threads: list[dict[str, Any]] | None) -> None:
        """Keep the stacks of a process; None says that they are the same as the last ones."""
        self._stacks.append({"pid": pid, "at_s": at_s, "reason": reason, "threads": threads})

    def end(self, facts: dict[str, Any]) -> None:
        """Write the ending, whole or not at all."""
        try:
            write_json(self.folder / "ending.json", {"schema": SCHEMA, **facts})
        except OSError as error:
            self.failure = f"the ending could not be written: {error}"


def _compact(sample: Sample) -> dict[str, object]:
    plain = to_plain(sample)
    return {name: value for name, value in plain.items() if value is not None}


def write_json(path: Path, document: dict[str, Any]) -> None:
    """Write a document under a temporary name first: a reader sees all of it or none."""
    scratch = path.with_suffix(".new")
    handle = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8", errors="surrogatepass") as stream:
        json.dump(document, stream, default=str)
    scratch.rename(path)
