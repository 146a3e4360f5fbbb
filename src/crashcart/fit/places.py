"""The names of operations in words that a user knows: `conv2d_3 (backward)`.

Covers: finding the layer in a name such as `gradient_tape/functional_1/conv2d_3/convolution/Conv2DBackpropFilter`, and the part
of the step: forward, backward, the update of the weights, the loss.
Does not cover: which operation runs at the peak (`walk.py`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping

from crashcart.step import StepPeak

_CALLED_AGAIN = re.compile(r"^(.+?)_\d+$")
_LOSS = ("compile_loss", "loss")
_UPDATES = frozenset(
    (
        "adam",
        "adamw",
        "sgd",
        "rmsprop",
        "adagrad",
        "adadelta",
        "adamax",
        "nadam",
        "ftrl",
        "lion",
        "adafactor",
        "lamb",
        "muon",
    )
)
FORWARD, BACKWARD, UPDATE = "forward", "backward", "update"


def part(name: str) -> str:
    """The part of the step that an operation belongs to: forward, backward or update."""
    first = name.partition("/")[0]
    if "gradient_tape" in name or first == "gradients":
        return BACKWARD
    return UPDATE if _once(first).lower() in _UPDATES else FORWARD


def place(name: str, layers: Collection[str]) -> str:
    """Where an operation is, in words; its own last names where no layer is in it."""
    pieces = name.split("/")
    layer = next((found for each in reversed(pieces) if (found := _layer(each, layers))), None) or _inside(name, layers)
    where = part(name)
    if layer is not None:
        return f"{layer} ({where})" if where != UPDATE else f"{layer} (update of the weights)"
    if where == UPDATE:
        return f"the update of the weights ({_once(pieces[0])})"
    if any(each.startswith(_LOSS) for each in pieces):
        return f"the loss ({where})"
    own = [each for each in pieces if each not in ("gradient_tape", "gradients")]
    return f"{'/'.join(own[-2:])} ({where})" if where == BACKWARD else "/".join(own[-2:])


def operation(name: str) -> str:
    """The operation's own name, without the number that tells it from others."""
    return _once(name.rpartition("/")[2])


def places(step: StepPeak, layers: Iterable[str]) -> Mapping[str, str]:
    """The words for the step's peak and its largest tensors, and for the moments of its picture."""
    known = frozenset(layers)
    names = [step.at, *(each.name for each in step.largest), *(each.at for each in step.moments)]
    return {name: place(name, known) for name in names if name}


def _layer(piece: str, layers: Collection[str]) -> str | None:
    """The layer that a piece of a name stands for; one that is called again has a number behind it."""
    if piece in layers:
        return piece
    shorter = _once(piece)
    return shorter if shorter in layers else None


def _inside(name: str, layers: Collection[str]) -> str | None:
    """The layer within a name that is one word, as those of variables are: `functional_1_dense_3_matmul_resource`."""
    if "/" in name:
        return None
    found = [each for each in layers if re.search(rf"(?:^|_){re.escape(each)}(?:_|$)", name)]
    return max(found, key=len, default=None)


def _once(piece: str) -> str:
    match = _CALLED_AGAIN.match(piece)
    return match.group(1) if match else piece
