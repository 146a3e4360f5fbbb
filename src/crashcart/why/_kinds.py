"""The kind of failure that a saying states: one order for all rules, so that they never fight over one message.

Covers: memory (host or device, by the allocator that a message names), then the tables and the missing names, the more
specific first.
Does not cover: which of several sayings counts (`_text.py`), and the words of the finding (the rules).
"""

from __future__ import annotations

import re
from dataclasses import replace

from crashcart.why import _wordings, _wordings_code, _wordings_files
from crashcart.why._names import fails_at_import, loads_a_file, missing_name
from crashcart.why._said import Force, Kind, Said, package_of
from crashcart.why._wording import look_up, wording

_CPU_ALLOCATOR = re.compile(
    r"device:cpu:\d+ by allocator (?!\w*(?:bfc|gpu|cuda))\w+|on cpu:\d+ by allocator (?!\w*bfc)\w+"
)
_DEVICE_WORDS = re.compile(r"gpu|cuda|hip\b|_bfc|device:\w*(?:dml|tpu|metal)|\bhbm\b|mps backend|metal|device ordinal")

_HOST_MEMORY = (
    wording(
        Kind.HOST_MEMORY,
        Force.DECISIVE,
        r"pinned host memory|bytes on host: ?cuda_error|(?:cuda|gpu)_host_bfc",
        r"(?<!\w)_?(?:array)?memoryerror\b|unable to allocate .{1,40} for an array",
        r"c error: out of memory|std::bad_alloc|bad allocation|std::length_error.{0,20}vector",
        r"cannot allocate memory|can't allocate memory|\[errno 12\]|cannot allocate vector of size|enomem",
        r"defaultcpuallocator|alloc_cpu\.cpp|memory allocation of \d+ bytes failed|(?:malloc"
        r"|realloc) of size \d+ failed",
        r"failed to map segment from shared object(?!: operation not)|not enough memory: you tried|buy new ram"
        r"|paging file is too small|not enough memory resources"
        r"|insufficient memory|winerror (?:8|14|1455)\b",
        r"node running low on memory|killed due to .{0,40}(?:memory|oom)|worker exceeded \d+% memory",
        r"out of memory while allocating .{0,40}host|unable to mmap .{0,40}bytes|java heap space",
    ),
    wording(
        Kind.HOST_MEMORY,
        Force.HEALTHY,
        r"exceeds \d+% of (?:free )?system memory|tcmalloc: large alloc",
    ),
)
_DEVICE_MEMORY = (
    wording(
        Kind.DEVICE_MEMORY,
        Force.PLAIN,
        r"oom when allocating tensor|cuda out of memory|cuda error: out of memory|hip out of memory"
        r"|mps backend out of memory",
        r"cuda_error_out_of_memory|cudaerrormemoryallocation|cuda runtime error \(2\)|dst tensor is not initialized",
        r"(?<!\w)outofmemoryerror|resource[_ ]?exhausted(?:error)?: .{0,120}(?:out of memory|failed to allocate"
        r"|attempting to (?:allocate|reserve)|ran out of memory)",
        r"out of memory while trying to allocate|ran out of memory (?:trying to allocate|in memory space)",
        r"failed to allocate (?:request for|memory for|\S+ \(\d+ bytes\) from device)"
        r"|allocat\w+ .{0,60}on device ordinal",
        r"(?:bad_alloc|out_of_memory).{0,60}cuda|cuda.{0,60}(?:bad_alloc|out of memory)|gpu.{0,40}out of memory",
    ),
    wording(
        Kind.DEVICE_MEMORY,
        Force.PLAIN,
        r"out of memory(?!: kill)|resourceexhaustederror",
        raised=True,
    ),
)
_RECURSION = (
    wording(
        Kind.RECURSION,
        Force.DECISIVE,
        r"recursionerror|maximum recursion depth exceeded",
        r"cannot recover from stack overflow|windows fatal exception: stack overflow|0xc00000fd|exit code -1073741571",
    ),
)
_REPR = re.compile(r"<[^<>]{0,400}>")
"""A printed tensor names its shape and type, whatever the message is about."""
_DECODER = re.compile(
    r"decode_?(?:image|jpeg|png|gif|bmp|webp|wav|csv|proto|and_?crop)|parse_?(?:single_?)?(?:sequence_?)?example"
)
_IN_A_LOADER = (Kind.SHAPES, Kind.TYPES, Kind.VALUE)


