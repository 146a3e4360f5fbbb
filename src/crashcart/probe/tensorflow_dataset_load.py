"""The datasets that a user names: one, several, or one beside a model; telling what is wrong with anything else.

Covers: what a file's name or function gives (`of_value`), loaders of other frameworks, iterators, arrays.
Does not cover: running the file (`tensorflow_load`), reading the datasets (`tensorflow_dataset`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crashcart.errors import UsageError
from crashcart.probe.tensorflow_dataset import is_dataset

_HELP = "Return a tf.data.Dataset, several of them, or a pair of a model and a dataset."
_OTHERS = {
    "torch": "A DataLoader of PyTorch keeps no buffers of tf.data: its workers and prefetch_factor hold "
    "num_workers × prefetch_factor batches.",
    "keras": "Its workers and max_queue_size hold max_queue_size batches; only tf.data pipelines can be read.",
}


def of_value(value: Any, what: str) -> list[Any]:
    """All datasets in it. UsageError where there is none; `what` says where it comes from: `train.py:make gives`."""
    found = list(_found(value))
    if found:
        return found
    raise UsageError(*_wrong(value, what))


def _found(value: Any) -> list[Any]:
    if is_dataset(value):
        return [value]
    if isinstance(value, Mapping):
        return [each for one in value.values() for each in _found(one)]
    if isinstance(value, (tuple, list)) and len(value) <= 64:
        return [each for one in value for each in _found(one)]
    return []


def _wrong(value: Any, what: str) -> tuple[str, str]:
    kind = type(value)
    kind_name = f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")
    name = "None" if value is None else f"an object of type {kind_name}"
    message = f"{what} {name}, not a tf.data.Dataset"
    if value is None:
        return message, "Let the function return the dataset."
    if hasattr(value, "element_spec"):
        if hasattr(value, "__next__"):
            return message, "That is an iterator, which holds its buffers already. Return the dataset it was made of."
        return message, "A distributed dataset cannot be read. Return the dataset that was distributed."
    framework = next((_OTHERS[part] for part in _OTHERS if part in kind.__module__.split(".")), None)
    return message, f"{framework} {_HELP}" if framework else _HELP
