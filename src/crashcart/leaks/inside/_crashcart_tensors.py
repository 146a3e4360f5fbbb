"""How many tensors are alive, and how much they hold.

Covers: TensorFlow's eager tensors, which the garbage collector knows of; only where TensorFlow is loaded already.
Does not cover: which names hold them (`_crashcart_kept`), tensors inside of running functions.

The collector's list of a program with TensorFlow has half a million objects: to go through it takes 40 to 100 ms, so that is done
once where memory is seen to rise and nothing explains it, once more at the end, and in between only with `--precise`.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # `typing` itself costs 5 ms
    from typing import Any

_HANDLES = frozenset({"resource", "variant"})
"""What they stand for is kept elsewhere: a variable, a table, a list."""


def alive() -> tuple[int, int] | None:
    """Number and bytes of the eager tensors; None without TensorFlow. Bytes are elements times the size of one, which copies
    nothing and waits for nothing; two tensors that share a buffer count twice."""
    kind: Any = getattr(sys.modules.get("tensorflow.python.framework.ops"), "EagerTensor", None)
    if kind is None:
        return None
    import gc

    count = size = 0
    for each in [each for each in gc.get_objects() if issubclass(type(each), kind)]:
        dtype = each.dtype
        if dtype.name not in _HANDLES:
            count += 1
            size += int(each._num_elements()) * int(dtype.size or 0)
    return count, size
