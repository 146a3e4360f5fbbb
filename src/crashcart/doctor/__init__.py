"""Is the ground sound? The rules that judge a machine and a Python environment before anything runs, one per file.

Covers: packages that do not fit TensorFlow or each other, the interpreter and the processor, GPUs and their libraries,
limits, settings; an environment that is installed, or one that a requirements file plans.
Does not cover: installing anything, or printing (`report/`). TensorFlow is never imported here.
"""

from __future__ import annotations

from crashcart.doctor._facts import TENSORFLOW_NAMES
from crashcart.evidence import Evidence
from crashcart.finding import Report
from crashcart.installation import Installation
from crashcart.rule import Rule, examine, load_rules


def rules() -> tuple[Rule, ...]:
    """All rules of this room."""
    return load_rules(__name__)


def examine_ground(evidence: Evidence) -> Report:
    """The report on an environment, from its evidence."""
    return examine(evidence, rules(), _subject(evidence.installation))


def _subject(installation: Installation | None) -> str:
    """What is judged: the plan's file, or the environment by its Python and TensorFlow."""
    if installation is None:
        return "this machine"
    tensorflow = installation.find(*TENSORFLOW_NAMES)
    parts = [f"Python {installation.interpreter.version}"]
    parts += [f"{tensorflow.name} {tensorflow.version}"] if tensorflow is not None else ["no TensorFlow"]
    return f"{installation.plan or 'this environment'} ({', '.join(parts)})"
