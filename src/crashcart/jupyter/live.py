"""The running kernel as it is now: its largest variables, its use, the cells so far.

Covers: a fresh look at the named objects of this process, beside what its recording says.
Does not cover: kernels other than this one (`cli/memory.py` reads their recordings).
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

from crashcart.blackbox.codec import from_plain
from crashcart.blackbox.inside import load
from crashcart.blackbox.read import read_recording
from crashcart.evidence import Evidence, Holder
from crashcart.probe.memory import memory_limits
from crashcart.probe.process import ProcessReader
from crashcart.record.spawn import INSIDE
from crashcart.report.holdings import Holdings, from_evidence

_UNWATCHED = "cells are counted in kernels that crashcart has started (`crashcart jupyter enable`), or from `%guard` on"


def recording() -> Path | None:
    """The recording of this process; None where nothing records it."""
    hook = sys.modules.get("_crashcart_hook")
    state = getattr(hook, "_state", None)
    return Path(state.directory) if state is not None else None


def holdings() -> Holdings:
    """What this kernel holds now."""
    folder = recording()
    evidence = read_recording(folder) if folder is not None and (folder / "run.json").exists() else Evidence()
    found = from_evidence(evidence, _survey(sys._getframe(1)), "" if evidence.cells else _UNWATCHED)
    limit = min((each.bytes for each in memory_limits(os.getpid())), default=None)
    reader = ProcessReader(os.getpid())
    sample = reader.sample()
    reader.close()
    resident = sample.rss_bytes if sample is not None else found.resident_bytes
    return replace(found, resident_bytes=resident, limit_bytes=found.limit_bytes or limit)


def _survey(frame: FrameType | None) -> list[Holder]:
    frames = []
    while frame is not None:
        frames.append(frame)
        frame = frame.f_back
    plain: list[dict[str, Any]] = load(INSIDE / "_crashcart_holders.py").survey(frames)["holders"]
    return [from_plain(Holder, each) for each in plain]
