"""The import check of `doctor`: frameworks imported in child processes, and a death among them explained by `why`."""

from __future__ import annotations

import signal
from dataclasses import replace

from crashcart.evidence import Ending, Evidence, ImportAttempt, Program
from crashcart.probe.attempt import FRAMEWORKS, attempt


def with_attempts(evidence: Evidence) -> Evidence:
    """The evidence with an attempt for every framework that is there to be imported."""
    installation = evidence.installation
    python = installation.interpreter.executable if installation is not None else None
    if installation is None or python is None:
        return evidence
    names = {each.name for each in installation.distributions} | {
        name for name, module in installation.modules.items() if module.file is not None
    }
    tried = [_explained(attempt(python, each), evidence) for each in FRAMEWORKS if each in names]
    return replace(evidence, attempts=tuple(tried))


def _explained(tried: ImportAttempt, ground: Evidence) -> ImportAttempt:
    if tried.exit_code == 0:
        return tried
    from crashcart.why import explain

    return replace(tried, explained=explain(_as_run(tried, ground)).verdict)


def _as_run(tried: ImportAttempt, ground: Evidence) -> Evidence:
    """The attempt as the evidence of a run that was seen to its end."""
    from crashcart.probe.log import parse_log
    from crashcart.why.collect_log import evidence_of

    told = evidence_of(parse_log(tried.output))
    program = Program((f"import {tried.module}",), tried.directory, 0, 0.0, f"import {tried.module}")
    return replace(
        told,
        program=program,
        machine=ground.machine,
        environment=ground.environment,
        ending=_ending(tried) or told.ending,
    )


def _ending(tried: ImportAttempt) -> Ending | None:
    if tried.signal is not None:
        named = {each.value: each.name for each in signal.Signals}
        return Ending("signal", tried.seconds, signal=tried.signal, signal_name=named.get(tried.signal))
    if tried.exit_code is not None:
        return Ending("exit", tried.seconds, exit_code=tried.exit_code)
    return None
