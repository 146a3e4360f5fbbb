"""Tensors at run time and the memory they share.

Covers: buffers with their references, values that point to them. Does not cover: who frees them (`walk.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

from crashcart.graph import Tensor


class Buffer:
    """Memory that one or more tensors share, or a list of tensors. Freed when nobody refers to it any more."""

    __slots__ = ("address", "bytes", "items", "kind", "name", "references")

    def __init__(self, name: str, kind: str, count_bytes: int, address: int | None) -> None:
        self.name, self.kind, self.bytes, self.address = name, kind, count_bytes, address
        self.references = 1
        self.items: list[Value] | None = None


@dataclass(frozen=True, slots=True)
class Value:
    """A tensor at run time: its buffer (None where it takes no memory of its own), its shape, its number if known."""

    buffer: Buffer | None
    tensor: Tensor
    number: int | None = None
    variable: str | None = None

    @property
    def items(self) -> list[Value] | None:
        """The elements, where it is a list of tensors."""
        return None if self.buffer is None else self.buffer.items


NOTHING = Value(None, Tensor((), 0))
LIST = Tensor((), 0)
