"""A matrix product that does not fit, block by block.

Covers: arrays, memory maps and tensors of any type that `tf.matmul` takes, transposes, leading dimensions (with
broadcasting); only blocks are on the device at a time, and the result is in host memory, in an array that was given,
or in a .npy file. Gradients where asked, in blocks too, also inside a `tf.function`.
Does not cover: sparse and ragged operands. Where the result itself has to be one tensor on the device, it has to fit
there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

from crashcart.errors import UsageError
from crashcart.remedy.overlap import refuse_overlap
from crashcart.units import parse_size, size

# Below this a block costs more in calls than it saves, and 64 numbers of a row are one line of the memory's cache.
LEAST_BUDGET = 4096
# TensorFlow's allocator for GPUs hands out chunks that are up to twice as large as what is asked for; a half was seen.
ROUNDING = 0.6


def chunked_matmul(
    a: Any,
    b: Any,
    budget: str | int = "1GiB",
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    out: Any = None,
    gradient: bool = False,
) -> Any:
    """What `tf.matmul(a, b)` gives, with at most `budget` bytes of operands and result on the device at a time.

    The result is a NumPy array; `out` may be an array or memory map to write into, or the path of a .npy file to be made. With
    `gradient=True` it is a tensor instead, through which a GradientTape can go, and whose gradients are computed in blocks.
    """
    limit_bytes = parse_size(budget) if isinstance(budget, str) else int(budget)
    if limit_bytes < LEAST_BUDGET:
        raise UsageError(f"received a budget of {size(limit_bytes)}; expected at least {size(LEAST_BUDGET)}")
    if gradient:
        if out is not None:
            raise UsageError("received both out= and gradient=True", "A result with a gradient is a tensor of its own.")
        return _differentiable(a, b, limit_bytes, transpose_a, transpose_b)
    return _multiplied(a, b, limit_bytes, transpose_a, transpose_b, out)


@dataclass(frozen=True, slots=True)
class _Sizes:
    """The extents of a product, outermost first: leading dimensions, then rows, columns and what is summed over."""

    leading: tuple[int, ...]
    rows: int
    columns: int
    inner: int

    @property
    def all(self) -> tuple[int, ...]:
        return (*self.leading, self.rows, self.columns, self.inner)


def _multiplied(a: Any, b: Any, limit_bytes: int, transpose_a: bool, transpose_b: bool, out: Any) -> Any:
    import numpy as np
    import tensorflow as tf

    a, b = (each if hasattr(each, "shape") else np.asarray(each) for each in (a, b))
    sizes = _sizes(tuple(a.shape), tuple(b.shape), transpose_a, transpose_b)
    kind = tf.as_dtype(a.dtype)
    if kind != tf.as_dtype(b.dtype):
        raise UsageError(f"received operands of {kind.name} and {tf.as_dtype(b.dtype).name}; expected one type")
    refuse_overlap((out,), (a, b))
    place = _place(out, (*sizes.leading, sizes.rows, sizes.columns), kind)
    block = _block(sizes, kind.size, int(limit_bytes * ROUNDING))
    # Sums over several blocks of half precision are kept in single: each rounding would add to the error else.
    wide = np.dtype("float32") if kind in (tf.float16, tf.bfloat16) else None
    for ranges in _ranges(sizes.all[:-1], block[:-1]):
        total = None
        for inner in _ranges(sizes.all[-1:], block[-1:]):
            part = tf.matmul(
                tf.convert_to_tensor(_cut(a, ranges[:-2], ranges[-2], inner[0], transpose_a)),
                tf.convert_to_tensor(_cut(b, ranges[:-2], inner[0], ranges[-1], transpose_b)),
                transpose_a=transpose_a,
                transpose_b=transpose_b,
            ).numpy()
            if total is None:
                total = part if wide is None or block[-1] == sizes.inner else part.astype(wide)
            else:
                total += part
        if total is not None:
            place[ranges] = total
    return place


def _sizes(a: tuple[int, ...], b: tuple[int, ...], transpose_a: bool, transpose_b: bool) -> _Sizes:
    import numpy as np

    if len(a) < 2 or len(b) < 2:
        raise UsageError(f"received operands of the shapes {a} and {b}; expected matrices, or stacks of them")
    rows, left = (a[-1], a[-2]) if transpose_a else (a[-2], a[-1])
    right, columns = (b[-1], b[-2]) if transpose_b else (b[-2], b[-1])
    if left != right:
        raise UsageError(
            f"{_shape(a, transpose_a)} times {_shape(b, transpose_b)}: {left} columns do not meet {right} rows",
            "tf.matmul multiplies the last two dimensions; the ones before count the matrices.",
        )
    try:
        leading = np.broadcast_shapes(a[:-2], b[:-2])
    except ValueError:
        raise UsageError(f"the leading dimensions {a[:-2]} and {b[:-2]} do not go together") from None
    return _Sizes(tuple(leading), rows, columns, left)


def _shape(shape: tuple[int, ...], transposed: bool) -> str:
    return f"{shape}{' transposed' if transposed else ''}"


def _block(sizes: _Sizes, item_bytes: int, limit_bytes: int) -> list[int]:
    """The extents of a block: halved until it fits, leading dimensions first, sums last (they change the rounding)."""
    block = [max(each, 1) for each in sizes.all]
    while _block_bytes(block, item_bytes) > limit_bytes:
        split = next((number for number, each in enumerate(block[:-3]) if each > 1), None)
        if split is None:
            split = len(block) - 3 if block[-3] >= block[-2] else len(block) - 2
            # Thin blocks read the other operand over and over: below 256 the sum is cut before.
            if block[split] <= 256 and block[-1] > 1:
                split = len(block) - 1
            if block[split] == 1:
                split = max(range(len(block) - 3, len(block)), key=lambda each: block[each])
        if block[split] == 1:
            break
        block[split] = (block[split] + 1) // 2
    return block


def _block_bytes(block: Sequence[int], item_bytes: int) -> int:
    """Both operands, the product, and its copy on the way to the result."""
    count, (rows, columns, inner) = prod(block[:-3]), block[-3:]
    return count * (rows * inner + inner * columns + 2 * rows * columns) * item_bytes


def _ranges(extents: Sequence[int], block: Sequence[int]) -> Iterator[tuple[slice, ...]]:
    each = [
        [slice(at, min(at + by, extent)) for at in range(0, extent, by)]
        for extent, by in zip(extents, block, strict=True)
    ]
    return product(*each)


def _cut(operand: Any, leading: Sequence[slice], first: slice, second: slice, transposed: bool) -> Any:
    """A block of an operand; a leading dimension that it has only once is not cut."""
    own = operand.shape[:-2]
    cuts = [
        slice(0, 1) if extent == 1 else each
        for extent, each in zip(own, leading[len(leading) - len(own) :], strict=True)
    ]
    last = (second, first) if transposed else (first, second)
    return operand[(*cuts, *last)]


def _place(out: Any, shape: tuple[int, ...], kind: Any) -> Any:
    import numpy as np

    dtype = kind.as_numpy_dtype
    if out is None:
        return np.zeros(shape, dtype)  # pages are taken when a block is written
    if isinstance(out, (str, Path)):
        return np.lib.format.open_memmap(out, mode="w+", dtype=dtype, shape=shape)
    if tuple(out.shape) != shape or out.dtype != dtype:
        raise UsageError(f"out= is {out.dtype} of the shape {tuple(out.shape)}; expected {np.dtype(dtype)} of {shape}")
    return out


def _differentiable(a: Any, b: Any, limit_bytes: int, transpose_a: bool, transpose_b: bool) -> Any:
    import tensorflow as tf

    def times(left: Any, right: Any, first: bool, second: bool) -> Any:
        sizes = _static(left, right, first, second)
        if tf.executing_eagerly():
            return tf.convert_to_tensor(_multiplied(left, right, limit_bytes, first, second, None))
        found = tf.numpy_function(
            lambda one, two: _multiplied(one, two, limit_bytes, first, second, None), [left, right], left.dtype
        )
        found.set_shape(sizes)
        return found

    @tf.custom_gradient  # type: ignore[untyped-decorator]
    def multiplied(left: Any, right: Any) -> Any:
        def gradient(upstream: Any) -> tuple[Any, Any]:
            first, second = tf.math.conj(left), tf.math.conj(right)  # the same for real numbers
            one = (
                times(second, upstream, transpose_b, True)
                if transpose_a
                else times(upstream, second, False, not transpose_b)
            )
            two = (
                times(upstream, first, True, transpose_a)
                if transpose_b
                else times(first, upstream, not transpose_a, False)
            )
            return _summed(one, left), _summed(two, right)

        return times(left, right, transpose_a, transpose_b), gradient

    return multiplied(tf.convert_to_tensor(a), tf.convert_to_tensor(b))


def _static(left: Any, right: Any, first: bool, second: bool) -> Any:
    """The shape of a product inside a tf.function, where some extents may be open."""
    import tensorflow as tf

    rows = left.shape[-1 if first else -2]
    columns = right.shape[-2 if second else -1]
    return tf.broadcast_static_shape(left.shape[:-2], right.shape[:-2]).concatenate([rows, columns])


def _summed(gradient: Any, operand: Any) -> Any:
    """Over the leading dimensions that the operand was repeated in."""
    import tensorflow as tf

    extra = gradient.shape.rank - operand.shape.rank
    gradient = tf.reduce_sum(gradient, axis=list(range(extra))) if extra else gradient
    repeated = [
        number
        for number, (one, own) in enumerate(zip(gradient.shape[:-2], operand.shape[:-2], strict=True))
        if own == 1 and one != 1
    ]
    return tf.reduce_sum(gradient, axis=repeated, keepdims=True) if repeated else gradient
