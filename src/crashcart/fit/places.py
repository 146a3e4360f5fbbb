"""The names of operations in words that a user knows: `conv2d_3 (backward)`.

Covers: finding the layer in a name such as `gradient_tape/functional_1/conv2d_3_1/convolution/Conv2DBackpropFilter`, and the part
of the step: forward, backward, the update of the weights, the loss.
Does not cover: which operation runs at the peak (`walk.py`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping

from crashcart.step import StepPeak

FORWARD, BACKWARD, UPDATE = "forward", "backward", "update"
_NUMBERED = re.compile(r"^(.+?)_\d+$")
_LOSS = ("compile_loss", "loss")
_UPDATES = frozenset(
    "adam adamw adam_w sgd rmsprop adagrad adadelta adamax nadam ftrl lion adafactor lamb muon loss_scale_optimizer".split()  # noqa: SIM905
)


def part(name: str, optimizers: Collection[str] = ()) -> str:
    """The part of the step that an operation belongs to: forward, backward or update."""
    first = name.partition("/")[0]
    if "gradient_tape" in name or first == "gradients":
        return BACKWARD
    known = (first, _unnumbered(first))
    return UPDATE if any(each in optimizers or each.lower() in _UPDATES for each in known) else FORWARD


def place(name: str, layers: Collection[str], kind: str = "", optimizers: Collection[str] = ()) -> str:
    """Where an operation is, or whose variable it is, in words; its own last names where no layer is in it."""
    pieces = name.split("/")
    layer = "/".join(_layers(pieces, layers)) or _inside(name, layers)
    where = kind if kind in ("weights", "optimizer") else part(name, optimizers)
    if where == "optimizer":
        return f"{layer or _unnumbered(pieces[0])} (optimizer)"
    if where == UPDATE:
        return f"{layer or _unnumbered(pieces[0])} (update of the weights)"
    if layer:
        return f"{layer} ({where})"
    if any(each.startswith(_LOSS) for each in pieces):
        return f"the loss ({where})"
    own = "/".join([each for each in pieces if each not in ("gradient_tape", "gradients")][-2:])
    return own if where == FORWARD else f"{own} ({where})"


def places(step: StepPeak, layers: Iterable[str], optimizers: Collection[str] = ()) -> Mapping[str, str]:
    """The words for the step's peak and its largest tensors, and for the moments of its picture."""
    known = frozenset(layers)
    names = {each.at: "" for each in step.moments} | {step.at: ""} | {each.name: each.kind for each in step.largest}
    return {name: place(name, known, kind, optimizers) for name, kind in names.items() if name}


def _layers(pieces: Iterable[str], layers: Collection[str]) -> list[str]:
    """The layers that a name leads through, the outermost first: a cell in its layer, a layer in a model of the user's.

    Keras opens the scope of a layer twice, so that the operations of `dense` are below `dense_1`, and those of `dense_1` below
    `dense_1_2`: a number at the end is taken off wherever what is left is a layer.
    """
    found = []
    for piece in pieces:
        layer = next((each for each in (_unnumbered(piece), piece) if each in layers), None)
        if layer is not None:
            found.append(layer)
    return found


def _inside(name: str, layers: Collection[str]) -> str:
    """The layer within a name that is one word, as some of variables are: `functional_1_dense_3_matmul_resource`."""
    if "/" in name:
        return ""
    found = [each for each in layers if re.search(rf"(?:^|_){re.escape(each)}(?:_|$)", name)]
    return max(found, key=len, default="")


def _unnumbered(piece: str) -> str:
    match = _NUMBERED.match(piece)
    return match.group(1) if match else piece
