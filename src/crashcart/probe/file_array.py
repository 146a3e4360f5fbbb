"""NumPy files: header, length, values that are not finite; all arrays of an archive.

Covers: NPY of every version, several arrays in one file, NPZ with the checksums of its members; read in blocks. Arrays
of Python objects are never loaded: that would run code from the file.
Does not cover: whether finite values are right; zeros in the middle of an array may be meant.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from tokenize import TokenError
from typing import Any, BinaryIO

from crashcart.probe.file_archive import drained, walk_zip
from crashcart.probe.file_content import BLOCK_BYTES, Content, Faults
from crashcart.probe.file_finite import dtype_holds_floats, not_finite
from crashcart.probe.file_lacking import library
from crashcart.probe.file_schema import LABELS, outside_words, widen
from crashcart.probe.file_source import BrokenError
from crashcart.sound import ODD, UNCHECKED, Wanted

_MAGIC = b"\x93NUMPY"
# What the parser of headers raises: a header is a Python literal.
_HEADER_ERRORS = (
    ValueError, EOFError, SyntaxError, TypeError, TokenError, MemoryError, RecursionError, LookupError, ArithmeticError,
)  # fmt: skip
MOST_ARRAYS_TOLD = 100


def check_npy(content: Content, faults: Faults, wanted: Wanted) -> dict[str, Any]:
    """One array after the other, until the file ends."""
    file = content.seekable()
    arrays = [_array(file, faults, wanted, PurePosixPath(content.path).stem, None)]
    while not faults.any_damage and not wanted.quick:
        start = file.read(len(_MAGIC))
        file.seek(-len(start), 1)
        if start != _MAGIC:
            break
        arrays.append(_array(file, faults, wanted, "", None))
    rest = 0
    if not faults.any_damage and not wanted.quick:
        while block := file.read(BLOCK_BYTES):
            rest += len(block)
    if rest:
        faults.add("trailing-bytes", f"{rest} bytes follow after the array", weight=ODD)
    return arrays[0] if len(arrays) == 1 else {**arrays[0], "arrays": len(arrays)}


def check_npz(content: Content, faults: Faults, wanted: Wanted) -> dict[str, Any]:
    """Every array of an archive."""
    arrays: dict[str, Any] = {}
    labels: dict[str, Any] = {}

    def take(name: str, _: int, opener: Any) -> None:
        inner, key = Faults(), name.removesuffix(".npy")
        try:
            with drained(opener(), wanted.quick) as file:
                facts = _array(file, inner, wanted, key, name)
                while not wanted.quick and file.read(BLOCK_BYTES):
                    pass
        except BrokenError as broken:
            inner.take((broken.fault,))
            facts = {}
        faults.take(inner.all())
        widen(labels, facts)
        if len(arrays) < MOST_ARRAYS_TOLD:
            arrays[key] = {"dtype": facts.get("dtype"), "shape": facts.get("shape")}

    walk_zip(content, faults, wanted, lambda name: None, take)
    return {"arrays": arrays, **labels}


def _array(file: Any, faults: Faults, wanted: Wanted, key: str, member: str | None) -> dict[str, Any]:
    """Header and values of the array that begins here."""
    numpy = library("numpy")
    where = None if member is None else f"member {member}"
    try:
        shape, fortran, dtype = _header(file, numpy)
    except _HEADER_ERRORS as error:
        words = " ".join(str(error).split())[:160]
        cut = "EOF" in words or ("expected" in words.lower() and "got" in words.lower())
        faults.add("truncated" if cut else "not-decodable", f"header: {words}", where)
        return {}
    facts = {"dtype": str(dtype), "shape": list(shape), "fortran_order": fortran}
    if dtype.hasobject:
        faults.add("needs-pickle", f"an array of objects ({dtype}, {list(shape)})", where, UNCHECKED)
        while file.read(BLOCK_BYTES):
            pass
        return facts
    count = 1
    for length in shape:
        count *= length
    if count < 0 or any(length < 0 for length in shape):
        faults.add("not-decodable", f"header: shape {list(shape)}", where)
    elif not wanted.quick:
        facts.update(_values(file, numpy, dtype, count, faults, wanted, key, where))
    elif member is None:
        _quick_length(file, count * dtype.itemsize, faults)
    return facts


def _quick_length(file: Any, needed: int, faults: Faults) -> None:
    start = file.tell()
    there = file.seek(0, 2) - start
    if there < needed:
        faults.add("truncated", f"{needed} bytes of values are needed, {there} are there", f"byte {start + there}")


def _header(file: BinaryIO, numpy: Any) -> tuple[tuple[int, ...], bool, Any]:
    version = numpy.lib.format.read_magic(file)
    if version == (1, 0):
        return numpy.lib.format.read_array_header_1_0(file)  # type: ignore[no-any-return]
    if version in ((2, 0), (3, 0)):
        # The third version only allows more characters in the names of fields.
        return numpy.lib.format.read_array_header_2_0(file)  # type: ignore[no-any-return]
    raise ValueError(f"version {version} is not known")


def _values(
    file: Any, numpy: Any, dtype: Any, count: int, faults: Faults, wanted: Wanted, key: str, where: str | None
) -> dict[str, Any]:
    item = max(1, dtype.itemsize)
    left, at, strange, first = count * dtype.itemsize, 0, 0, 0
    floats, labels = dtype_holds_floats(dtype), Range(numpy, dtype, key, wanted)
    while left:
        block = _read_exactly(file, min(left, max(1, BLOCK_BYTES // item) * item))
        left -= len(block)
        whole = len(block) - len(block) % item
        if whole and (floats or labels.wanted):
            values = numpy.frombuffer(block[:whole], dtype)
            bad, place = not_finite(values) if floats else (0, 0)
            first = at + place if bad and not strange else first
            strange += bad
            labels.see(values, at)
        at += whole // item
        if len(block) < item or len(block) % item or not block:
            break
    if left:
        there = count * dtype.itemsize - left
        faults.add("truncated", f"{count * dtype.itemsize} bytes of values are needed, {there} are there", where)
    if strange:
        of = f" of {count}" if dtype.kind in "fc" else ""
        faults.add("nan", f"{strange}{of} values are NaN or infinite", where or f"value {first}", ODD, strange)
    labels.judge(faults, where)
    return labels.facts()


def _read_exactly(file: Any, count: int) -> bytes:
    block: bytes = file.read(count) or b""
    while block and len(block) < count:
        more = file.read(count - len(block))
        if not more:
            break
        block += more
    return block


def _holds_labels(key: str, wished: str | None) -> bool:
    """Whether an array is the one that was wished for, or bears a usual name; in folders of HDF5, its last part says so."""
    last = key.rsplit("/", 1)[-1]
    if wished is not None:
        return wished.lower().strip("/") in (key, last)
    return last in LABELS or "label" in last


class Range:
    """The range of an array of labels."""

    def __init__(self, numpy: Any, dtype: Any, key: str, wanted: Wanted) -> None:
        self.wanted = _holds_labels(key.lower().strip("/"), wanted.label) and dtype.kind in "iu"
        self._classes, self._numpy, self._key = wanted.classes, numpy, key
        self._low: int | None = None
        self._high: int | None = None
        self._outside = self._first = 0

    def see(self, values: Any, at: int) -> None:
        """Some values, of which the first is number `at`."""
        if not self.wanted or not values.size:
            return
        low, high = int(values.min()), int(values.max())
        self._low = low if self._low is None else min(low, self._low)
        self._high = high if self._high is None else max(high, self._high)
        if self._classes is not None and (low < 0 or high >= self._classes):
            outside = (values < 0) | (values >= self._classes)
            self._first = self._first if self._outside else at + int(outside.argmax())
            self._outside += int(outside.sum())

    def facts(self) -> dict[str, Any]:
        """The range that was met."""
        return {} if self._low is None else {"label": self._key, "label_min": self._low, "label_max": self._high}

    def judge(self, faults: Faults, where: str | None) -> None:
        """Tell labels outside of the classes."""
        if self._outside:
            detail = outside_words(self._outside, self._key, self._classes, self._low, self._high)
            faults.add("label-out-of-range", detail, where or f"value {self._first}", count=self._outside)
