"""The words of a MemoryGuardError: what was asked for, what was left, who holds the memory, what to try.

Covers: reading the guard's figures and this thread's refusal, and saying them.
Does not cover: raising (`_crashcart_guard`). Standard library only.
"""

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:  # `typing` itself costs 5 ms
    from typing import Any

_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Where in the shared file: see guard/shared.py.
REFUSALS, REFUSAL_BYTES, MOST_REFUSALS = 96, 64, 16
LIMIT_FACTS, FACTS_BYTES = 8192, 1024
RECENT_NS = 2_000_000_000
_KILLING = ("container limit", "container limit, with swap", "the machine's memory")
_HALVES = {"float64": "float32", "int64": "int32", "complex128": "complex64"}


def read_part(path: str, offset: int, count: int) -> bytes:
    """Bytes of the shared file."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.pread(handle, count, offset)
    finally:
        os.close(handle)


def facts_of(part: bytes) -> dict[str, Any]:
    """Lines of a name, a blank and a value: whole numbers, or words. None of them while they are being written."""
    facts: dict[str, Any] = {}
    for line in part.rstrip(b"\0").decode("utf-8", "replace").splitlines():
        name, _, text = line.partition(" ")
        facts[name] = int(text) if text.isdigit() else text
    return facts if facts.get("number") == facts.get("end") else {}


def refusal_of(shared_file: str, tid: int | None) -> tuple[int, int] | None:
    """Size asked for and bytes left, of this thread's refusal just now, or of any thread's."""
    table = read_part(shared_file, REFUSALS, MOST_REFUSALS * REFUSAL_BYTES)
    records = [_numbers(table[at : at + REFUSAL_BYTES]) for at in range(0, len(table), REFUSAL_BYTES)]
    fresh_ns = time.monotonic_ns() - RECENT_NS
    ours = [
        each
        for each in records
        if each[0] and each[3] >= fresh_ns and each[4] == os.getpid() and tid in (None, each[5])
    ]
    if not ours:
        return None
    _, size, left, *_ = max(ours)
    return size, left


def _numbers(record: bytes) -> tuple[int, ...]:
    """Number, size, left, time, process and thread of a refusal; `struct` would have to be imported."""
    widths = ((0, 8), (8, 8), (16, 8), (24, 8), (32, 4), (36, 4))
    return tuple(int.from_bytes(record[at : at + width], "little", signed=at > 0) for at, width in widths)


def of_refusal(shared_file: str, refusal: tuple[int, int], array: tuple[Any, ...], frames: list[Any]) -> str:
    """For a request that was refused; `array` is the shape and type of what it was for, where that is known."""
    size, left = refusal
    limit = facts_of(read_part(shared_file, LIMIT_FACTS, FACTS_BYTES))
    left = max(0, left + limit["reserve_bytes"])
    whole = f"{_size(limit['limit_bytes'])} ({limit['source']})"
    lines = [f"this line asked for {_size(size)}, {_size(left)} are left of {whole}"]
    if size <= left:
        lines = [f"this line asked for {_size(size)}, and of {whole} only a reserve of {_size(left)} is left"]
    if len(array) == 2:
        lines.append(f"  for an array of shape {tuple(array[0])} and type {array[1]}")
        if limit["source"] in _KILLING:
            lines.append("  without the guard, the kernel would have killed the program while it was being filled")
    lines += _held(frames)
    lines.append(f"  try {_advice(array)}")
    return "\n".join(lines)


def _advice(array: tuple[Any, ...]) -> str:
    kind = str(array[1]) if len(array) == 2 else ""
    if kind in _HALVES:
        return f"dtype={_HALVES[kind]} (half the size), or work in parts that fit"
    return "working in parts that fit, or del what is no longer needed"


def of_growth(request: dict[str, Any], frames: list[Any]) -> str:
    """For memory that ran out while objects grew, from the figures of the guard's request."""
    used, limit = _size(request["used_bytes"]), _size(request["limit_bytes"])
    lines = [f"memory ran out at this line: {used} of {limit} ({request['source']}) in use"]
    if request.get("zero_bytes"):
        lines = [
            f"more is being filled than memory can hold: {_size(request['zero_bytes'])} of it are on disk, which is slow"
        ]
        lines.append(f"  {used} of {limit} ({request['source']}) in use")
    elif request.get("airbag_bytes"):
        lines[0] += f", and {_size(request['airbag_bytes'])} more on disk"
    if request.get("seconds_left") and request["source"] in _KILLING:
        lines.append(
            f"  without the guard, the kernel would have killed the program in about {request['seconds_left']} s"
        )
    lines += _held(frames)
    lines.append("  try keeping less: work in parts, or write results to disk as they come")
    return "\n".join(lines)


def _held(frames: list[Any]) -> list[str]:
    """The largest named objects, a line of them."""
    try:
        survey = holders().survey(frames[:60])
        largest = [each for each in survey["holders"] if each["bytes"] >= 1 << 20][:3]
    except Exception:
        return []
    if not largest:
        return []
    return ["  held: " + ", ".join(f"{each['name']} {_size(each['bytes'])}" for each in largest)]


def holders() -> Any:
    """The recorder's survey of named objects."""
    hook: Any = sys.modules["_crashcart_hook"]
    return hook._load("_crashcart_holders", os.path.join(_PACKAGE, "record", "inside", "_crashcart_holders.py"))


def _size(count: float) -> str:
    for unit, factor in (("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if abs(count) >= factor:
            value = count / factor
            return f"{value:.{2 if value < 10 else 1 if value < 100 else 0}f} {unit}"
    return f"{count:.0f} B"
