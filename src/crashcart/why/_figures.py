"""Figures in messages: shapes, types, sizes, what a device had free.

Covers: TensorFlow's, PyTorch's, JAX's and NumPy's ways to print them. A figure that is not there is None.
Does not cover: what the figures mean (the rules).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from crashcart.evidence import Event, GpuDevice, Log
from crashcart.units import GIB, KIB, MIB, duration, size
from crashcart.why._guarded import gpu_warnings

_SHAPE = re.compile(
    r"\[\s*(?:\d+|\?|None)(?:\s*,\s*(?:\d+|\?|None))*\s*,?\s*\]|\(\s*(?:\d+|\?|None)?\s*(?:,\s*(?:\d+|\?"
    r"|None)\s*)*,?\s*\)"
)
_ALLOCATED_SHAPE = re.compile(r"shape\s?[\[(]([\d,\s]+)[\])]")
_TYPE_BYTES = {
    "float": 4, "double": 8, "half": 2, "bfloat16": 2, "float16": 2, "float32": 4, "float64": 8, "int8": 1, "uint8": 1,
    "int16": 2, "int32": 4, "int64": 8, "bool": 1, "complex64": 8, "complex128": 16,
}  # fmt: skip
_TYPE = re.compile(r"\b(?:type|dtype|data type)\s*=?\s*(\w+)")
_UNITS = {"b": 1, "kb": KIB, "k": KIB, "kib": KIB, "mb": MIB, "m": MIB, "mib": MIB, "gb": GIB, "g": GIB, "gib": GIB}
_UNITS |= {"tib": 1024 * GIB, "t": 1024 * GIB, "tb": 1024 * GIB, "bytes": 1, "byte": 1}
_AMOUNT = r"(\d+(?:[.,]\d+)*)\s?([KMGT]i?B?|B|bytes)\b"
_EXACT = re.compile(r"\((\d{3,})\s?(?:B|bytes)\)|allocate (\d{3,}) bytes|allocating (\d{3,}) bytes")
_REQUEST = re.compile(rf"(?:allocate|allocating|request for)\s(?:request for )?{_AMOUNT}", re.IGNORECASE)
_FREE_AT_START = re.compile(rf"free ?memory:\s*{_AMOUNT}", re.IGNORECASE)
_TOTAL_AT_START = re.compile(rf"total ?memory:\s*{_AMOUNT}", re.IGNORECASE)
_TORCH_TOTAL = re.compile(rf"{_AMOUNT} total capacity|total capacity of {_AMOUNT}")
_TORCH_FREE = re.compile(rf"{_AMOUNT} free|{_AMOUNT} is free")
_TORCH_OWN = re.compile(
    rf"{_AMOUNT} (?:reserved in total|cached)|this process has {_AMOUNT} memory in use|{_AMOUNT} already allocated"
)
_STATS = re.compile(rf"^\s*(Limit|InUse|MaxInUse|LargestFreeBlock):\s+{_AMOUNT}\s*$")
TAKEN_BELOW_FRACTION = 0.25
"""An idle card shows nearly all of its memory free (15.66 of 15.89 GiB in a TensorFlow 1.3 log), one that drives a
desktop some hundred MiB less. With less than a quarter free, somebody else holds most of it."""


@dataclass(frozen=True, slots=True)
class Holding:
    """A device that was mostly full before the program asked for anything."""

    total_bytes: int
    free_bytes: int
    own_bytes: int | None
    source: str

    def fact(self) -> str:
        """The figures as a sentence."""
        own = f"; this program itself held {size(self.own_bytes)}" if self.own_bytes is not None else ""
        return f"{self.source}: {size(self.free_bytes)} of {size(self.total_bytes)} were free{own}"


def shapes_in(words: str) -> tuple[str, ...]:
    """The shapes that a text names, in order, each once, as `[32, 10]`."""
    found: dict[str, None] = {}
    for match in _SHAPE.finditer(words):
        parts = re.findall(r"\d+|\?|None", match[0])
        open_range = words[match.end() : match.end() + 1] == ")" and match[0].startswith("[")
        if (parts or match[0] == "()") and not open_range:
            found["[" + ", ".join(parts) + "]"] = None
    return tuple(found)


def allocated_shape(words: str) -> tuple[int, ...] | None:
    """The shape of the tensor or array that could not be allocated."""
    match = _ALLOCATED_SHAPE.search(words)
    numbers = [int(each) for each in re.findall(r"\d+", match[1])] if match else []
    return tuple(numbers) or None


def type_named(words: str) -> str | None:
    """The element type that a message names (`and type float`, `data type float64`)."""
    return next((name for name in _TYPE.findall(words) if name.lower() in _TYPE_BYTES), None)


def requested_bytes(words: str) -> int | None:
    """How much was asked for: as stated, else from shape and type."""
    if match := _EXACT.search(words):
        return int(next(group for group in match.groups() if group))
    if match := _REQUEST.search(words):
        return _bytes(match[1], match[2])
    shape, name = allocated_shape(words), type_named(words)
    if shape is None or name is None:
        return None
    count = 1
    for each in shape:
        count *= each
    return count * _TYPE_BYTES[name.lower()]


def held_by_others(
    words: str,
    log: Log | None,
    gpus: tuple[GpuDevice, ...] | None,
    events: tuple[Event, ...] | None = None,
) -> Holding | None:
    """Whether a device was mostly full without this program: by PyTorch's figures, the start-up lines, NVML, or what the
    guard saw while the program ran."""
    for holding in (_from_torch(words), _from_start_lines(log), *_from_devices(gpus), *_from_guard(events)):
        if holding and _is_taken(holding):
            return holding
    return None


def allocator_stats(log: Log | None) -> str | None:
    """TensorFlow's own account of the device at the refusal (`Stats:`), as one sentence."""
    found: dict[str, int] = {}
    for line in log.lines if log else ():
        match = _STATS.match(line.text)
        if match:
            found[match[1]] = _bytes(match[2], match[3])
    if not {"Limit", "InUse"} <= found.keys():
        return None
    return f"the allocator's account: {size(found['InUse'])} in use of a limit of {size(found['Limit'])}"


