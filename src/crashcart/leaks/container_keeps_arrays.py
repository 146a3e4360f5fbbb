"""L103 container-keeps-arrays."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from crashcart.finding import Confidence, Finding
from crashcart.growth import Growth
from crashcart.leaks._bound import bounded
from crashcart.leaks._fill import Fill, fill_of, joins
from crashcart.leaks._holders import Holding, line_of
from crashcart.leaks._tell import INSIDE, Blame, held_by, held_finding
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
    views, the base is counted. An array that is larger after each step, without a line that joins something to it
    (`a = np.concatenate([a, b])`), is likely at most: it may be made anew from more.

    ## What to do

    Copy the part that is needed (`batch[0].copy()`), write results to disk as they come, or bound the container.
    """
    for holding in held_by(growth, "arrays"):
        frame = line_of(holding, growth)
        fill = fill_of(frame)
        view = _VIEW.search(holding.kept.item or "")
        remade = holding.counts is None and not holding.grows_inside and not joins(frame, holding.kept.name)
        blame = Blame(
            _what(holding, view is not None, remade),
            _why(holding, view.group(1) if view else None, remade),
            tuple(_remedy(holding, fill, view is not None, remade)),
            frame,
        )
        finding = held_finding(holding, growth, blame)
        if finding is not None:
            yield replace(finding, confidence=Confidence.LIKELY) if remade else finding


def _what(holding: Holding, view: bool, remade: bool) -> str:
    if remade:
        return f"each step makes a larger `{holding.kept.name}`"
    return f"`{holding.kept.name}` keeps {'views of large arrays' if view else 'arrays'}"


def _why(holding: Holding, base: str | None, remade: bool) -> str:
    if base is not None:
        return f"each element is a view and keeps the whole array that it was cut from: {base}"
    if remade:
        return f"`{holding.kept.name}` is larger after each step; no line was seen that joins something to it"
    if holding.grows_inside:
        return INSIDE
    if holding.counts is None:
        return f"`{holding.kept.name}` is larger after each step: what is joined to it stays"
    return "each element stays in memory as long as the container does"


def _remedy(holding: Holding, fill: Fill | None, view: bool, remade: bool) -> Iterator[str]:
    if remade:
        yield f"bound the size of what `{holding.kept.name}` is made from, if it is not meant to grow with the steps"
        return
    if view:
        yield fill.changed("{}.copy()") if fill is not None else "put copies into it: `x.copy()`"
    yield "write each result to disk as it comes (`np.save`, `np.lib.format.open_memmap`), or keep a summary of it"
    if holding.counts is not None:
        yield bounded(holding, fill)
