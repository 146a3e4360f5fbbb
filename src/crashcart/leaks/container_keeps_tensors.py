"""L102 container-keeps-tensors."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crashcart.finding import Finding
from crashcart.growth import Growth
from crashcart.leaks._fill import Fill, fill_of
from crashcart.leaks._holders import Holding, line_of
from crashcart.leaks._tell import Blame, held_by, held_finding
from crashcart.rule import Rank, rule
from crashcart.units import KIB

SCALAR_BYTES = 4 * KIB
"""What a tensor of one number takes, with its Python object, is far below that."""


@rule("L102", "container-keeps-tensors", Rank.ROOT)
def container_keeps_tensors(growth: Growth) -> Iterator[Finding]:
    """A list or dict gets a tensor with each step, and keeps it.

    ## What it means

    A tensor in a container stays alive with its whole buffer, and with it what it was made from where a tape or a graph
    recorded it. A history of losses looks small and is not.

    ## How we know

    The container was looked at several times by its name: its elements are tensors, and they became more to the end.
    Their bytes are set beside the growth of the process.

    ## What to do

    Keep a number of it (`float(loss)`), write it to disk, or bound the container (`collections.deque(maxlen=1000)`).
    """
    for holding in held_by(growth, "tensors"):
        frame = line_of(holding, growth)
        fill = fill_of(frame)
        named = f"each `{fill.value}`" if fill is not None and fill.is_name else "each element"
        blame = Blame(
            f"`{holding.kept.name}` keeps tensors",
            f"{named} keeps its tensor alive",
            tuple(_remedy(holding, fill)),
            frame,
        )
        finding = held_finding(holding, growth, blame)
        if finding is not None:
            yield finding


def _remedy(holding: Holding, fill: Fill | None) -> Iterator[str]:
    each = holding.item_bytes
    if "Variable" in (holding.kept.item or ""):
        yield f"make each variable once, and `assign` to the one that is in `{holding.kept.name}`"
        return
    if fill is not None and _is_one_tensor(holding, fill):
        small = each is not None and each <= SCALAR_BYTES
        yield fill.changed("float({})") if small or fill.value == "loss" else fill.changed("float(tf.reduce_mean({}))")
    elif fill is not None and fill.value[:1] in "([{":
        yield f"put plain numbers into `{holding.kept.name}`, as in `(float(loss), …)`, and no tensors"
    else:
        yield f"put plain numbers into `{holding.kept.name}`: `float(x)`"
    name = holding.kept.name.rpartition(".")[2]
    yield f"keep only the last ones: `{name} = collections.deque(maxlen=1000)`, or write them to disk"


def _is_one_tensor(holding: Holding, fill: Fill) -> bool:
    """Whether the line puts in a single tensor by its name: a number can be made of that, and not of a tuple."""
    single = re.match(r"(Eager|Symbolic|)Tensor\b", holding.kept.item or "") is not None
    return single and fill.is_name and ".extend(" not in fill.template
