"""What is known of official wheels, said of a TensorFlow that is none: conda's, NVIDIA's, one built from source.

Covers: making a trouble as weak as the knowledge is. Such builds are compiled with a NumPy of their own and carry code that
their own protobuf generated, so what fails with the official wheel may work.
Does not cover: which builds those are (`_builds.py`).
"""

from __future__ import annotations

from dataclasses import replace

from crashcart.doctor._builds import other_build
from crashcart.doctor._change import State
from crashcart.doctor._trouble import Trouble
from crashcart.finding import Confidence, Level


def softened(state: State, trouble: Trouble) -> Trouble:
    """The trouble as it is for the official wheel; for another build, possible, and a risk at most."""
    tensorflow = state.tensorflow
    why = other_build(state.installation, tensorflow) if tensorflow is not None else None
    if why is None:
        return trouble
    level = Level.NOTE if _of_one_solver(state, trouble) else Level.RISK
    return replace(
        trouble,
        headline=f"{trouble.headline} (known of the official wheel, and this is another build)",
        because=(*trouble.because, f"{why}: what it was compiled with is not known, and it may work"),
        level=max(trouble.level, level, key=lambda each: each.order),
        confidence=Confidence.POSSIBLE,
        advice=(*trouble.advice, "where `import tensorflow` and your program work, leave it as it is"),
    )


def _of_one_solver(state: State, trouble: Trouble) -> bool:
    """Whether conda chose all of them together: it knows what its own builds need."""
    found = [each for each in map(state.find, trouble.about) if each is not None]
    return state.installation.plan is None and all(each.installer == "conda" for each in found)
