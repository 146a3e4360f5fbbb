"""Estimate what one step of a Keras model takes at a batch size, before anything of it is allocated.

TARGET is FILE.py:NAME or MODULE:NAME, where NAME is a model or a function without required arguments that returns one, alone or
as a pair with a dataset, an example batch or TensorSpecs; or a saved model, FILE.keras. The file is imported in a child process,
where calls of fit, evaluate and predict stop with a message. On a GPU, real or named, the peak of TensorFlow's allocator is
compared with the memory there is; on the host, the growth of the process.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from crashcart.cli.fit_ask import LOADING, SEARCHING, TRACING, Answer, Tick, ask
from crashcart.cli.fit_progress import progress_here
from crashcart.cli.output import given_out, write_reports
from crashcart.errors import CannotCheckError, CrashcartError, UsageError
from crashcart.evidence import Evidence
from crashcart.finding import Report
from crashcart.fit.available import Available, available
from crashcart.step import StepPeak, Verified

PHASES = ("train", "evaluate", "predict")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("target", metavar="TARGET", help="the model: FILE.py:NAME, MODULE:NAME or FILE.keras")
    parser.add_argument("--batch", type=int, default=32, metavar="N", help="the batch size (32)")
    parser.add_argument("--phase", choices=PHASES, default="train", help="which step (train)")
    parser.add_argument(
        "--shape",
        action="append",
        metavar="D,D,…",
        help="the shape of one example, once for each input, where it is not known",
    )
    parser.add_argument(
        "--memory", metavar="SIZE", help="a machine with so much memory, such as 16G, instead of this one"
    )
    parser.add_argument("--gpu", metavar="NAME", help="a GPU by its name, such as A100-40G or 'RTX 4090'")
    parser.add_argument(
        "--target",
        dest="figure",
        choices=("device", "host"),
        help="compare this figure: device with a GPU, else host, if not given",
    )
    parser.add_argument("--probe", action="store_true", help="run small real steps in a child as well, and extrapolate")
    parser.add_argument(
        "--verify",
        action="store_true",
        help="run the largest batch in a child held to the limit, then larger or smaller ones",
    )
    parser.add_argument(
        "--remedies",
        action=argparse.BooleanOptionalAction,
        help="estimate what would help (if the step does not fit, or may not)",
    )
    parser.add_argument("--timeout", type=float, default=900.0, metavar="S", help="give up after so many seconds (900)")
    parser.add_argument("--html", metavar="FILE", help="write the report as a page to FILE, with memory over the step")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Estimate and print."""
    report, evidence = _answered(arguments)

    def show() -> None:
        from crashcart.report.fit import print_step

        assert evidence.step is not None
        print_step(evidence.step, sys.stdout)

    return given_out(report, evidence, arguments, show)


def here(arguments: argparse.Namespace) -> object:
    """In a notebook: the page."""
    from crashcart.api import Fitted

    fitted = Fitted(*_answered(arguments))
    write_reports(fitted.report, fitted.evidence, None, arguments.html)
    return fitted


def _answered(arguments: argparse.Namespace) -> tuple[Report, Evidence]:
    """Of a name of the notebook's own, where we are in one; else of the file that is named."""
    model = of_the_notebook(arguments.target, "a model")
    if model is None:
        return examined(arguments)
    if arguments.probe or arguments.verify:
        raise UsageError(
            f"--probe and --verify run the model in a process of its own, and {arguments.target} lives in this one",
            "Name a file: %fit train.py:build_model --verify.",
        )
    from crashcart.cli.fit_live import Question, examined_live

    asked = Question(
        arguments.batch,
        arguments.phase,
        arguments.memory,
        arguments.gpu,
        arguments.figure,
        [shape_of(each) for each in arguments.shape] if arguments.shape else None,
        arguments.remedies,
    )
    return examined_live(model, None, asked)


