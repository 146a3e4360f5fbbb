"""Tables as text (CSV, TSV): as many columns in every row, columns of numbers that hold numbers.

Covers: quoted fields with line ends and delimiters inside, all line ends, commas, semicolons, tabs and bars as
delimiters; tabs with and without quoting; types per column; labels outside of the classes. Rows are held one at a time.
Does not cover: dates, units, thousands separators: such columns are text.
"""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from crashcart.probe.file_content import Faults, TooLargeError
from crashcart.probe.file_schema import label_among, outside_words
from crashcart.sound import ODD, Wanted
from crashcart.units import plural

_DELIMITERS = ",;\t|"
_MOST_FIELD = 16 << 20
"""A quote that is never closed makes a field of all that follows; texts of this length in one field are not known."""
_MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "?", "-", "inf", "-inf", "+inf", "infinity", "-infinity"})
_SURE_ROWS = 1000
_BATCH_ROWS, _BATCH_CHARS = 2048, 4 << 20
_COMMENT = "#"
_MOST_COMMENTS = 100
_MOST_LINE = 4 * _MOST_FIELD
_END = "\ue000crashcart: no more lines"
_RARE = 0.01
"""A column is of numbers where at most so many of its values are not; what is more often is meant."""


class Labels:
    """The range of the labels, and those outside of the classes."""

    def __init__(self, wanted: Wanted, unit: str) -> None:
        self.wished = wanted.label
        self.name: str | None = None
        """The one that holds them, where it is known."""
        self._classes, self._unit = wanted.classes, unit
        self._low: int | None = None
        self._high: int | None = None
        self._outside = 0
        self._first: int | None = None

    def see(self, value: Any, number: int) -> None:
        """One label; what is no whole number is not one."""
        if isinstance(value, str):
            try:
                value = float(value)
            except ValueError:
                return
        if (
            isinstance(value, bool)
            or not isinstance(value, (int, float))
            or value != value
            or abs(value) == float("inf")
        ):
            return
        if int(value) != value:
            return
        value = int(value)
        self._low = value if self._low is None else min(self._low, value)
        self._high = value if self._high is None else max(self._high, value)
        if self._classes is not None and not 0 <= value < self._classes:
            self._first = number if self._first is None else self._first
            self._outside += 1

    def facts(self) -> dict[str, Any]:
        """The range that was met."""
        return {} if self._low is None else {"label": self.name, "label_min": self._low, "label_max": self._high}

    def judge(self, faults: Faults) -> None:
        """Labels outside of the classes are damage: a loss function fails on them, or learns nothing."""
        if self._outside:
            detail = outside_words(self._outside, self.name, self._classes, self._low, self._high)
            faults.add("label-out-of-range", detail, f"{self._unit} {self._first}", count=self._outside)


class _Column:
    """What the cells of one column are. Cells come in batches: turning many into numbers at once is several times as fast."""

    __slots__ = ("first_other", "numbers", "others", "text", "whole")

    def __init__(self) -> None:
        self.numbers = self.others = 0
        self.first_other: tuple[int, str] | None = None
        self.text = False
        self.whole = True

    def see(self, cells: Sequence[str], numbers: Sequence[int]) -> None:
        """The cells of some rows, and the numbers of these rows."""
        try:
            values = list(map(float, cells))
        except ValueError:
            for cell, number in zip(cells, numbers, strict=True):
                self._one(cell, number)
        else:
            self.numbers += len(values)
            self.whole = self.whole and all(map(float.is_integer, values))

    def _one(self, cell: str, number: int) -> None:
        if self.text:
            return
        try:
            value = float(cell)
        except ValueError:
            if cell.strip().lower() not in _MISSING:
                self.others += 1
                self.first_other = self.first_other or (number, cell)
                self.text = self.others + self.numbers >= _SURE_ROWS and self.others > self.numbers
        else:
            self.numbers += 1
            self.whole = self.whole and value.is_integer()

    @property
    def kind(self) -> str:
        if self.text or self.others > self.numbers * _RARE:
            return "text"
        return "empty" if not self.numbers else "int" if self.whole else "float"


