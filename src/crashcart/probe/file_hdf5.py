"""HDF5 files: every data set read, part by part.

Covers: the superblock's own length against the file, groups and links, compressed and check-summed chunks, NaN and
infinite values, labels.
Does not cover: data sets in other files that are linked to (told as not checked), and bits flipped in data without a
checksum; chunks packed by a filter that is not installed here (not checked, with its number).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from crashcart.probe.file_array import Range
from crashcart.probe.file_content import Content, Faults
from crashcart.probe.file_finite import dtype_holds_floats, not_finite
from crashcart.probe.file_lacking import LackingError, library
from crashcart.probe.file_schema import widen
from crashcart.sound import DAMAGE, ODD, UNCHECKED, Wanted

_PART_BYTES = 16 << 20
_LOOSE_VALUES = 256
"""Strings and arrays of any length lie outside of their data set, which holds 16 bytes for each: so many are read at a time."""
MOST_DATASETS_TOLD = 200
_ERRORS = (OSError, RuntimeError, KeyError, ValueError, TypeError, UnicodeDecodeError)

_FILTERS = {
    307: "bzip2", 32000: "LZF", 32001: "Blosc", 32004: "LZ4", 32008: "bitshuffle", 32013: "ZFP", 32015: "Zstandard", 32017: "SZ",
    32026: "Blosc2",
}  # fmt: skip
_FILTERS_COME_BY = "the package hdf5plugin brings the usual ones"


def check_hdf5(content: Content, faults: Faults, wanted: Wanted) -> dict[str, Any]:
    """All data sets of the file."""
    h5py = library("h5py")
    datasets: dict[str, Any] = {}
    labels: dict[str, Any] = {}
    count = 0
    try:
        # Without a lock: a program that writes it, or a file system without locks, says nothing against what it holds.
        place = content.local if content.local is not None else content.seekable()
        with h5py.File(place, "r", rdcc_nbytes=_PART_BYTES, locking=False) as opened:
            for name, dataset in _datasets(h5py, opened, faults):
                count += 1
                kind = _kind(name, dataset, faults)
                if len(datasets) < MOST_DATASETS_TOLD:
                    datasets[name] = [kind, list(dataset.shape or ())]
                if wanted.quick:
                    _packed_otherwise(name, dataset, faults)
                elif kind is not None:
                    widen(labels, _read(name, dataset, faults, wanted))
    except _ERRORS as error:
        words = _words(error)
        faults.add("truncated" if "truncated" in words else "not-decodable", words)
    return {"datasets": datasets, "datasets_count": count, **labels}


def _datasets(h5py: Any, opened: Any, faults: Faults) -> Iterator[tuple[str, Any]]:
    """Each data set once, however many links lead to it."""
    left, seen = [("", opened)], set()
    while left:
        prefix, group = left.pop()
        for key in group:
            name = f"{prefix}/{key}"
            link = group.get(key, getlink=True)
            if isinstance(link, h5py.ExternalLink):
                faults.add("not-checked", f"{name!r} lies in another file ({link.filename!r})", name, UNCHECKED)
                continue
            try:
                found = group[key]
            except _ERRORS as error:
                weight = ODD if isinstance(link, h5py.SoftLink) else DAMAGE
                faults.add("not-decodable", f"{name!r}: {_words(error)}", name, weight)
                continue
            mark = h5py.h5o.get_info(found.id).addr
            if mark in seen:
                continue
            seen.add(mark)
            if isinstance(found, h5py.Group):
                left.append((name, found))
            elif isinstance(found, h5py.Dataset):
                yield name, found


def _kind(name: str, dataset: Any, faults: Faults) -> str | None:
    """The type of the values; None, and told, where NumPy has none that is like it."""
    try:
        return str(dataset.dtype)
    except TypeError as error:
        faults.add("not-checked", f"data set {name!r}: {_words(error)}", name, UNCHECKED)
        return None


def _read(name: str, dataset: Any, faults: Faults, wanted: Wanted) -> dict[str, Any]:
    """Every value; the range of the labels, where it holds these."""
    numpy = library("numpy")
    strange, floats = 0, dtype_holds_floats(dataset.dtype)
    labels = Range(numpy, dataset.dtype, name, wanted)
    if _lacking_filters(dataset):
        with contextlib.suppress(LackingError):
            library("hdf5plugin")  # it registers its filters when it is imported
    try:
        for part in _parts(dataset):
            values = dataset[part]
            if floats:
                strange += not_finite(values)[0]
            labels.see(values, 0)
    except _ERRORS as error:
        _failed(name, dataset, error, faults)
        return {}
    if strange:
        of = f" of {dataset.size}" if dataset.dtype.kind in "fc" else ""
        faults.add("nan", f"{strange}{of} values of {name!r} are NaN or infinite", name, ODD, strange)
    labels.judge(faults, name)
    return labels.facts()


def _failed(name: str, dataset: Any, error: Exception, faults: Faults) -> None:
    """What an error in the middle of a data set says of it."""
    words = _words(error)
    if "memory allocation failed" in words:
        faults.add("too-large", f"data set {name!r}: {words}", name, UNCHECKED)
    elif dataset.external:
        faults.add("not-checked", f"data set {name!r} lies in another file: {words}", name, UNCHECKED)
    elif not _packed_otherwise(name, dataset, faults):
        crc = "fletcher32" in words.lower() or "checksum" in words.lower()
        faults.add("crc-mismatch" if crc else "not-decodable", f"data set {name!r}: {words}", name)


def _packed_otherwise(name: str, dataset: Any, faults: Faults) -> bool:
    """Whether a data set is packed by a filter that is not here; it is told."""
    lacking = _lacking_filters(dataset)
    if lacking and dataset.id.get_storage_size():
        detail = f"data set {name!r} is packed by {lacking}, which is not installed here; {_FILTERS_COME_BY}"
        faults.add("not-checked", detail, name, UNCHECKED)
    return bool(lacking)


def _lacking_filters(dataset: Any) -> str:
    """The filters of a data set that this HDF5 does not have; empty where it has all."""
    h5z, plan = library("h5py").h5z, dataset.id.get_create_plist()
    filters = (plan.get_filter(number) for number in range(plan.get_nfilters()))
    lacking = [_filter_words(code, name) for code, _, _, name in filters if not h5z.filter_avail(code)]
    return " and ".join(lacking)


def _filter_words(code: int, name: bytes) -> str:
    named = name.decode("utf-8", "replace").partition(";")[0].strip() or _FILTERS.get(code, "")
    return f"filter {code} ({named})" if named else f"filter {code}"


def _parts(dataset: Any) -> Iterator[Any]:
    """What to read at a time: whole chunks, or rows that make up at most `_PART_BYTES`."""
    shape = dataset.shape
    if shape is None:
        return
    if shape and dataset.dtype.hasobject:
        yield from _slices(shape, _LOOSE_VALUES)
        return
    if not shape or dataset.size * max(1, dataset.dtype.itemsize) <= _PART_BYTES:
        yield ()
        return
    if dataset.chunks is not None:
        yield from dataset.iter_chunks()
        return
    yield from _slices(shape, max(1, _PART_BYTES // max(1, dataset.dtype.itemsize)))


def _slices(shape: tuple[int, ...], most_values: int) -> Iterator[tuple[slice, ...]]:
    """Cuts along the first axis; where one row is still too large, along the next."""
    row = 1
    for length in shape[1:]:
        row *= length
    if row > most_values and len(shape) > 1:
        for at in range(shape[0]):
            for rest in _slices(shape[1:], most_values):
                yield (slice(at, at + 1), *rest)
        return
    step = max(1, most_values // max(1, row))
    for at in range(0, shape[0], step):
        yield (slice(at, at + step),)


def _words(error: BaseException) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