def kind_of(said: Said) -> tuple[Kind, Force] | None:
    """What kind of failure was stated, and how much that settles; None where the words state none."""
    if not said.folded or (said.error is None and _wordings.IGNORED.states(said)):
        return None
    return (
        look_up(_RECURSION, said)
        or look_up(_wordings.LIMITS, said)
        or look_up(_wordings.TAKEN_AT_START, said)
        or _memory(said)
        or look_up(_wordings.LIBRARIES, said)
        or missing_name(said)
        or _exhausted_iterator(said)
        or _absent_device(said)
        or _of_files_and_code(said)
        or _failed_decoder(said)
        or _path_alone(said)
    )


def _of_files_and_code(said: Said) -> tuple[Kind, Force] | None:
    """What the words say about files and the user's own code; at an import no tensors are there that could not fit."""
    found = look_up(_wordings_files.TABLE, said) or _of_own_code(said)
    if fails_at_import(said) and (found is None or found[0] in (*_IN_A_LOADER, Kind.SAVED, Kind.RAN_OUT)):
        return Kind.PACKAGES, Force.PLAIN
    return found


def _memory(said: Said) -> tuple[Kind, Force] | None:
    """Host or device, by the allocator and the device that the message names."""
    if _CPU_ALLOCATOR.search(said.folded):
        return Kind.HOST_MEMORY, Force.DECISIVE
    host = look_up(_HOST_MEMORY, said)
    device = look_up(_DEVICE_MEMORY, said)
    if host and not (device and "cuda" in said.folded and "host" not in said.folded):
        return host
    if device is None or _DEVICE_WORDS.search(said.folded):
        return device
    return device[0], Force.VAGUE


def _exhausted_iterator(said: Said) -> tuple[Kind, Force] | None:
    """StopIteration out of a dataset; out of any other iterator it is a plain Python error."""
    if said.type != "StopIteration" or said.error is None:
        return None
    from_dataset = any(re.search(r"tensorflow.python.data", frame.file) for frame in said.frames)
    chained = any(each.name == "OutOfRangeError" for each in said.error.chain)
    return (Kind.RAN_OUT, Force.PLAIN) if from_dataset or chained else None


def _absent_device(said: Said) -> tuple[Kind, Force] | None:
    """An index into the list of devices, where that list is empty."""
    source = said.frames[-1].source if said.frames else None
    if (
        said.type != "IndexError"
        or not source
        or not re.search(r"(?:gpus?|devices)\w*\s?\[|list_physical_devices", source)
    ):
        return None
    return Kind.DEVICE, Force.PLAIN


def _text_for_a_number(said: Said) -> tuple[Kind, Force] | None:
    """Text in data where an array or a model needs numbers; `float("x")` in plain Python is a plain error."""
    if said.type != "ValueError" or "could not convert string to" not in said.folded:
        return None
    plain = said.frames and not any(package_of(frame) for frame in said.frames)
    return None if plain else (Kind.TYPES, Force.PLAIN)


def _path_alone(said: Said) -> tuple[Kind, Force] | None:
    """TensorFlow's "not found" whose only words are a path."""
    words = said.words.split()
    path = len(words) == 1 and any(mark in words[0] for mark in "/\\.")
    return (Kind.MISSING, Force.PLAIN) if path and said.type in ("NotFoundError", "FileNotFoundError") else None


def _failed_decoder(said: Said) -> tuple[Kind, Force] | None:
    """Whatever a decoder complains about, it is about the bytes that it was given."""
    message = said.message
    names = f"{message.node or ''} {message.op or ''}".lower() if message else ""
    return (Kind.DAMAGED, Force.PLAIN) if _DECODER.search(names) else None


def _of_own_code(said: Said) -> tuple[Kind, Force] | None:
    without_reprs = replace(said, folded=_REPR.sub("", said.folded))
    found = look_up(_wordings_code.TABLE, said) or _text_for_a_number(said)
    found = found or look_up(_wordings_code.FAMILIES, without_reprs)
    in_loader = said.error is not None and loads_a_file(said)
    if found and found[0] in _IN_A_LOADER and in_loader:
        return Kind.SAVED, found[1]
    return found or ((Kind.SAVED, Force.PLAIN) if in_loader and said.type in ("KeyError", "AttributeError") else None)
