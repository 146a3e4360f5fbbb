"""The outline of a JPEG file in Python: its chain of markers, up to the end.

Covers: lengths of all segments, one frame, at least one scan, stuffing and restarts inside of the data, the end marker, long runs
of zeros. For where the native walk was not built (`native_files/`, which also looks into the segments).
Does not cover: saying what is wrong. A file that is not perfect here is checked as a whole.
"""

from __future__ import annotations

import re

_SOF = frozenset({0xC0, 0xC1, 0xC2})
_FRAMES = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8})
_PLAIN = frozenset({0xDB, 0xC4, 0xDD, 0xFE, *range(0xE0, 0xF0)})
_MARKER = re.compile(rb"\xff[^\x00]")
_ZEROS = bytes(64)


def outline_end(data: bytes) -> int | None:
    """The byte after the end marker, where everything before it is in its place; else None."""
    at, frames, scans = 2, 0, 0
    while at + 4 <= len(data) and data[at] == 0xFF:
        marker, end = data[at + 1], at + 2 + int.from_bytes(data[at + 2 : at + 4], "big")
        if marker == 0xDA:
            scans += 1
            after = _data_end(data, end)
            if after is None or not frames:
                return None
            at = after
        elif marker in _SOF or marker in _PLAIN:
            frames += marker in _SOF
            at = max(end, at + 4)
        else:
            break
    ended = data[at : at + 2] == b"\xff\xd9" and frames == 1 and scans > 0
    return at + 2 if ended else None


def ends_in_header(data: bytes) -> bool:
    """Whether the file ends before the data of a picture begins, and every segment up to there is in its place."""
    at = 2
    while at + 4 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if marker == 0xFF:  # fill bytes
            at += 1
        elif marker in _PLAIN or marker in _FRAMES or marker == 0xDA:
            at += 2 + max(2, int.from_bytes(data[at + 2 : at + 4], "big"))
            if marker == 0xDA:
                return at > len(data)
        else:
            return False
    return at + 4 > len(data) and data[at : at + 1] in (b"", b"\xff")


def _data_end(data: bytes, at: int) -> int | None:
    """The marker after the data of a scan; None where there is none, or restarts are not in their order."""
    for restarts, found in enumerate(_MARKER.finditer(data, at)):
        end = found.start()
        if data[end + 1] != 0xD0 + restarts % 8:
            return None if data.find(_ZEROS, at, end) >= 0 else end
    return None
