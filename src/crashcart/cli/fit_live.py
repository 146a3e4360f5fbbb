"""`crashcart fit` in the user's own process, on a model that is there already: `cc.fit`, `%fit model`.

Covers: tracing a live model and leaving it as it was; every failure is a CrashcartError, so that a cell fails and no more; what
is being done, where it takes longer than a second.
Does not cover: runs of the model, which only a child may do (`--probe`, `--verify`).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

from crashcart.cli.fit import PHASES, judged
from crashcart.cli.fit_progress import progress_here, told_meanwhile
from crashcart.cli.fit_step import Estimator, ordered, remedies, wanted
from crashcart.errors import CannotCheckError, CrashcartError, UsageError
from crashcart.evidence import Evidence
from crashcart.finding import Report
from crashcart.fit.available import Available, available
from crashcart.probe.tensorflow_load import is_model, parted
from crashcart.probe.tensorflow_said import said
from crashcart.probe.tensorflow_sizes import slots, variable_bytes
from crashcart.probe.tensorflow_weights import WeightsReadError
from crashcart.step import StepPeak

_GIVE_EXAMPLE = (
    "See that the model runs on one small batch; if it does, give an example: cc.fit(model, data=(x[:2], y[:2]))."
)


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of a model."""

    batch: int
    phase: str
    memory: str | int | None = None
    gpu: str | None = None
    target: str | None = None
    shapes: Sequence[Sequence[int]] | None = None
    remedies: bool | None = None

    def check(self) -> None:
        """UsageError for what cannot be meant."""
        if isinstance(self.batch, bool) or not isinstance(self.batch, Integral) or self.batch < 1:
            raise UsageError(f"received batch_size={self.batch!r}; expected a whole number, 1 or more")
        if self.phase not in PHASES:
            raise UsageError(f"received phase={self.phase!r}; expected one of {', '.join(PHASES)}")
        if self.target not in (None, "device", "host"):
            raise UsageError(f"received target={self.target!r}; expected device or host")


def examined_live(model: Any, data: Any, question: Question) -> tuple[Report, Evidence]:
    """The report on a step of a live model, and the evidence it rests on."""
    question.check()
    if isinstance(model, str):
        raise UsageError(
            f"received the name {model!r}; expected a Keras model, or a function that returns one",
            f"For a file, on the command line: crashcart fit {model}",
        )
    try:
        there = available(question.memory, question.gpu, question.target, _held_bytes(model))
        step = _stepped(model, data, question, there)
    except CrashcartError as error:
        error.help = _in_a_notebook(error)
        raise
    except ImportError as error:
        raise CannotCheckError(f"TensorFlow cannot be imported: {error}", "See `crashcart doctor --import`.") from error
    except (Exception, WeightsReadError) as error:
        raise CannotCheckError(
            f"the {question.phase} step cannot be estimated: {said(error)}", _GIVE_EXAMPLE
        ) from error
    return judged(step, str(getattr(model, "name", None) or getattr(model, "__name__", "the model")))


def _in_a_notebook(error: CrashcartError) -> str:
    """What to do next where there is no command line."""
    from crashcart.probe.tensorflow_trace import TraceError

    if isinstance(error, TraceError) and error.help == TraceError.help:
        return _GIVE_EXAMPLE
    own: str = getattr(error, "live_help", error.help)
    return own.replace("--phase predict", 'phase="predict"')


def _stepped(model: Any, data: Any, question: Question, there: Available) -> StepPeak:
    from crashcart.probe.tensorflow_live import load_live

    request = {
        "batch": int(question.batch),
        "phase": question.phase,
        "shapes": None if question.shapes is None else [list(each) for each in question.shapes],
        "target": there.target,
        "available_bytes": there.bytes,
    }
    with told_meanwhile(progress_here(sys.stderr)) as say, load_live(model, data) as (loaded, given):
        step = Estimator(loaded, given, request, say).step()
        notes = (*step.assumed, *([there.note] if there.note else []))
        step = replace(step, available_bytes=there.bytes, available_in=there.where, assumed=notes)
        if wanted(step, question.remedies):
            cut: list[str] = []
            found = ordered(remedies(loaded, given, request, step, say, cut.append))
            step = replace(step, remedies=found, assumed=(*step.assumed, *cut))
    return step


def _held_bytes(subject: Any) -> int:
    """What the model's variables, the slots of its optimizers and its metrics hold in this process already."""
    model, _ = parted(subject)
    if not is_model(model):
        return 0
    found = [*model.variables, *model.metrics_variables, *slots(model)]
    return sum(variable_bytes(each) for each in {id(each): each for each in found}.values())
