"""L103 container-keeps-arrays."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crashcart.finding import Finding
from crashcart.growth import Growth
from crashcart.leaks._fill import Fill, fill_of
from crashcart.leaks._holders import Holding, line_of
from crashcart.leaks._tell import Blame, held_by, held_finding
from crashcart.rule import Rank, rule

_VIEW = re.compile(r"view of (.*)")


@rule("L103", "container-keeps-arrays", Rank.ROOT)
def container_keeps_arrays(growth: Growth) -> Iterator[Finding]:
    """A container gets arrays with each step, or views of large ones, and keeps them.

    ## What it means

    Arrays, frames and bytes stay as long as the container does. A NumPy view is small by itself and keeps all of the
    array that it was cut from: `rows.append(batch[0])` keeps every batch.

    ## How we know

    The container, or the object itself, was looked at several times by its name, and its bytes rose to the end. Of
    views, the base is counted.

    ## What to do

    Copy the part that is needed (`batch[0].copy()`), write results to disk as they come, or bound the container.
    """
    for holding in held_by(growth, "arrays"):
        frame = line_of(holding, growth)
        fill = fill_of(frame)
        view = _VIEW.search(holding.kept.item or "")
        why = (
            f"each element is a view and keeps the whole array that it was cut from: {view.group(1)}"
            if view
            else _grown(holding)
        )
        blame = Blame(
            f"`{holding.kept.name}` keeps {'views of large arrays' if view else 'arrays'}",
            why,
            tuple(_remedy(holding, fill, view is not None)),
            frame,
        )
        finding = held_finding(holding, growth, blame)
        if finding is not None:
            yield finding


def _grown(holding: Holding) -> str:
    if holding.counts is None:
        return f"`{holding.kept.name}` is larger after each step: what is joined to it stays"
    return "each element stays in memory as long as the container does"


def _remedy(holding: Holding, fill: Fill | None, view: bool) -> Iterator[str]:
    name = holding.kept.name.rpartition(".")[2]
    if view:
        yield fill.changed("{}.copy()") if fill is not None else "put copies into it: `x.copy()`"
    yield "write each result to disk as it comes (`np.save`, `np.lib.format.open_memmap`), or keep a summary of it"
    if holding.counts is not None:
        yield f"keep only the last ones: `{name} = collections.deque(maxlen=1000)`"
