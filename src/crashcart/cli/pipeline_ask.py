"""Asking the child of `crashcart pipeline`: runs it in a memory group where one can be made, and tells how it ended.

Covers: one time limit over all of it, a child that dies while it builds the dataset (no answer) or while it looks at
elements (what was read stands). Does not cover: what the child does (`pipeline_child.py`).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from crashcart.blackbox.codec import from_plain
from crashcart.cli.child import retold, without_gpu
from crashcart.cli.contained import Ended, held, run, spare_bytes
from crashcart.cli.fit_ask import signal_name
from crashcart.errors import CannotCheckError, UsageError
from crashcart.probe.tensorflow_target import read_target
from crashcart.stages import Failure, Pipeline
from crashcart.units import duration, size

_COMMAND = (sys.executable, "-m", "crashcart.cli.pipeline_child")
# Freed blocks go back to the system at once, so that the peak of a call can be seen in the process's memory.
_HEAP = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "131072", "MALLOC_TOP_PAD_": "0"}
_LOADING = "building the dataset"


@dataclass(frozen=True, slots=True)
class Answer:
    """What the child found."""

    pipeline: Pipeline
    built_bytes: int | None
    notes: tuple[str, ...]
    died: str | None = None
    """What it was doing when it had taken all the memory that is free."""


def ask(target: str, measure_s: float, timeout_s: float, tick: Callable[[str], None]) -> Answer:
    """The pipeline, measured as far as that went. CrashcartError where there is none."""
    named = read_target(target)
    if named.saved:
        raise UsageError(f"{target} is a model, and no dataset", "Write FILE.py:NAME, such as train.py:make_dataset.")
    request = {"target": target, "measure_s": measure_s}
    phase = ["starting"]

    def heard(message: dict[str, Any]) -> None:
        phase[0] = message.get("phase", phase[0])
        tick(phase[0])

    most_bytes = spare_bytes()
    with held(most_bytes) as hold:
        ended = run((*_COMMAND, json.dumps(request)), hold, timeout_s, {**without_gpu(), **_HEAP}, heard)
    found: dict[str, Any] = {}
    for message in ended.answers:
        found.update(message)
    if "error" in found:
        raise retold(found)
    if "pipeline" not in found:
        raise _no_answer(target, ended, phase[0], timeout_s, most_bytes)
    late = f"{_how(ended, timeout_s, most_bytes)} while {phase[0]}: what is missing is not known"
    notes = () if found.get("done") else (found.get("note", late),)
    died = phase[0] if ended.by == "limit" else None
    pipeline = from_plain(Pipeline, found["pipeline"])
    if notes and "note" in found:  # an element that never comes: a pipe nobody writes to, a generator that waits
        waited = Failure(phase[0].removeprefix("looking at elements of "), "TimeoutError", found["note"])
        pipeline = replace(pipeline, failed=(*pipeline.failed, waited))
    return Answer(pipeline, found.get("built_bytes"), notes, died)


def _how(ended: Ended, timeout_s: float, most_bytes: int) -> str:
    if ended.by == "time":
        return f"time was over after {duration(timeout_s)}"
    if ended.by == "limit":
        return f"the process reached {size(most_bytes)}, all that is free here, and was ended"
    code = ended.code or 0
    return f"the process ended {f'by {signal_name(-code)}' if code < 0 else f'with code {code}'}"


def _no_answer(target: str, ended: Ended, phase: str, timeout_s: float, most_bytes: int) -> CannotCheckError:
    said = ended.said.strip().splitlines()
    last = f"; it said: {said[-1][:200]}" if said and ended.by == "itself" else ""
    file = target.rpartition(":")[0]
    if ended.by == "time":
        help_text = 'Long work at import belongs below `if __name__ == "__main__":`; else give it more time: --timeout.'
    elif ended.by == "limit" and phase == _LOADING:
        help_text = (
            "Arrays that the file loads do not fit: read them in the pipeline, from TFRecord files or np.memmap."
        )
    else:
        help_text = f"`crashcart run -- {sys.executable} {file if file.endswith('.py') else f'-m {file}'}` tells why."
    return CannotCheckError(f"{_how(ended, timeout_s, most_bytes)} while {phase}{last}", help_text)
