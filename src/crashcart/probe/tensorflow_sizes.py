"""How large the variables of a model are, and its weights once they are quantised or pruned.

Covers: a variable of any type, the slots of a model's optimizers; the rules of TensorFlow Lite's converter, and the size of
a half-empty kernel once it is compressed, on shapes alone.
Does not cover: running the converter (tests do, on small models), and its file's own overhead of some kilobytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod
from typing import Any

# TensorFlow Lite leaves smaller tensors as they are when it quantises weights alone; biases and vectors always.
LEAST_ITEMS = 1024
# gzip on float32 weights saves about 8 % (the exponents); of the zeros that pruning leaves, a bit or so each remains.
PACKED, ZERO_BITS = 0.93, 1.6


def variable_bytes(variable: Any) -> int:
    """What a variable of Keras or of TensorFlow holds; its type may be one whose name is not its size (float8_e4m3fn)."""
    import tensorflow as tf

    return int(prod(variable.shape) * tf.as_dtype(variable.dtype).size)


def slots(model: Any) -> list[Any]:
    """The variables of the model's optimizers; a model with a step of its own may have several."""
    import keras

    kept = [each for each in vars(model).values() if isinstance(each, keras.optimizers.Optimizer)]
    return [variable for optimizer in kept for variable in optimizer.variables]


@dataclass(frozen=True, slots=True)
class Size:
    """A rule, and what it gives for the whole model."""

    kind: str
    bytes: int

    def of(self, count_bytes: int, matrix: bool) -> int:
        """One weight of float32 that took that many bytes; `matrix` says that it has two dimensions or more."""
        if self.kind == "float16":
            return count_bytes // 2
        large = matrix and count_bytes // 4 >= LEAST_ITEMS
        if self.kind == "int8":
            return count_bytes // 4 if large else count_bytes
        return int(count_bytes * (0.5 * PACKED + ZERO_BITS / 64)) if large else int(count_bytes * PACKED)


def tflite(weights: Iterable[Any], kind: str) -> Size:
    """The weights as TensorFlow Lite stores them: `float16`, or `int8` (weights alone, activations stay float)."""
    return _sized(kind, weights)


def pruned(weights: Iterable[Any]) -> Size:
    """The weights with half of each kernel zero, in a compressed file."""
    return _sized("pruned", weights)


def _sized(kind: str, weights: Iterable[Any]) -> Size:
    rule = Size(kind, 0)
    return Size(kind, sum(rule.of(prod(each.shape) * 4, len(each.shape) > 1) for each in weights))