def _is_taken(holding: Holding) -> bool:
    used_by_others = holding.total_bytes - holding.free_bytes - (holding.own_bytes or 0)
    return holding.free_bytes < TAKEN_BELOW_FRACTION * holding.total_bytes and used_by_others > holding.total_bytes / 2


def _from_torch(words: str) -> Holding | None:
    total, free, own = (_amount(pattern, words) for pattern in (_TORCH_TOTAL, _TORCH_FREE, _TORCH_OWN))
    if total is None or free is None or own is None:
        return None
    return Holding(total, free, own, "PyTorch's figures at the refusal")


def _from_start_lines(log: Log | None) -> Holding | None:
    total: int | None = None
    for line in log.lines if log else ():
        text = line.text
        if "emory:" not in text:
            continue
        total = _amount(_TOTAL_AT_START, text) or total
        free = _amount(_FREE_AT_START, text)
        if total and free is not None:
            return Holding(total, free, None, f"at the start of the program (line {line.number})")
    return None


def _from_devices(gpus: tuple[GpuDevice, ...] | None) -> Iterator[Holding]:
    for gpu in gpus or ():
        yield Holding(
            gpu.total_bytes, gpu.free_bytes, None, f"at the start of the program, device {gpu.index} ({gpu.name})"
        )


def _from_guard(events: tuple[Event, ...] | None) -> Iterator[Holding]:
    """Only where the driver told this program's own share: without it, what others hold is not known."""
    for event in gpu_warnings(events):
        used, total, own = (event.facts.get(name) for name in ("used_bytes", "total_bytes", "own_bytes"))
        if isinstance(used, int) and isinstance(total, int) and isinstance(own, int):
            device = f"device {event.facts.get('device')} ({event.facts.get('device_name')})"
            yield Holding(total, max(0, total - used), own, f"after {duration(event.at_s)}, {device}")


def _amount(pattern: re.Pattern[str], text: str) -> int | None:
    match = pattern.search(text)
    if match is None:
        return None
    groups = [group for group in match.groups() if group]
    return _bytes(groups[0], groups[1])


def _bytes(number: str, unit: str) -> int:
    return int(float(number.replace(",", "")) * _UNITS[unit.lower()])
