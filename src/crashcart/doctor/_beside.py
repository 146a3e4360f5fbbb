"""Judging one measured package beside TensorFlow: the common part of the rules for NumPy and protobuf."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.doctor._change import Change, State
from crashcart.doctor._known import where_from
from crashcart.doctor._measured import Outcome, measured, working
from crashcart.doctor._other_build import softened
from crashcart.doctor._releases import nearest, releases
from crashcart.doctor._trouble import Trouble
from crashcart.finding import Confidence, Level
from crashcart.installation import Distribution

MEASURED = {"numpy": "NumPy", "protobuf": "protobuf"}
_STAGES = {None: "at `import tensorflow`", "IMPORT_OK": "at the first training with an LSTM, after a good import"}


def beside(state: State, package: str) -> Iterator[Trouble]:
    """A trouble where the version was measured to fail."""
    tensorflow, other = state.tensorflow, state.find(package)
    if tensorflow is None or other is None:
        return
    outcome = measured(tensorflow.version, package, other.version)
    if outcome is None or outcome.works:
        return
    called = MEASURED[package]
    pair = f"{called} {other.version} and {tensorflow.name} {tensorflow.version}"
    trouble = Trouble(
        key=f"{package}-beside",
        headline=f"{pair} do not fit: it fails {_STAGES.get(outcome.after, f'after {outcome.after}')}",
        because=tuple(_facts(tensorflow, other, called, outcome)),
        level=Level.PROBLEM,
        confidence=Confidence.CERTAIN if outcome.exact and other.pinned else Confidence.LIKELY,
        cures=tuple(Change(install=((package, version),)) for version in _good(state, tensorflow, package)),
        advice=_advice(state, tensorflow, package),
        about=frozenset({package, tensorflow.name, "tensorflow"}),
    )
    yield softened(state, trouble)


def _good(state: State, tensorflow: Distribution, package: str) -> tuple[str, ...]:
    """What was measured to work and has a wheel for this Python."""
    there = releases(package, state.installation.interpreter)
    found = state.find(package)
    good = [each for each in working(tensorflow.version, package) if each in there]
    return nearest(good, found.version if found is not None else None)


def _advice(state: State, tensorflow: Distribution, package: str) -> tuple[str, ...]:
    if _good(state, tensorflow, package):
        return ()
    python = state.installation.interpreter.minor
    return (f"no {MEASURED[package]} that works beside it has a wheel for Python {python}: use another TensorFlow",)


def _facts(tensorflow: Distribution, other: Distribution, called: str, outcome: Outcome) -> Iterator[str]:
    yield f"{where_from(other)} {other.name} {other.version}"
    measured_as = "" if outcome.exact else f" (measured with {outcome.point})"
    if outcome.error:
        yield f"that pair{measured_as} fails with: {outcome.error}"
    good = working(tensorflow.version, other.name)
    if good:
        yield f"measured to work beside this TensorFlow: {called} {', '.join(reversed(good))}"
