"""The head and the tail of what a run wrote to stdout and stderr, in one preallocated file.

Covers: creating the file before the program starts, and reading it whenever, even after the program was killed.
Does not cover: writing to it; the preloaded library does that from inside each process. The layout is described in
`record/native/recorder.h`, and the constants here are the same.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from pathlib import Path

_MAGIC = b"CCOUTPUT"
_VERSION = 1
_STREAMS = 2
_HEADER = struct.Struct("<8sII")
_STREAM = struct.Struct("<QQQQ")
_DATA_OFFSET = 4096
"""The data begin on a page of their own."""
_LONGEST_BYTES = 1 << 30
"""A file that claims more than this is not one of ours."""


@dataclass(frozen=True, slots=True)
class OutputTail:
    """The first and the last bytes of one stream, and how many are missing between them."""

    head: bytes
    tail: bytes
    dropped_bytes: int


def create_output(path: Path, head_bytes: int = 16384, ring_bytes: int = 65536) -> None:
    """Create the file at its full size, so that no write into its mapping can fail for want of disk."""
    if head_bytes < 0 or ring_bytes <= 0:
        raise ValueError(f"received a head of {head_bytes} and a ring of {ring_bytes} bytes; expected a ring above 0")
    stream_bytes = head_bytes + ring_bytes
    header = _HEADER.pack(_MAGIC, _VERSION, _STREAMS) + b"".join(
        _STREAM.pack(_DATA_OFFSET + stream * stream_bytes, head_bytes, ring_bytes, 0) for stream in range(_STREAMS)
    )
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        os.posix_fallocate(descriptor, 0, _DATA_OFFSET + _STREAMS * stream_bytes)
        os.pwrite(descriptor, header, 0)
    finally:
        os.close(descriptor)


def read_output(path: Path) -> tuple[OutputTail, OutputTail] | None:
    """What stdout and stderr hold; None where there is no such file, or it is foreign or damaged."""
    try:
        with path.open("rb") as file:
            content = file.read(_LONGEST_BYTES)
    except OSError:
        return None
    if len(content) < _HEADER.size + _STREAMS * _STREAM.size:
        return None
    if _HEADER.unpack_from(content) != (_MAGIC, _VERSION, _STREAMS):
        return None
    stdout, stderr = (_read_stream(content, stream) for stream in range(_STREAMS))
    return None if stdout is None or stderr is None else (stdout, stderr)


def _read_stream(content: bytes, stream: int) -> OutputTail | None:
    offset, head_bytes, ring_bytes, position = _STREAM.unpack_from(content, _HEADER.size + stream * _STREAM.size)
    data = content[offset : offset + head_bytes + ring_bytes]
    if ring_bytes == 0 or len(data) < head_bytes + ring_bytes:
        return None
    head, ring = data[: min(position, head_bytes)], data[head_bytes:]
    in_ring = max(0, position - head_bytes)
    if in_ring <= ring_bytes:
        return OutputTail(head, ring[:in_ring], 0)
    oldest = in_ring % ring_bytes
    return OutputTail(head, ring[oldest:] + ring[:oldest], in_ring - ring_bytes)
