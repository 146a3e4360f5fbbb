"""Is the ground sound? The rules that judge a machine and a Python environment before anything runs, one per file.

Covers: packages that do not fit TensorFlow or each other, the interpreter and the processor, GPUs and their libraries,
limits, settings; an environment that is installed, or one that a requirements file plans.
Does not cover: installing anything, or printing (`report/`). TensorFlow is never imported here.
"""

from __future__ import annotations

from dataclasses import replace

from crashcart.doctor._facts import TENSORFLOW_NAMES
from crashcart.evidence import Evidence
from crashcart.finding import Report, Unchecked
from crashcart.installation import Installation
from crashcart.rule import Rule, examine, load_rules


def rules() -> tuple[Rule, ...]:
    """All rules of this room."""
    return load_rules(__name__)


def examine_ground(evidence: Evidence) -> Report:
    """The report on an environment, from its evidence."""
    report = examine(evidence, rules(), _subject(evidence.installation))
    try:
        fix = fix_all(evidence)
    except Exception as error:  # as with a rule: the report does not die of it
        failed = Unchecked("fix", "fix", (f"one command for everything: {type(error).__name__}: {error}",))
        return replace(report, unchecked=(*report.unchecked, failed))
    return replace(report, figures=report.figures | {"fix": fix}) if fix else report


def fix_all(evidence: Evidence) -> str:
    """One line that mends all package findings at once; empty where there is nothing to mend."""
    from crashcart.doctor._change import state_of
    from crashcart.doctor._fix import commands
    from crashcart.doctor._repair import mend

    if evidence.installation is None:
        return ""
    found = mend(state_of(evidence.installation, evidence.environment))
    joint = " && " if evidence.installation.plan is None else "; "
    return joint.join(commands(evidence.installation, found.change)) if found is not None else ""


def _subject(installation: Installation | None) -> str:
    """What is judged: the plan's file, or the environment by its Python and TensorFlow."""
    if installation is None:
        return "this machine"
    tensorflow = installation.find(*TENSORFLOW_NAMES)
    parts = [f"Python {installation.interpreter.version}"]
    named = [tensorflow.name, tensorflow.version or ""] if tensorflow is not None else ["no TensorFlow"]
    parts.append(" ".join(filter(None, named)))
    return f"{installation.plan or 'this environment'} ({', '.join(parts)})"
