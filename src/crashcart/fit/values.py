"""Tensors at run time and the memory they share.

Covers: buffers with their references, values that point to them. Does not cover: who frees them (`walk.py`).
"""

from __future__ import annotations

from crashcart.graph import Shape, Tensor


class Buffer:
    """Memory that one or more tensors share, or a list of tensors. Freed when nobody refers to it any more."""

    __slots__ = ("address", "bytes", "held_bytes", "items", "kind", "name", "number", "references")

    def __init__(self, name: str, kind: str, count_bytes: int, address: int | None, number: int = -1) -> None:
        """`number` says as which block it was taken (`tape.py`)."""
        self.name, self.kind, self.bytes, self.address, self.number = name, kind, count_bytes, address, number
        self.references = 1
        self.held_bytes = 0
        self.items: list[Value] | None = None


class Value:
    """A tensor at run time: its buffer (None where it takes no memory of its own), its shape, its number if known, and the shape
    that it tells, if it is one. Never changed once made; a plain class, since a step makes hundreds of thousands."""

    __slots__ = ("buffer", "number", "tells", "tensor", "variable")

    def __init__(
        self,
        buffer: Buffer | None,
        tensor: Tensor,
        number: int | None = None,
        variable: str | None = None,
        tells: Shape | None = None,
    ) -> None:
        self.buffer = buffer
        self.tensor = tensor
        self.number = number
        self.variable = variable
        self.tells = tells

    @property
    def items(self) -> list[Value] | None:
        """The elements, where it is a list of tensors."""
        return None if self.buffer is None else self.buffer.items


NOTHING = Value(None, Tensor((), 0))
LIST = Tensor((), 0)
