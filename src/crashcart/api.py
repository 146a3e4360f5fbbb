"""The commands as functions, for Python and notebooks.

Covers: `cc.run`, `cc.guard`, `cc.why`, `cc.doctor`, `cc.fit`, `cc.largest_batch`, `cc.recordings`, `cc.note`. Does not
cover: `cc.data` (`cli/data_live.py`), `cc.leaks` and `cc.LeakCallback` (`cli/leaks_live.py`), `cc.step`, `cc.pipeline`,
`cc.bounded` and `cc.explain_errors` (`cli/pipeline_functions.py`), or the rooms themselves; this is a shell like the
command line, and prints nothing by itself.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crashcart.evidence import Evidence
from crashcart.finding import Finding, Report
from crashcart.guard.error import MemoryGuardError
from crashcart.step import Bounds, Remedy, StepPeak

if TYPE_CHECKING:
    from crashcart.guard.status import Protection
    from crashcart.record.attend import Attendant

__all__ = [
    "Explained",
    "Fitted",
    "MemoryGuardError",
    "doctor",
    "fit",
    "guard",
    "largest_batch",
    "note",
    "recordings",
    "run",
    "why",
]


@dataclass(frozen=True, slots=True)
class Explained:
    """A report with its evidence; shows itself as text in a terminal and as a page in a notebook."""

    report: Report
    evidence: Evidence
    whole: bool = False
    """Whether every finding is shown in full; otherwise the first one is, and the others in a line each."""

    @property
    def verdict(self) -> Finding | None:
        """The finding that explains best."""
        return self.report.verdict

    def __str__(self) -> str:
        from crashcart.report.text import render_text

        return render_text(self.report, self.evidence, width=100, colour=False, whole=self.whole)

    __repr__ = __str__

    def to_html(self) -> str:
        """The whole page."""
        from crashcart.cli.rooms import rule_names
        from crashcart.report.html import render_html

        return render_html(self.report, self.evidence, rule_names())

    def _repr_html_(self) -> str:
        return framed(self.to_html(), "32em")

    def to_document(self) -> dict[str, Any]:
        """The JSON document, as plain values."""
        from crashcart.report.json import to_document

        return to_document(self.report, self.evidence)


@dataclass(frozen=True, slots=True)
class Fitted(Explained):
    """What one step of a model takes; shows itself as text in a terminal, and with the picture in a notebook."""

    @property
    def step(self) -> StepPeak:
        """All that was found: `kinds`, `at`, `largest`, `remedies`, `moments`, `host`…"""
        assert self.evidence.step is not None
        return self.evidence.step

    @property
    def peak_bytes(self) -> int:
        """The figure that is compared with the memory there is: the host's, or the device's."""
        return self._compared.bytes

    @property
    def low_bytes(self) -> int:
        """Its lower bound."""
        return self._compared.low_bytes

    @property
    def high_bytes(self) -> int:
        """Its upper bound."""
        return self._compared.high_bytes

    @property
    def available_bytes(self) -> int | None:
        """The memory there is for it; None where nobody knows."""
        return self.step.available_bytes

    @property
    def fits(self) -> bool | None:
        """Whether even the upper bound fits; None where that is not known, or lies between the bounds."""
        return self.step.fits

    @property
    def largest_batch(self) -> int | None:
        """The largest batch whose upper bound fits; 0 where none does, None where the memory is not known."""
        return self.step.largest_batch

    @property
    def likely_batch(self) -> int | None:
        """The largest batch whose figure itself fits, though its upper bound may not."""
        return self.step.likely_batch

    @property
    def remedies(self) -> tuple[Remedy, ...]:
        """What helps, each estimated on the changed model."""
        return self.step.remedies

    @property
    def _compared(self) -> Bounds:
        step = self.step
        return step.compared or Bounds(step.peak_bytes, step.low_bytes, step.high_bytes)

    def __str__(self) -> str:
        from crashcart.report.fit import render_step

        return render_step(self.step, width=100, colour=False)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return framed(self.to_html(), "54em")  # down to the end of the picture


def framed(page: str, height: str) -> str:
    """A page inside a notebook, in a frame of its own: neither can disturb the other."""
    from html import escape

    style = f"width:100%;height:{height};border:0"
    return f'<iframe srcdoc="{escape(page, quote=True)}" sandbox style="{style}" title="crashcart report"></iframe>'


def run(
    argv: Sequence[str],
    guard: bool = True,
    limit: str | int | None = None,
    airbag: str | Path | None = None,
    stop: bool = False,
) -> Explained:
    """Run a program as `crashcart run` does, guarded, and explain how it ended. CannotCheckError where it could not be
    recorded.

    The options are those of the command: `guard=False` only records, `limit` (`"4G"`, or bytes) sets a limit below the
    machine's own, `airbag` names a directory (`"off"` for none), `stop` ends a program that does not give way. What the
    command says on stderr while the program runs goes to the logger `crashcart`.
    """
    from crashcart.errors import CannotCheckError
    from crashcart.record import session

    done = session.run(list(argv), attendant=_guard(limit, airbag, stop) if guard else None)
    if done.folder is None:
        raise CannotCheckError(f"the run was not recorded: {done.unrecorded}")
    return why(done.folder)


def _guard(limit: str | int | None, airbag: str | Path | None, stop: bool) -> Attendant:
    import logging

    from crashcart.guard.apply import Guard, Settings

    settings = Settings(_limit_bytes(limit), stop, None if airbag is None else str(airbag))
    return Guard(settings, logging.getLogger("crashcart").warning)


def _limit_bytes(limit: str | int | None) -> int | None:
    """The limit in bytes. UsageError for one that cannot be meant."""
    from crashcart.errors import UsageError
    from crashcart.guard.policy import LEAST_LIMIT_BYTES
    from crashcart.units import parse_size, size

    try:
        limit_bytes = parse_size(limit) if isinstance(limit, str) else limit
    except ValueError as error:
        raise UsageError(str(error)) from None
    if limit_bytes is not None and (not isinstance(limit_bytes, int) or limit_bytes < LEAST_LIMIT_BYTES):
        raise UsageError(
            f"received limit={limit!r}; expected at least {size(LEAST_LIMIT_BYTES)}, in bytes or as in '4G'"
        )
    return limit_bytes


def why(recording: str | Path | None = None, *, log: str | Path | None = None) -> Explained:
    """Explain the last recorded run, or the one that is named; with `log`, a log instead (a Path, or its text)."""
    if log is not None:
        return _why_log(log)
    from crashcart.blackbox import store
    from crashcart.why import explain
    from crashcart.why.collect import collect

    folder = store.find(str(recording) if recording is not None else None)
    evidence = collect(folder)
    return Explained(explain(evidence, folder.name), evidence)


def _why_log(log: str | Path) -> Explained:
    """A Path is read; a str is the text itself."""
    import io

    from crashcart.why import explain
    from crashcart.why.collect_log import collect_log

    if isinstance(log, Path):
        with log.open("rb") as file:
            evidence = collect_log(file, str(log))
    else:
        evidence = collect_log(io.BytesIO(log.encode("utf-8", "replace")), "the text")
    return Explained(explain(evidence), evidence)


def doctor(
    *files: str | Path, python: str | Path | None = None, attempt: bool = False, python_version: str | None = None
) -> Explained:
    """Find what will fail in this environment, or in that of another interpreter, before it does.

    The files are those of the command: a plan (requirements.txt, pyproject.toml, environment.yml) is judged instead of
    what is installed, code (.py, .ipynb) is searched for devices. With `attempt`, the frameworks are imported in child
    processes too.
    """
    from crashcart.cli.doctor import examined

    report, evidence = examined(
        [str(each) for each in files], None if python is None else str(python), attempt, python_version
    )
    return Explained(report, evidence, whole=True)


def fit(
    model: Any,
    batch_size: int = 32,
    *,
    data: Any = None,
    phase: str = "train",
    memory: str | int | None = None,
    gpu: str | None = None,
    target: str | None = None,
    shapes: Sequence[Sequence[int]] | None = None,
    remedies: bool | None = None,
) -> Fitted:
    """Estimate what one step of a model takes at a batch size, before anything of it is allocated; nothing of it is
    run.

    `model` is a Keras model, which stays as it is, or a function that returns one. `data` (a dataset, an example batch
    or TensorSpecs) says what a batch looks like where the model does not. `memory` (`"16G"`, or bytes) and `gpu`
    (`"A100-40G"`) name a machine that one does not have. `remedies`: whether to estimate what would help; by default,
    where it may not fit. CrashcartError where it cannot be told.
    """
    from crashcart.cli.fit_live import Question, examined_live

    question = Question(batch_size, phase, memory, gpu, target, shapes, remedies)
    return Fitted(*examined_live(model, data, question))


def largest_batch(
    model: Any,
    *,
    data: Any = None,
    phase: str = "train",
    memory: str | int | None = None,
    gpu: str | None = None,
    target: str | None = None,
    shapes: Sequence[Sequence[int]] | None = None,
) -> int:
    """The largest batch whose step surely fits, or was seen to fit where the search takes too long; 0 where not even one
    does. The arguments are those of `fit`."""
    from crashcart.errors import CannotCheckError

    step = fit(model, data=data, phase=phase, memory=memory, gpu=gpu, target=target, shapes=shapes, remedies=False).step
    if step.largest_batch is not None:
        return step.largest_batch
    if step.available_bytes is None:
        raise CannotCheckError("nobody knows how much memory there is here", "Say it: memory='16G'.")
    raise CannotCheckError("no batch was seen to fit in the time of the search", "Ask for one: cc.fit(model, 1).")


def recordings() -> list[Path]:
    """The folders of the recorded runs, newest first."""
    from crashcart.blackbox import store

    return store.recordings()


def guard(limit: str | int | None = None, gpu: str | None = None) -> Protection:
    """Guard the running process from here on, as well as that can still be done, and say how well.

    `limit` (`"4G"`, or bytes) sets a limit below the machine's own. `gpu` sets what TensorFlow may take of each GPU,
    before it touches one: `"80%"`, a size, or `"growth"` (take only what is needed).
    """
    from crashcart.guard import attach

    if gpu is not None:
        from crashcart.guard.gpu import limit_gpus

        limit_gpus(gpu)
    return attach.attach(_limit_bytes(limit))


def note(text: str, kind: str = "note") -> bool:
    """Mark a moment (an epoch, a phase) in the recording of the running program; False where nothing records it."""
    hook = sys.modules.get("_crashcart_hook")
    state = getattr(hook, "_state", None)
    if state is None:
        return False
    state.append("event", name=kind, text=str(text)[:500])
    return True
