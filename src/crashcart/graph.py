"""One step of a model as plain data: operations, shapes, sizes, and which reads what.

Covers: what the walk over a step needs to know about each operation; functions that loops and branches call.
Does not cover: how a step is traced (`probe/tensorflow_trace.py`) or what it costs (`fit/`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

Shape = tuple[int, ...]
LOOPS = frozenset({"While", "StatelessWhile"})
"""Operations that run a function again and again."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """What an operation gives out. `shape` is None where it is not known before the step runs."""

    shape: Shape | None
    item_bytes: int
    guessed: bool = False
    """Whether its size depends on the data, and was taken as if it were the batch."""
    partly: Shape | None = None
    """Where the shape is not known: what is known of it, with -1 for the rest."""

    @property
    def bytes(self) -> int | None:
        """Its size; None where the shape is not known."""
        return None if self.shape is None else prod(self.shape) * self.item_bytes


@dataclass(frozen=True, slots=True)
class Node:
    """One operation. Inputs are pairs of a node's index and the number of its output; `waits` are nodes that must be done."""

    name: str
    op: str
    inputs: tuple[tuple[int, int], ...] = ()
    waits: tuple[int, ...] = ()
    outputs: tuple[Tensor, ...] = ()
    variable: str | None = None
    """The variable whose handle it gives out."""
    value: int | None = None
    """The number that it gives out, where that is a whole number known before the step runs."""
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Variable:
    """What stays on the device between steps. `kind` is weights, optimizer or other (metrics, counters, seeds)."""

    name: str
    bytes: int
    kind: str
    drawn: bool = False
    """Whether its first value is drawn at random, which takes memory for a moment."""


@dataclass(frozen=True, slots=True)
class Graph:
    """The operations of a step, or of a function that a loop or a branch calls."""

    nodes: tuple[Node, ...]
    arguments: tuple[int, ...] = ()
    """The nodes that stand for what is handed in, in order."""
    results: tuple[tuple[int, int], ...] = ()
    functions: Mapping[str, Graph] = field(default_factory=dict)
    variables: tuple[Variable, ...] = ()
    traced: int = 0
    """How many operations were traced, before TensorFlow's optimizer; 0 where that is not known."""
    cache_bytes: int | None = None
    """The processor's last-level cache, by which some kernels size their scratch; None where it is not known."""

    @property
    def operations(self) -> int:
        """What the process that traces it pays for: operations as traced, those of functions included."""
        return max(self.traced, sum(len(each.nodes) for each in (self, *self.functions.values())))
