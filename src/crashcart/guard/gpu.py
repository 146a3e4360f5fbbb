"""What TensorFlow may take of each GPU, set on request.

Covers: memory growth and a limit per device, through TensorFlow's own configuration, before it touches a device.
Does not cover: following devices while the program runs (`devices.py`); other frameworks.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from crashcart.errors import CannotCheckError, UsageError
from crashcart.ground import GpuDevice
from crashcart.probe._read import ROOT
from crashcart.probe.gpu import read_gpus
from crashcart.units import MIB, parse_size, size

GROWTH = "growth"


def limit_gpus(asked: str, root: Path = ROOT) -> list[str]:
    """Apply `growth`, `80%` or a size to every GPU that TensorFlow sees; returns what was set, in words."""
    wish = _parse(asked)
    try:
        tensorflow: Any = importlib.import_module("tensorflow")
    except ImportError as error:
        raise CannotCheckError(f"gpu={asked!r} needs TensorFlow, which cannot be imported: {error}") from None
    devices = tensorflow.config.list_physical_devices("GPU")
    if not devices:
        raise CannotCheckError(f"gpu={asked!r} was asked for, but TensorFlow sees no GPU", "Leave gpu= out.")
    known = read_gpus(root) or () if isinstance(wish, float) else ()
    try:
        return [_apply(tensorflow, device, wish, known) for device in devices]
    except RuntimeError as error:
        raise CannotCheckError(
            f"TensorFlow uses its GPUs already: {error}", "Call crashcart.guard(gpu=…) first."
        ) from None
    except ValueError as error:
        raise CannotCheckError(
            f"gpu={asked!r} does not go with what was set before: {error}", "Set it once, in one place."
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
        bound_bytes = parse_size(asked)
    except ValueError:
        raise UsageError(
            f"received gpu={asked!r}; expected `growth`, a share such as 80%, or a size such as 8G"
        ) from None
    if bound_bytes < MIB:
        raise UsageError(f"received gpu={asked!r}; expected at least 1M (TensorFlow counts whole MiB)")
    return bound_bytes


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"received {text!r} as a share; expected a number") from None


def _apply(tensorflow: Any, device: Any, wish: str | float | int, known: Sequence[GpuDevice]) -> str:
    if wish == GROWTH:
        tensorflow.config.experimental.set_memory_growth(device, True)
        return f"{device.name}: memory growth"
    if isinstance(wish, float):
        total_bytes = _total_bytes(tensorflow, device, known)
        if total_bytes is None:
            raise CannotCheckError(
                f"the size of {device.name} is not known, so a share of it is not", "Give a size: gpu='8G'."
            )
        wish = int(wish * total_bytes)
    assert isinstance(wish, int)
    bound = tensorflow.config.LogicalDeviceConfiguration(memory_limit=wish // MIB)
    tensorflow.config.set_logical_device_configuration(device, [bound])
    return f"{device.name}: at most {size(wish)}"


def _total_bytes(tensorflow: Any, device: Any, known: Sequence[GpuDevice]) -> int | None:
    """The size of TensorFlow's device. Its numbers are not the driver's (CUDA sorts by speed, and CUDA_VISIBLE_DEVICES
    leaves some out), so a device is known by its name, and only if all of that name have one size."""
    name = tensorflow.config.experimental.get_device_details(device).get("device_name")
    namesakes = [each for each in known if each.name == name] or known
    sizes = {each.total_bytes for each in namesakes}
    return sizes.pop() if len(sizes) == 1 else None
