"""L102 container-keeps-tensors."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crashcart.finding import Finding
from crashcart.growth import Growth
from crashcart.leaks._bound import bounded
from crashcart.leaks._fill import Fill, fill_of
from crashcart.leaks._holders import Holding, line_of
from crashcart.leaks._tell import Blame, held_by, held_finding
from crashcart.rule import Rank, rule

SCALAR_BYTES = 64
"""A tensor of one number counts 4 to 16 bytes, and 8 to 9 for its place in the list; `float` fails for one of several."""


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

    Keep a number of it (`float(loss)`, of several values `float(tf.reduce_mean(x))`), write it to disk, or bound the
    container (`collections.deque(maxlen=1000)`).
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
    scalar = each is not None and each <= SCALAR_BYTES
    number = "float({})" if scalar else "float(tf.reduce_mean({}))"
    if fill is not None and _is_one_tensor(holding, fill):
        yield fill.changed(number)
    elif fill is not None and fill.value[:1] in "([{":
        yield f"put plain numbers into `{holding.kept.name}`, as in `({number.format('loss')}, …)`, and no tensors"
    else:
        yield f"put plain numbers into `{holding.kept.name}`: `{number.format('x')}`"
    if not scalar:
        yield "write each tensor to disk as it comes (`np.save`), where all of it is needed"
    yield bounded(holding, fill)


def _is_one_tensor(holding: Holding, fill: Fill) -> bool:
    """Whether the line puts in a single tensor by its name: a number can be made of that, and not of a tuple."""
    single = re.match(r"(Eager|Symbolic|)Tensor\b", holding.kept.item or "") is not None
    return single and fill.is_name and ".extend(" not in fill.template
