"""Parquet, Arrow and Feather files: every column of every row group or batch read with pyarrow.

Covers: footer and metadata, page checksums where there are any, values that cannot be decoded, NaN and infinite values
(nested ones, too), labels outside of the classes; one batch of rows is held at a time.
Does not cover: bits flipped inside of uncompressed pages without checksums: such values are as plausible as any.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from crashcart.probe.file_content import Content, Faults
from crashcart.probe.file_finite import column_not_finite
from crashcart.probe.file_lacking import library
from crashcart.probe.file_schema import label_among, outside_words
from crashcart.sound import ODD, UNCHECKED, Wanted

_MESSAGE = b"\xff\xff\xff\xff"
_STREAM_END = _MESSAGE + bytes(4)
_BATCH_ROWS, _BATCH_BYTES = 16_384, 16 << 20
_ASKED = re.compile(r"of size (\d+) failed")
_NO_SUCH_MEMORY = 1 << 47
"""More than a process can address: a length that is broken, whatever the machine has."""
MOST_COLUMNS_TOLD = 256


def check_parquet(content: Content, faults: Faults, wanted: Wanted) -> dict[str, Any]:
    """All row groups of a Parquet file."""
    library("pyarrow")
    parquet = library("pyarrow.parquet", "pyarrow")
    file = content.seekable()
    size_bytes = file.seek(0, 2)
    file.seek(max(0, size_bytes - 4))
    last = file.read(4)
    if last not in (b"PAR1", b"PARE") or size_bytes < 12:
        faults.add("truncated", "no Parquet footer at the end", f"byte {size_bytes}")
        return {}
    if last == b"PARE":
        faults.add("not-checked", "parquet: encrypted as a whole; it needs its key", weight=UNCHECKED)
        return {}
    file.seek(0)

    def batches() -> Iterator[Any]:
        opened = parquet.ParquetFile(_opened(content, file), page_checksum_verification=True)
        yield opened.schema_arrow
        if not wanted.quick:
            yield from opened.iter_batches(_batch_rows(opened.metadata), use_threads=False)

    return _read(batches, faults, wanted)


def _batch_rows(metadata: Any) -> int:
    """As many rows as make up `_BATCH_BYTES` in the row group whose rows are the largest."""
    groups = (metadata.row_group(number) for number in range(metadata.num_row_groups))
    row_bytes = max((group.total_byte_size // max(1, group.num_rows) for group in groups), default=0)
    return max(1, min(_BATCH_ROWS, _BATCH_BYTES // max(1, row_bytes)))


def check_arrow(content: Content, faults: Faults, wanted: Wanted) -> dict[str, Any]:
    """All batches of an Arrow file or stream."""
    library("pyarrow")
    ipc = library("pyarrow.ipc", "pyarrow")
    file = content.seekable()
    if not content.head.startswith(b"ARROW1"):
        return _check_stream(ipc, content, file, faults, wanted)
    size_bytes = file.seek(0, 2)
    file.seek(max(0, size_bytes - 6))
    if file.read(6) != b"ARROW1":
        faults.add("truncated", "no Arrow footer at the end", f"byte {size_bytes}")
        return {}
    file.seek(0)

    def batches() -> Iterator[Any]:
        opened = ipc.open_file(_opened(content, file))
        yield opened.schema
        if not wanted.quick:
            yield from (opened.get_batch(number) for number in range(opened.num_record_batches))

    return _read(batches, faults, wanted)


def _check_stream(ipc: Any, content: Content, file: Any, faults: Faults, wanted: Wanted) -> dict[str, Any]:
    ends: list[int] = []

    def batches() -> Iterator[Any]:
        source = _opened(content, file)
        opened = ipc.open_stream(source)
        yield opened.schema
        if not wanted.quick:
            yield from opened
            ends.append(source.tell())

    facts = _read(batches, faults, wanted)
    if ends:
        _stream_end(file, ends[0], content.head.startswith(_MESSAGE), faults)
    return facts


def _stream_end(file: Any, end: int, marked: bool, faults: Faults) -> None:
    """Where the reader stopped. It takes zeros in place of a message, and the end of the file, for the end without a word.

    Writers may leave the end mark out. In streams of old (not `marked`), zeros are the end mark."""
    size_bytes = file.seek(0, 2)
    file.seek(max(0, end - len(_STREAM_END)))
    last = file.read(min(end, len(_STREAM_END)))
    file.seek(0)
    if last == _STREAM_END or (not marked and not any(last[-4:])):
        if end < size_bytes:
            faults.add("trailing-bytes", f"{size_bytes - end} bytes follow after the stream", f"byte {end}", ODD)
    elif end < size_bytes:
        detail = "zeros where a message should begin; readers stop there, without a word"
        faults.add("zero-filled", detail, f"byte {end - 4}")
    else:
        faults.add("truncated", "no end mark: the writer may not have finished", f"byte {size_bytes}", ODD)


def check_feather(content: Content, faults: Faults, wanted: Wanted) -> dict[str, Any]:
    """Feather of the first version; the second is an Arrow file."""
    if content.head.startswith(b"ARROW1"):
        return check_arrow(content, faults, wanted)
    library("pyarrow")
    feather = library("pyarrow.feather", "pyarrow")
    data = content.whole()
    if not data.endswith(b"FEA1"):
        faults.add("truncated", "no Feather footer at the end", f"byte {len(data)}")
        return {}

    def batches() -> Iterator[Any]:
        table = feather.read_table(library("pyarrow").BufferReader(data))
        yield table.schema
        yield from table.to_batches()

    return _read(batches, faults, wanted)


def _opened(content: Content, file: Any) -> Any:
    """By pyarrow's own reader where the file is here: faster than calls back into Python."""
    return library("pyarrow").OSFile(content.local) if content.local is not None else file