class _Table:
    def __init__(self, faults: Faults, wanted: Wanted) -> None:
        self._faults = faults
        self.names: list[str] | None = None
        self.columns: list[_Column] = []
        self.rows = 0
        self.labels = Labels(wanted, "row")
        self._label_at: int | None = None

    def first(self, row: list[str]) -> None:
        """The first row sets the width; it names the columns where none of it is a number."""
        self.columns = [_Column() for _ in row]
        if not any(_is_number(cell) for cell in row) and any(cell.strip() for cell in row):
            self.names = [cell.strip().lstrip("\ufeff") for cell in row]
        self._label_at = self._label_column()
        if self.names is None:
            self.take([row], [1])

    def _label_column(self) -> int | None:
        """By its name; else, and where the columns have none, by its number, from 1."""
        wished, numbers = self.labels.wished, [str(place + 1) for place in range(len(self.columns))]
        name = label_among(self.names or (), wished)
        at = self.names.index(name) if self.names and name is not None else None
        if at is None and wished in numbers:
            at, name = numbers.index(wished), wished
        self.labels.name = name
        return at

    def take(self, rows: list[list[str]], numbers: Sequence[int]) -> None:
        """Some rows, with their numbers; rows of nothing are passed over, as readers do."""
        width = len(self.columns)
        if any(len(row) != width for row in rows):
            rows, numbers = self._of_right_width(rows, numbers)
        self.rows += len(rows)
        for place, cells in enumerate(zip(*rows, strict=True)):
            if not self.columns[place].text:
                self.columns[place].see(cells, numbers)
            if place == self._label_at:
                for cell, number in zip(cells, numbers, strict=True):
                    self.labels.see(cell, number)

    def _of_right_width(self, rows: list[list[str]], numbers: Sequence[int]) -> tuple[list[list[str]], list[int]]:
        width, right, places = len(self.columns), [], []
        for row, number in zip(rows, numbers, strict=True):
            if len(row) == width:
                right.append(row)
                places.append(number)
            elif row and not row[0].startswith(_COMMENT):
                detail = f"row {number} has {plural(len(row), 'column')}, the first has {width}"
                self._faults.add("row-width", detail, f"row {number}")
                self.rows += 1
        return right, places

    def judge(self) -> None:
        self.labels.judge(self._faults)
        for place, column in enumerate(self.columns):
            if column.first_other is not None and column.kind != "text":
                number, cell = column.first_other
                name = self.names[place] if self.names else f"{place + 1}"
                detail = f"column {name!r}: {column.numbers} numbers and {column.others} other values, the first is {cell[:40]!r}"
                self._faults.add("column-type", detail, f"row {number}", ODD, column.others)

    def facts(self) -> dict[str, Any]:
        names = self.names or [str(place + 1) for place in range(len(self.columns))]
        kinds = (column.kind for column in self.columns)
        return {"rows": self.rows, "columns": dict(zip(names, kinds, strict=False)), **self.labels.facts()}


def check_table(format: str, pieces: Iterator[str], faults: Faults, wanted: Wanted) -> dict[str, Any]:
    """Rows, columns and their types."""
    lines = _Lines(pieces)
    known = csv.field_size_limit(_MOST_FIELD)
    try:
        if format == "tsv":
            delimiter, read = "\t", _either(lines, wanted)
        else:
            delimiter = _delimiter(lines.peek())
            read = _Reading(csv.reader(lines, delimiter=delimiter), lines, wanted)
            for _ in read.steps:
                pass
    finally:
        csv.field_size_limit(known)
    read.table.judge()
    faults.take(read.faults.all())
    return {"delimiter": delimiter, **read.table.facts()}


