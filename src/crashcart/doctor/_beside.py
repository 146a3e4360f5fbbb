"""Judging one measured package beside TensorFlow: the common part of the rules for NumPy and protobuf."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.doctor._facts import TENSORFLOW_NAMES
from crashcart.doctor._fix import choose, install
from crashcart.doctor._measured import Outcome, measured, working
from crashcart.doctor._requirements import refused_by
from crashcart.finding import Cause, Confidence, Finding
from crashcart.installation import Distribution, Installation

_STAGES = {None: "at `import tensorflow`", "IMPORT_OK": "at the first training with an LSTM, after a good import"}


def judge_beside(installation: Installation, package: str, called: str) -> Iterator[Finding]:
    """A finding where the version was measured to fail."""
    tensorflow, other = installation.find(*TENSORFLOW_NAMES), installation.find(package)
    if tensorflow is None or other is None:
        return
    outcome = measured(tensorflow.version, package, other.version)
    if outcome is None or outcome.works:
        return
    pair = f"{called} {other.version} and {tensorflow.name} {tensorflow.version}"
    yield Finding(
        Cause.LIBRARY_CONFLICT,
        f"{pair} do not fit: it fails {_STAGES.get(outcome.after, f'after {outcome.after}')}",
        tuple(_facts(tensorflow, other, called, outcome)),
        tuple(_remedies(installation, tensorflow, package)),
        _confidence(other, outcome),
    )


def _confidence(other: Distribution, outcome: Outcome) -> Confidence:
    return Confidence.CERTAIN if outcome.exact and other.pinned else Confidence.LIKELY


def _facts(tensorflow: Distribution, other: Distribution, called: str, outcome: Outcome) -> Iterator[str]:
    said = (
        "pip would choose" if not other.pinned else "planned" if not other.folder else f"installed in {other.folder}:"
    )
    yield f"{said} {other.name} {other.version}"
    measured_as = "" if outcome.exact else f" (measured with {outcome.point})"
    if outcome.error:
        yield f"that pair{measured_as} fails with: {outcome.error}"
    good = working(tensorflow.version, other.name)
    if good:
        yield f"measured to work beside this TensorFlow: {called} {', '.join(reversed(good))}"


def _remedies(installation: Installation, tensorflow: Distribution, package: str) -> Iterator[str]:
    good = choose(installation, package, working(tensorflow.version, package))
    if good is None:
        return
    yield install(installation, f"{package}=={good}")
    refused = [str(each) for each in refused_by(installation, package, good) if each.by.name != tensorflow.name]
    if refused:
        yield (
            f"other packages want another one ({'; '.join(refused[:3])}): upgrade TensorFlow instead, or use a second"
            " environment"
        )
