"""Bytes of an element: from its spec where all shapes are known, or from a real one.

Covers: tensors of numbers and strings, ragged and sparse ones by their components; the blocks of the heap that they lie in.
Does not cover: getting real elements (`tensorflow_dataset_measure`).
"""

from __future__ import annotations

from math import prod
from typing import Any

from crashcart.stages import Element

# Measured with TensorFlow 2.21 on buffers of `shuffle`: an element of one tensor takes 146 to 192 bytes besides its numbers
# (200 B for one of 8 B, 282 for 100, 550 for a row of 404, 1190 for 1000): the tensor's buffer, the vector that holds it,
# malloc's own words.
TENSOR_BYTES = 88
ELEMENT_BYTES = 80
STRING_BYTES = 24
"""A tstring; up to 22 bytes of text lie inside of it, longer text in a block of its own."""
_INSIDE = 22
_BLOCK_BYTES = 16
# Larger blocks are mapped by themselves, in whole pages (M_MMAP_THRESHOLD's first value).
_MAPPED_BYTES = 128 << 10
_PAGE_BYTES = 4096
_MOST_INSIDE = 4096
"""Elements of a window that are counted."""


def block_bytes(count: int) -> int:
    """What the heap gives for so many bytes."""
    if count >= _MAPPED_BYTES:
        return -(-(count + _BLOCK_BYTES) // _PAGE_BYTES) * _PAGE_BYTES
    return -(-(count + 8) // 16) * 16


def element_of_spec(spec: Any) -> Element | None:
    """By its shapes; None where one of them is not known, or a tensor has strings or other things of no fixed size."""
    total, count = ELEMENT_BYTES, 0
    for each in flat(spec):
        shape, kind = getattr(each, "shape", None), getattr(each, "dtype", None)
        if type(each).__name__ != "TensorSpec" or shape is None or kind is None or not shape.is_fully_defined():
            return None
        if kind.name in ("string", "variant", "resource"):
            return None
        total += TENSOR_BYTES + block_bytes(prod(shape.as_list()) * kind.size)
        count += 1
    return Element(total, total, count) if count else None


def flat(spec: Any) -> list[Any]:
    """Its parts, ragged and sparse ones whole."""
    import tensorflow as tf

    return list(tf.nest.flatten(spec)) if spec is not None else []


def said(spec: Any) -> str:
    """The shapes in words: `float32[224,224,3], int64[]`."""
    return ", ".join(_said(each) for each in flat(spec))


def _said(spec: Any) -> str:
    shape, kind = getattr(spec, "shape", None), getattr(spec, "dtype", None)
    if shape is None or kind is None:
        return type(spec).__name__.removesuffix("Spec").lower()
    sizes = "…" if shape.rank is None else ",".join("?" if each is None else str(each) for each in shape.as_list())
    ragged = "ragged " if type(spec).__name__ == "RaggedTensorSpec" else ""
    return f"{ragged}{kind.name}[{sizes}]"


def element_bytes(element: Any) -> tuple[int, int]:
    """Bytes of a real element, and its tensors. A window is a dataset, and takes what its own elements take."""
    import tensorflow as tf

    inner = [each for each in tf.nest.flatten(element) if isinstance(each, tf.data.Dataset)]
    parts = [each for each in tf.nest.flatten(element, expand_composites=True) if tf.is_tensor(each)]
    own = ELEMENT_BYTES + sum(TENSOR_BYTES + tensor_bytes(each) for each in parts)
    return own + sum(element_bytes(each)[0] for window in inner for each in window.take(_MOST_INSIDE)), len(parts)


def tensor_bytes(tensor: Any) -> int:
    """Bytes of a real tensor's numbers or strings, with the blocks that strings lie in."""
    kind = getattr(tensor, "dtype", None)
    if kind is None or kind.name in ("variant", "resource"):
        return 0
    shape = tensor.shape
    count = prod(shape.as_list()) if shape.is_fully_defined() else 0
    if kind.name != "string":
        return block_bytes(count * kind.size)
    return block_bytes(count * STRING_BYTES) + _text_bytes(tensor, count)


def _text_bytes(tensor: Any, count: int) -> int:
    """The blocks of its texts; of very many, a sample stands for all."""
    import tensorflow as tf

    if count == 0:
        return 0
    values = tf.reshape(tensor, [-1])
    step = max(1, count // 4096)
    lengths = tf.strings.length(values[::step]).numpy()
    total = sum(block_bytes(int(each) + 1) for each in lengths if each > _INSIDE)
    return int(total * count / len(lengths))