class _Reading:
    """A table by one way of reading its lines."""

    def __init__(self, reader: Iterator[list[str]], lines: _Lines, wanted: Wanted) -> None:
        self.faults = Faults()
        self.table = _Table(self.faults, wanted)
        self.steps = _read(reader, lines, self.table, self.faults, wanted.quick)

    @property
    def broken(self) -> int:
        """How many rows fit no table, read in this way."""
        return sum(fault.count for fault in self.faults.all())


def _either(lines: _Lines, wanted: Wanted) -> _Reading:
    """Tabs are often written without any quoting, so a quote may be a letter like others: both ways are read side by side.

    The one that breaks fewer rows is right; of two alike, the one without quoting where the quotes would swallow rows."""
    first, second = itertools.tee(lines)
    quoted = _Reading(csv.reader(first, delimiter="\t"), lines, wanted)
    plain = _Reading(csv.reader(second, delimiter="\t", quoting=csv.QUOTE_NONE), lines, wanted)
    del first, second  # `tee` keeps all lines for a reader that has stopped, as long as anybody holds it
    for _ in itertools.zip_longest(quoted.steps, plain.steps):
        pass
    return min(quoted, plain, key=lambda read: (read.broken, -read.table.rows))


def _read(reader: Iterator[list[str]], lines: _Lines, table: _Table, faults: Faults, quick: bool) -> Iterator[None]:
    """All rows in batches, which are small where rows are large; a step for each."""
    number, size, going = 0, 16, True
    while going:
        rows: list[list[str]] = []
        try:
            rows.extend(itertools.islice(reader, size))
        except csv.Error as error:
            broken = number + len(rows) + 1
            faults.add("not-decodable", f"row {broken}: {error}", f"row {broken}")
            going = False
        going = going and len(rows) == size
        if rows and rows[-1] and rows[-1][-1].endswith(_END):
            last = rows.pop()
            if last != [_END] and not quick:
                faults.add("truncated", "the file ends inside of a quoted field", f"row {number + len(rows) + 1}")
        numbers = range(number + 1, number + len(rows) + 1)
        number += len(rows)
        while rows and not table.columns:
            if rows[0] and not _is_comment(rows):
                table.first(rows[0])
            rows, numbers = rows[1:], numbers[1:]
        table.take(rows, numbers)
        size = min(_BATCH_ROWS, size * 2) if lines.passed_chars < _BATCH_CHARS else max(1, size // 2)
        lines.passed_chars = 0
        yield


def _is_comment(rows: list[list[str]]) -> bool:
    """Whether the first row is a remark before the table, and not a header that begins with the sign."""
    following = next((row for row in rows[1:] if row and not row[0].startswith(_COMMENT)), None)
    return rows[0][0].startswith(_COMMENT) and following is not None and len(following) != len(rows[0])


class _Lines:
    """Lines with their ends for the reader of the standard library, and a last one that shows whether a quote is still open:
    then it becomes a part of the last field, and a row of its own otherwise."""

    def __init__(self, pieces: Iterator[str]) -> None:
        self._lines = self._split(pieces)
        self._first: list[str] = []
        self.passed_chars = 0

    def _split(self, pieces: Iterator[str]) -> Iterator[str]:
        rest = ""
        for piece in pieces:
            self.passed_chars += len(piece)
            if "\r" in piece and "\n" not in piece:
                piece = piece.replace("\r", "\n")
            if len(rest) > _MOST_LINE:
                raise TooLargeError(len(rest))
            lines = io.StringIO(rest + piece, newline="\n").readlines()
            rest = lines.pop() if lines and not lines[-1].endswith("\n") else ""
            yield from lines
        if rest:
            yield rest + "\n"
        yield _END

    def peek(self) -> str:
        """The first line that is no remark."""
        for line in itertools.islice(self._lines, _MOST_COMMENTS):
            self._first.append(line)
            if line.strip() and not line.startswith(_COMMENT):
                return line
        return ""

    def __iter__(self) -> Iterator[str]:
        return itertools.chain(self._first, self._lines)


def _delimiter(line: str) -> str:
    outside = "".join(line.split('"')[::2])
    return max(_DELIMITERS, key=outside.count)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
