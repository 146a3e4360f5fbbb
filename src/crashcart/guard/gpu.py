"""What TensorFlow may take of each GPU, set on request.

Covers: memory growth and a limit per device, through TensorFlow's own configuration, before it touches a device.
Does not cover: watching devices (`policy.py` does, from NVML's figures); other frameworks.
"""

from __future__ import annotations

import importlib
from typing import Any

from crashcart.errors import CannotCheckError, UsageError
from crashcart.probe.gpu import read_gpus
from crashcart.units import MIB, parse_size, size

GROWTH = "growth"


def limit_gpus(asked: str) -> list[str]:
    """Apply `growth`, `80%` or a size to every GPU that TensorFlow sees; returns what was set, in words."""
    wish = _parse(asked)
    try:
        tensorflow: Any = importlib.import_module("tensorflow")
    except ImportError as error:
        raise CannotCheckError(f"gpu={asked!r} needs TensorFlow, which cannot be imported: {error}") from None
    devices = tensorflow.config.list_physical_devices("GPU")
    if not devices:
        raise CannotCheckError(f"gpu={asked!r} was asked for, but TensorFlow sees no GPU", "Leave gpu= out.")
    totals = [each.total_bytes for each in read_gpus() or ()]
    try:
        return [
            _apply(tensorflow, device, wish, totals[index] if index < len(totals) else None)
            for index, device in enumerate(devices)
        ]
    except RuntimeError as error:
        raise CannotCheckError(
            f"TensorFlow uses its GPUs already: {error}", "Call crashcart.guard(gpu=…) first."
        ) from None


def _parse(asked: str) -> str | float | int:
    if asked == GROWTH:
        return GROWTH
    if asked.endswith("%"):
        share = _number(asked[:-1]) / 100
        if not 0 < share <= 1:
            raise UsageError(f"received gpu={asked!r}; expected a share between 0% and 100%")
        return share
    try:
        return parse_size(asked)
    except ValueError:
        raise UsageError(
            f"received gpu={asked!r}; expected `growth`, a share such as 80%, or a size such as 8G"
        ) from None


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"received {text!r} as a share; expected a number") from None


def _apply(tensorflow: Any, device: Any, wish: str | float | int, total_bytes: int | None) -> str:
    if wish == GROWTH:
        tensorflow.config.experimental.set_memory_growth(device, True)
        return f"{device.name}: memory growth"
    if isinstance(wish, float):
        if total_bytes is None:
            raise CannotCheckError(
                f"the size of {device.name} is not known, so a share of it is not", "Give a size: gpu='8G'."
            )
        wish = int(wish * total_bytes)
    assert isinstance(wish, int)
    bound = tensorflow.config.LogicalDeviceConfiguration(memory_limit=wish // MIB)
    tensorflow.config.set_logical_device_configuration(device, [bound])
    return f"{device.name}: at most {size(wish)}"