def of_the_notebook(name: str, wanted: str) -> Any:
    """The object of that name in the notebook; None where there is no notebook, or the name is none of its own."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is None or not name.isidentifier():
        return None
    if name not in shell.user_ns:
        raise UsageError(f"the notebook has no {name}", f"Name {wanted} of the notebook, or FILE.py:NAME.")
    if shell.user_ns[name] is None:
        raise UsageError(f"{name} is None in the notebook", f"Name {wanted} of the notebook, or FILE.py:NAME.")
    return shell.user_ns[name]


def examined(arguments: argparse.Namespace) -> tuple[Report, Evidence]:
    """The report on the step, and the evidence it rests on."""
    until_s = time.monotonic() + arguments.timeout
    there = available(arguments.memory, arguments.gpu, arguments.figure)
    request = _request(arguments, there)
    if arguments.verify and there.limit_bytes is None:
        raise CannotCheckError("--verify needs a limit, and nobody knows how much memory there is", "Say --memory 8G.")
    progress = progress_here(sys.stderr)
    try:
        step = _estimated(request, there, until_s, arguments.probe, progress)
        if arguments.verify:
            step = _verified(request, step, there, until_s, progress)
    finally:
        progress.clear()
    return judged(step, arguments.target)


def judged(step: StepPeak, subject: str) -> tuple[Report, Evidence]:
    """The report on a step."""
    from crashcart.cli.fit_figures import figures
    from crashcart.fit import examine_step

    evidence = Evidence(step=step)
    return replace(examine_step(evidence, subject), figures=figures(step)), evidence


def _estimated(request: dict[str, Any], there: Available, until_s: float, probe: bool, progress: Tick) -> StepPeak:
    """By the trace; by a trial where that fails; by both where both are asked for."""
    from crashcart.fit.measured import reconciled

    try:
        step = _traced(request, there, until_s, progress)
    except _CannotTraceError as error:
        return _in_place_of_the_trace(request, there, until_s, error, progress)
    if not probe:
        return step
    try:
        real = _measured(request, there, until_s, progress)
    except CannotCheckError as error:
        return replace(step, assumed=(*step.assumed, f"small real steps could not be run: {error}"))
    both = {"traced": step.compared, "measured": real.compared}
    return replace(reconciled(step, real), methods={name: each for name, each in both.items() if each is not None})


class _CannotTraceError(CannotCheckError):
    """The model was loaded, and its step cannot be traced."""


def _traced(request: dict[str, Any], there: Available, until_s: float, progress: Tick) -> StepPeak:
    from crashcart.blackbox.codec import from_plain
    from crashcart.cli.fit_step import ordered
    from crashcart.step import Remedy

    answer = ask(request, max(0.0, until_s - time.monotonic()), progress)
    if answer.step is None:
        assert answer.error is not None
        raise _CannotTraceError(str(answer.error), answer.error.help) if _leaves_a_trial(answer) else answer.error
    step = from_plain(StepPeak, answer.step)
    found = ordered(from_plain(Remedy, each) for each in answer.remedies)
    return replace(_with_memory(step, there), remedies=found, assumed=(*_notes(step, there), *_cut_short(answer)))


def _cut_short(answer: Answer) -> tuple[str, ...]:
    if answer.done and answer.error is None:
        return tuple(answer.notes)
    reason = "time was over" if answer.timed_out else answer.error or "the process died"
    lacking = "the largest batch was not found" if answer.phase == SEARCHING else "not all remedies were estimated"
    return (f"{lacking}: {reason}",)


def _leaves_a_trial(answer: Answer) -> bool:
    """Whether the model is there, and only its step could not be traced, or our own estimate failed."""
    if isinstance(answer.error, CannotCheckError):
        return answer.phase == TRACING
    return answer.error is not None and answer.error.exit_code == CrashcartError.exit_code and answer.phase != LOADING


def _in_place_of_the_trace(
    request: dict[str, Any], there: Available, until_s: float, error: CrashcartError, progress: Tick
) -> StepPeak:
    try:
        step = _measured(request, there, until_s, progress)
    except CrashcartError as second:
        raise CannotCheckError(f"{error}; and small steps could not be run: {second}", error.help) from error
    return replace(step, assumed=(*step.assumed, f"small real steps were run in a child: {error}"))


def _measured(request: dict[str, Any], there: Available, until_s: float, progress: Tick) -> StepPeak:
    from crashcart.cli.fit_trial import measured

    step = measured(request, there.limit_bytes, max(1.0, until_s - time.monotonic()), progress)
    step = _with_memory(replace(step, target=request["target"]), there)
    if step.compared is None:
        step = replace(step, target="device")
    return replace(step, method="measured", assumed=_notes(step, there))


def _verified(request: dict[str, Any], step: StepPeak, there: Available, until_s: float, progress: Tick) -> StepPeak:
    """The largest batch, run under the limit, and those around it."""
    from crashcart.cli.fit_trial import confirmed

    assert there.limit_bytes is not None
    left_s = max(1.0, until_s - time.monotonic())
    try:
        likely, alone = step.likely_batch or 0, step.fixed_batch is not None
        most = step.largest_batch or (step.batch if step.largest_batch is None or alone else likely or 1)
        runs, lacking = confirmed(request, most, likely, there.limit_bytes, left_s, progress, alone)
    except CannotCheckError as error:
        return replace(step, assumed=(*step.assumed, f"not verified: {error} {error.help}"))
    lived = all(each.lived for each in runs)
    fell_back = max(each.batch for each in runs) < (step.largest_batch or 0)  # the largest itself could not be run
    larger = lived and not alone and (step.larger_may_fit or len(runs) > 1 or fell_back)
    step = replace(step, largest_batch=_largest_after(runs, step), larger_may_fit=larger, likely_batch=None)
    decides = max((each for each in runs if each.lived), key=lambda each: each.batch, default=runs[-1])
    return replace(step, verified=decides, runs=runs, assumed=(*step.assumed, *([lacking] if lacking else [])))


def _largest_after(runs: Sequence[Verified], step: StepPeak) -> int | None:
    """The largest batch that lived. Where none did, nobody knows it, unless one of 1 died, or none was estimated to fit."""
    lived = [each.batch for each in runs if each.lived]
    if lived:
        sought = step.largest_batch is not None or len(runs) > 1
        return max(lived) if sought else None
    return 0 if step.largest_batch == 0 or any(each.batch == 1 for each in runs) else None


def _with_memory(step: StepPeak, there: Available) -> StepPeak:
    return replace(step, available_bytes=there.bytes, available_in=there.where)


def _notes(step: StepPeak, there: Available) -> tuple[str, ...]:
    return (*step.assumed, *([there.note] if there.note else []))


def _request(arguments: argparse.Namespace, there: Available) -> dict[str, Any]:
    from crashcart.probe.tensorflow_target import read_target

    if not 1 <= arguments.batch < 1 << 31:
        raise UsageError(f"received --batch {arguments.batch}; expected 1 or more, and less than 2^31")
    if not arguments.timeout > 0:
        raise UsageError(f"received --timeout {arguments.timeout:g}; expected seconds, more than 0")
    target = read_target(arguments.target)
    return {
        "file": target.place,
        "name": target.name,
        "batch": arguments.batch,
        "phase": arguments.phase,
        "shapes": [shape_of(each) for each in arguments.shape] if arguments.shape else None,
        "target": there.target,
        "available_bytes": there.bytes,
        "remedies": arguments.remedies,
    }


def shape_of(text: str) -> list[int]:
    """`224,224,3` or `224x224x3` as numbers."""
    try:
        found = [int(each) for each in text.replace("x", ",").split(",") if each.strip()]
    except ValueError:
        found = []
    if not found or min(found) < 1:
        raise UsageError(f"received --shape {text!r}; expected sizes without the batch, such as 224,224,3")
    return found