def _read(batches: Any, faults: Faults, wanted: Wanted) -> dict[str, Any]:
    arrow = library("pyarrow")
    columns: dict[str, str] = {}
    seen = _Seen(faults, wanted)
    rows = 0
    try:
        parts = batches()
        schema = next(parts)
        columns = {field.name: str(field.type) for field in list(schema)[:MOST_COLUMNS_TOLD]}
        for batch in parts:
            batch.validate(full=True)
            seen.batch(batch, rows)
            rows += batch.num_rows
    except MemoryError as error:
        asked = _ASKED.search(str(error))
        if asked is None or int(asked[1]) < _NO_SUCH_MEMORY:
            raise
        faults.add("not-decodable", f"a length of {asked[1]} bytes", f"row {rows}")
    except (arrow.ArrowException, OSError, ValueError, KeyError, IndexError, UnicodeDecodeError, TypeError) as error:
        words = " ".join(str(error).split())[:200] or type(error).__name__
        if unread := _not_read_here(error, words):
            faults.add("not-checked", unread, weight=UNCHECKED)
            return {"rows": rows, "columns": columns}
        crc = "crc" in words.lower() or "checksum" in words.lower()
        cut = any(
            word in words.lower()
            for word in ("truncated", "end of stream", "eof", "expected to be able to read", "but only read")
        )
        faults.add("crc-mismatch" if crc else "truncated" if cut else "not-decodable", words, f"row {rows}")
    seen.judge()
    return {"rows": rows, "columns": columns, **seen.facts()}


def _not_read_here(error: Exception, words: str) -> str | None:
    """Why a file that may well be whole is not read here; None where the error speaks of damage."""
    if "decrypt" in words.lower():
        return f"encrypted columns need their key: {words}"
    if isinstance(error, library("pyarrow").ArrowNotImplementedError) or "not yet implemented" in words.lower():
        return f"pyarrow, as it is installed here, does not read this kind: {words}"
    return None


class _Seen:
    """Values that are not finite, and the range of the labels."""

    def __init__(self, faults: Faults, wanted: Wanted) -> None:
        self._faults, self._wanted = faults, wanted
        self._compute = library("pyarrow.compute", "pyarrow")
        self._types = library("pyarrow.types", "pyarrow")
        self._label: str | None = None
        self._low: int | None = None
        self._high: int | None = None
        self._outside = 0

    def batch(self, batch: Any, rows: int) -> None:
        columns = list(zip(batch.schema.names, batch.columns, strict=True))
        label = label_among((name for name, each in columns if self._types.is_integer(each.type)), self._wanted.label)
        for name, column in columns:
            if bad := column_not_finite(column):
                detail = f"column {name!r} holds NaN or infinite values"
                self._faults.add("nan", detail, f"rows from {rows} on", ODD, bad)
            if name == label and self._types.is_integer(column.type):
                self._labels(name, column)

    def _labels(self, name: str, column: Any) -> None:
        found = self._compute.min_max(column).as_py()
        if found["min"] is None:
            return
        self._label = name
        self._low = found["min"] if self._low is None else min(self._low, found["min"])
        self._high = found["max"] if self._high is None else max(self._high, found["max"])
        classes = self._wanted.classes
        if classes is not None and (found["min"] < 0 or found["max"] >= classes):
            pc = self._compute
            self._outside += pc.sum(pc.or_(pc.less(column, 0), pc.greater_equal(column, classes))).as_py() or 0

    def judge(self) -> None:
        if self._outside:
            detail = outside_words(self._outside, self._label, self._wanted.classes, self._low, self._high)
            self._faults.add("label-out-of-range", detail, count=self._outside)

    def facts(self) -> dict[str, Any]:
        return {} if self._low is None else {"label": self._label, "label_min": self._low, "label_max": self._high}
