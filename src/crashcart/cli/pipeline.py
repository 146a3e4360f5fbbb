"""Say what a tf.data pipeline holds in memory, stage by stage, before it runs.

TARGET is FILE.py:NAME or MODULE:NAME, where NAME is a tf.data.Dataset, or a function without required arguments that
returns one, several, or a pair of a model and a dataset. The file is imported in a child process, where calls of fit,
evaluate and predict stop with a message. A few real elements are looked at there where shapes are not known; no buffer
is filled.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace

from crashcart.cli.fit_ask import Progress
from crashcart.cli.output import given_out, write_reports
from crashcart.cli.pipeline_ask import ask
from crashcart.errors import CannotCheckError, UsageError
from crashcart.evidence import Evidence
from crashcart.finding import Report, Unchecked
from crashcart.probe.host_room import Room, room
from crashcart.stages import Pipeline, PipelineMemory

BEFORE = "the dataset is built"
_FITS = Unchecked("P101", "buffers-do-not-fit", ())
"""The rule that a stage of unknown size leaves open."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("target", metavar="TARGET", help="the dataset: FILE.py:NAME or MODULE:NAME")
    parser.add_argument(
        "--memory", metavar="SIZE", help="a machine or container with so much memory, such as 8G, instead of this one"
    )
    parser.add_argument("--cores", type=int, metavar="N", help="with so many processor cores, instead of those here")
    parser.add_argument("--steps", type=int, metavar="N", help="steps_per_epoch that will be asked of it")
    parser.add_argument("--epochs", type=int, metavar="M", help="epochs that will be asked of it (1)")
    parser.add_argument(
        "--measure", type=float, default=40.0, metavar="S", help="look at real elements for so long at most (40)"
    )
    parser.add_argument("--timeout", type=float, default=300.0, metavar="S", help="give up after so many seconds (300)")
    parser.add_argument("--html", metavar="FILE", help="write the report as a page to FILE")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Estimate and print."""
    report, evidence = _answered(arguments)

    def show() -> None:
        from crashcart.report.pipeline import print_pipeline

        assert evidence.pipeline is not None
        print_pipeline(evidence.pipeline, report, sys.stdout)

    code = given_out(report, evidence, arguments, show)
    return CannotCheckError.exit_code if code == 0 and _is_open(evidence) else code


def _is_open(evidence: Evidence) -> bool:
    """Whether nobody can say if it fits, as what a stage holds is not known."""
    return evidence.pipeline is not None and bool(evidence.pipeline.unknown)


def here(arguments: argparse.Namespace) -> object:
    """In a notebook: the page."""
    from crashcart.cli.pipeline_functions import Piped

    piped = Piped(*_answered(arguments))
    write_reports(piped.report, piped.evidence, None, arguments.html)
    return piped


def _answered(arguments: argparse.Namespace) -> tuple[Report, Evidence]:
    """Of a name of the notebook's own, where we are in one; else of the file that is named."""
    from crashcart.cli.fit import of_the_notebook

    dataset = of_the_notebook(arguments.target, "a dataset")
    if dataset is None:
        return examined(arguments)
    from crashcart.cli.pipeline_live import Question, examined_live

    asked = Question(arguments.memory, arguments.cores, arguments.steps, arguments.epochs, arguments.measure)
    return examined_live(dataset, asked, arguments.target)


def examined(arguments: argparse.Namespace) -> tuple[Report, Evidence]:
    """The report on the pipeline, and the evidence it rests on."""
    began_s = time.monotonic()
    check_counts(arguments.cores, arguments.steps, arguments.epochs)
    there = room(arguments.memory, BEFORE)
    progress = Progress(sys.stderr)
    try:
        answer = ask(arguments.target, arguments.measure, arguments.timeout, progress)
    finally:
        progress.clear()
    memory = estimated(answer.pipeline, there, arguments.cores, answer.built_bytes)
    memory = replace(
        memory,
        steps=arguments.steps,
        epochs=arguments.epochs,
        died=answer.died,
        assumed=(*memory.assumed, *answer.notes),
        seconds=time.monotonic() - began_s,
    )
    return judged(memory, arguments.target)


def check_counts(cores: int | None, steps: int | None, epochs: int | None) -> None:
    """UsageError for what cannot be meant."""
    for name, value in (("cores", cores), ("steps", steps), ("epochs", epochs)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
            raise UsageError(f"received {name} {value!r}; expected a whole number, 1 or more")


def estimated(pipeline: Pipeline, there: Room, cores: int | None, built_bytes: int | None) -> PipelineMemory:
    """What the pipeline holds, beside the memory there is for it."""
    from crashcart.pipeline.memory import memory_of
    from crashcart.probe.machine import usable_cores
    from crashcart.probe.memory import read_host
    from crashcart.stages import Ground

    host = read_host()
    free: int | None
    if there.where == "given" and there.limit_bytes is not None:
        free = there.limit_bytes  # a machine of that size: tf.data would look at all of it
    else:
        free = None if host is None else host.available_bytes
    return memory_of(
        pipeline, Ground(cores or usable_cores(), free), there.bytes, there.where, built_bytes, (there.note,)
    )  # fmt: skip


def judged(memory: PipelineMemory, subject: str) -> tuple[Report, Evidence]:
    """The report on a pipeline."""
    from crashcart.cli.pipeline_figures import figures
    from crashcart.pipeline import examine_pipeline

    evidence = Evidence(pipeline=memory)
    report = _without_a_pass(examine_pipeline(evidence, subject), memory)
    return replace(report, figures=figures(memory)), evidence


def _without_a_pass(report: Report, memory: PipelineMemory) -> Report:
    """Where a stage's share is not known and nothing was found to be too large, that was not checked."""
    if not memory.unknown or any(each.code == _FITS.code for each in report.findings):
        return report
    missing = tuple(f"what {each} holds" for each in memory.unknown)
    checked = tuple(each for each in report.checked if each != _FITS.code)
    return replace(report, checked=checked, unchecked=(*report.unchecked, replace(_FITS, missing=missing)))
