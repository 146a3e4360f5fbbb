"""Values that are NaN or infinite, however deep they lie: in arrays of NumPy and in columns of Arrow.

Covers: fields and sub-arrays of structured types, arrays of any length in HDF5; lists, structs, maps, dictionaries, run ends and
extension types of Arrow; half floats. Nothing is computed for types that hold no floats.
Does not cover: unions, whose values may belong to another member.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from crashcart.probe.file_lacking import library


def dtype_holds_floats(dtype: Any) -> bool:
    """Whether values of this type may be NaN."""
    if dtype.subdtype is not None:
        return dtype_holds_floats(dtype.base)
    if dtype.names:
        return any(dtype_holds_floats(dtype[name]) for name in dtype.names)
    loose = (dtype.metadata or {}).get("vlen")  # what h5py calls arrays of any length
    return dtype.kind in "fc" or (hasattr(loose, "subdtype") and dtype_holds_floats(loose))


def not_finite(values: Any) -> tuple[int, int]:
    """How many values are not finite, and the first element that holds one (0 where there is none)."""
    numpy = library("numpy")
    values = numpy.atleast_1d(values)
    count, first = 0, len(values)
    for part, start in _float_parts(numpy, values):
        bad = ~numpy.isfinite(part)
        if found := int(bad.sum()):
            count += found
            inside = int(bad.reshape(len(part), -1).any(axis=1).argmax()) if start is None else start
            first = min(first, inside)
    return count, first if count else 0


def _float_parts(numpy: Any, values: Any) -> Iterator[tuple[Any, int | None]]:
    """Arrays of floats, and the element that each belongs to; None where each element has its row in it."""
    if values.dtype.names:
        for name in values.dtype.names:
            yield from _float_parts(numpy, values[name])
    elif values.dtype.kind in "fc":
        yield values, None
    elif values.dtype.kind == "O":
        for at, each in enumerate(values.ravel()):
            if isinstance(each, numpy.ndarray):
                yield from ((part, at) for part, _ in _float_parts(numpy, each))


def column_holds_floats(kind: Any) -> bool:
    """Whether a column of this type may hold NaN."""
    types = library("pyarrow.types", "pyarrow")
    if types.is_union(kind):
        return False
    if isinstance(kind, library("pyarrow").BaseExtensionType):
        return column_holds_floats(kind.storage_type)
    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return column_holds_floats(kind.value_type)
    if types.is_map(kind):
        return column_holds_floats(kind.item_type)
    return bool(types.is_floating(kind)) or any(
        column_holds_floats(kind.field(number).type) for number in range(kind.num_fields)
    )


def column_not_finite(column: Any) -> int:
    """How many values of a column are not finite."""
    compute, types = library("pyarrow.compute", "pyarrow"), library("pyarrow.types", "pyarrow")
    if not column_holds_floats(column.type):
        return 0
    if types.is_floating(column.type):
        if types.is_float16(column.type):  # few functions know it
            column = column.cast(library("pyarrow").float32())
        finite = compute.sum(compute.is_finite(column)).as_py() or 0
        return len(column) - int(column.null_count) - int(finite)
    return sum(column_not_finite(child) for child in _children(column, compute, types))


def _children(column: Any, compute: Any, types: Any) -> Iterator[Any]:
    """What a column holds inside, without what lies outside of its own rows."""
    if hasattr(column, "storage"):
        yield column.storage
    elif types.is_dictionary(column.type):
        yield column.dictionary_decode()
    elif types.is_run_end_encoded(column.type):
        yield compute.run_end_decode(column)
    elif types.is_map(column.type):
        first, last = column.offsets[0].as_py(), column.offsets[-1].as_py()
        yield column.items.slice(first, last - first)
    elif types.is_struct(column.type):
        yield from column.flatten()
    else:
        yield column.flatten()
