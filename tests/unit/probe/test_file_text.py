from __future__ import annotations

import gzip

import pytest

from tests.unit.probe.made import checked, json_lines, kinds, table

CLEAN = {
    "a.txt": b"hello\nworld\n",
    "no-end.txt": "größer".encode(),
    "b.csv": table(),
    "crlf.csv": b"a,b\r\n1,2\r\n3,4\r\n",
    "cr.csv": b"a,b\r1,2\r3,4\r",
    "semicolons.csv": b"a;b\n1,5;2,5\n3,5;4,5\n",
    "numbers.csv": b"1,2\n3,4\n",
    "quote-inside.csv": b'size,name\n3,5" pipe\n4,6" pipe\n5,7" pipe\n',
    "one-column.csv": b"name\nx\ny\n",
    "missing.csv": b"a,b\n1,\n,2\nNA,3\n",
    "remarks.csv": b"# made by hand\n# twice\na,b\n1,2\n# and, in, between\n3,4\n",
    "sign-in-header.csv": b"#a,b\n1,2\n",
    "t.tsv": b"a\tb\n1\t2,3\n",
    "quotes.tsv": b'id\ttext\n1\t"so he said\n2\tyes\n3\t5" pipe\n4\t"no\n5\t"\n6\tx\n',
    "quoted.tsv": b'id\ttext\n1\t"a\tb\nc"\n2\tyes\n',
    "quoted.csv": b'"a","b"\n"x ""y""","z\r\nw"\n',
    "c.jsonl": json_lines(),
    "crlf.jsonl": b'{"a": 1}\r\n{"a": 2}\r\n',
    "no-end.jsonl": b'{"a": 1}\n{"a": 2}',
    "d.json": b'{"a": [1, 2, {"b": null}]}\n',
    "notes": b"no extension at all\n",
    "page.html": b"<!DOCTYPE html><html></html>",
    "b.csv.gz": gzip.compress(table()),
    "c.jsonl.gz": gzip.compress(json_lines()),
    "two.txt.gz": gzip.compress(b"a\n") + gzip.compress(b"b\n"),
}


@pytest.mark.parametrize("name", CLEAN)
def test_clean_text_has_no_fault(name: str) -> None:
    assert checked(name, CLEAN[name]).faults == ()


def test_tabs_are_read_with_quotes_and_without() -> None:
    rows = b"".join(b'%d\t"lone %d\t%d\n' % (n, n, n % 3) for n in range(30_000))
    found = checked("a.tsv", b"id\ttext\tlabel\n" + rows, classes=3)
    assert found.faults == () and found.facts["rows"] == 30_000
    assert checked("a.tsv", CLEAN["quotes.tsv"]).facts["rows"] == 6
    assert checked("a.tsv", CLEAN["quoted.tsv"]).facts["rows"] == 2
    assert kinds(checked("a.tsv", b'"label"\t"x"\n"7"\t"a"\n', classes=3)) == {"label-out-of-range"}


DAMAGED = {
    "short row of tabs": ("a.tsv", b'a\tb\tc\n1\t"2\t3\n4\t5\n', "row-width", "row 3"),
    "flipped": ("a.txt", "grö".encode() * 5 + b"\xf6" + b"\n", "encoding", "byte 20"),
    "cut character": ("a.txt", "größ".encode()[:-1], "truncated", "byte 5"),
    "cut character of three bytes": ("a.txt", "nine €".encode()[:-1], "truncated", "byte 7"),
    "nul": ("a.txt", b"ab\0cd\n", "nul-bytes", "byte 2"),
    "garbage": ("a.txt", b"ab\n" * 100 + bytes([200, 1, 7, 250, 3, 255, 130, 2] * 9) + b"ab\n", "encoding", "byte 300"),
    "garbage of two bytes": ("a.txt", b"ab\n" * 100 + b"\x01\xf3\x02" + b"ab\n", "encoding", "byte 301"),
    "zeros": ("a.txt", b"ab\n" + bytes(600), "zero-filled", "byte 3"),
    "short row": ("a.csv", b"a,b,c\n1,2,3\n4,5\n", "row-width", "row 3"),
    "long row": ("a.csv", b"a,b\n1,2\n3,4,5\n", "row-width", "row 3"),
    "cut quote": ("a.csv", b'a,b\n1,"x\n', "truncated", "row 2"),
    "bad line": ("a.jsonl", b'{"a": 1}\n{"a": }\n{"a": 2}\n', "bad-json", "line 2"),
    "cut line": ("a.jsonl", b'{"a": 1}\n{"a": "x', "truncated", "line 2"),
    "not json": ("a.json", b'{"a": 1,,}', "bad-json", "line 1"),
    "cut json": ("a.json", b'{"a": [1, 2', "truncated", "line 1"),
    "a page": ("a.jpg", b"<html><body>404 not found</body></html>", "wrong-extension", None),
    "text": ("a.png", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "wrong-extension", None),
    "an image": ("a.csv", b"\x89PNG\r\n\x1a\n" + bytes(100), "wrong-extension", None),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_damage_is_named_with_its_place(case: str) -> None:
    name, data, kind, where = DAMAGED[case]
    fault = checked(name, data).faults[0]
    assert (fault.kind, fault.where, fault.weight) == (kind, where, "damage")


ODD = {
    "utf-16": ("a.txt", "hello wörld\n".encode("utf-16"), "encoding"),
    "utf-32": ("a.txt", "hello\n".encode("utf-32"), "encoding"),
    "mark": ("a.csv", b"\xef\xbb\xbfa,b\n1,2\n", "byte-order-mark"),
    "one byte of latin-1": ("a.txt", "a caf\xe9 in a long text\n".encode("latin-1"), "encoding"),
    "two bytes of latin-1": ("a.txt", "a caf\xe9, or na\xefve\n".encode("latin-1"), "encoding"),
    "one byte of latin-1 in a table": ("a.csv", "a,b\n1,caf\xe9\n2,tea\n".encode("latin-1"), "encoding"),
    "a last byte of latin-1": ("a.txt", "a long text, caf\xe9".encode("latin-1"), "encoding"),
    "latin-1": ("a.txt", "für größere Öfen\n".encode("latin-1"), "encoding"),
    "big5": ("a.txt", "這是一個測試文件\n".encode("big5") * 9, "encoding"),
    "blanks": ("a.txt", b" \n\n ", "no-content"),
    "empty line": ("a.jsonl", b'{"a": 1}\n\n{"a": 2}\n', "empty-line"),
    "a word among numbers": ("a.csv", b"a,b\n" + b"1,2\n" * 200 + b"1,x\n", "column-type"),
}


@pytest.mark.parametrize("case", ODD)
def test_what_may_be_meant_is_odd(case: str) -> None:
    name, data, kind = ODD[case]
    found = checked(name, data)
    assert kinds(found) == {kind} and found.good


LINES = {
    "of Spark": json_lines(),
    "one empty line": b'\n{"a": 1}\n{"a": 2}\n',
    "no end": b'{"a": 1}\n{"a": 2}',
    "crlf": b'{"a": 1}\r\n{"a": 2}\r\n',
    "arrays": b"[1, 2]\n[3]\n",
    "long": b'{"a": "' + b"x" * 1_500_000 + b'"}\n{"a": "y"}\n',
}


@pytest.mark.parametrize("case", LINES)
def test_json_lines_may_be_called_json(case: str) -> None:
    found = checked("a.json", LINES[case])
    assert found.format == "jsonl" and found.good and kinds(found) <= {"empty-line"}
    assert found.facts["rows"] >= 2 and "format" not in found.facts
    packed = checked("a.json.gz", gzip.compress(LINES[case]))
    assert (packed.format, packed.facts["inside"], packed.good) == ("gzip", "jsonl", True)


def test_a_single_document_is_none_of_lines() -> None:
    for data in (b'{"a": 1}\n', b'{"a": 1}\n\n \n', b'[\n{"a": 1},\n{"a": 2}\n]\n', b'{"a":\n1}'):
        found = checked("a.json", data)
        assert (found.format, found.faults) == ("json", ())


def test_a_broken_line_under_the_name_of_json_is_told_by_its_own_number() -> None:
    found = checked("a.json", b'{"a": 1}\n{"a": 2}\n{"a": }\n{"a": 4}\n')
    assert [(fault.kind, fault.where) for fault in found.faults] == [("bad-json", "line 3")]
    assert kinds(checked("a.json", b'{"a": 1}\n{"a": '), "damage") == {"truncated"}
    assert kinds(checked("a.json", b'{"a": 1} {"a": 2}\n'), "damage") == {"bad-json"}
    assert kinds(checked("a.json", json_lines(), classes=2)) == {"label-out-of-range"}


@pytest.mark.parametrize("digits", [4301, 6000])
def test_a_number_of_more_digits_than_python_converts_is_json(digits: int) -> None:
    number = b"9" * digits
    assert checked("a.json", b'{"a": ' + number + b"}").faults == ()
    found = checked("a.jsonl", b'{"label": 1, "a": -' + number + b'}\n{"label": 0, "a": 2}\n', classes=2)
    assert found.faults == () and found.facts["columns"] == {"label": "int", "a": "int"}
    assert kinds(checked("a.jsonl", b'{"label": ' + number + b"}\n", classes=2)) == {"label-out-of-range"}
    broken = checked("a.json", b'{"a": ' + number + b", }").faults[0]
    assert (broken.kind, broken.where) == ("bad-json", "line 1")


def test_columns_have_types() -> None:
    found = checked("a.csv", b"n,x,name,label\n1,0.5,a,0\n2,nan,b,1\n3,1e9,,2\n")
    assert found.facts["columns"] == {"n": "int", "x": "float", "name": "text", "label": "int"}
    assert (found.facts["rows"], found.facts["label_min"], found.facts["label_max"]) == (3, 0, 2)


def test_labels_of_tables_and_lines_are_held_against_the_classes() -> None:
    assert checked("a.csv", table(), classes=3).faults == ()
    fault = checked("a.csv", table(), classes=2).faults[0]
    assert (fault.kind, fault.where) == ("label-out-of-range", "row 4")
    assert checked("a.jsonl", json_lines(), classes=3).faults == ()
    assert kinds(checked("a.jsonl", json_lines(), classes=2)) == {"label-out-of-range"}
    assert kinds(checked("a.csv", b"id,kind\n1,9\n", classes=5, label="kind")) == {"label-out-of-range"}


def test_a_type_of_two_halves_is_text_and_no_fault() -> None:
    assert checked("a.csv", b"a,b\n" + b"1,2\n1,x\n" * 600).faults == ()


def test_rows_longer_than_a_block_and_blocks_that_cut_characters() -> None:
    long = b"a,b\n" + b"1," + "ö".encode() * 800_000 + b"\n" + b"2,x\n" * 3
    found = checked("a.csv", long)
    assert found.faults == () and found.facts["rows"] == 4
    assert checked("a.jsonl", b'{"a": "' + "ö".encode() * 800_000 + b'"}\n').faults == ()


def test_a_large_table_is_not_held_in_memory() -> None:
    import tracemalloc

    data = b"a,b\n" + b"123,456\n" * 400_000
    tracemalloc.start()
    assert checked("a.csv", data, quick=False).facts["rows"] == 400_000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 30 << 20


def test_a_compressed_stream_tells_its_own_damage_once() -> None:
    packed = gzip.compress(table())
    assert kinds(checked("a.csv.gz", packed[:-3])) == {"truncated"}
    assert kinds(checked("a.csv.gz", packed[:-6] + b"xx" + packed[-4:])) == {"crc-mismatch"}
    assert kinds(checked("a.csv.gz", packed + b"more"), "odd") == {"trailing-bytes"}
    assert checked("a.csv.gz", packed + bytes(512)).faults == ()
    assert kinds(checked("a.csv.gz", gzip.compress(b"a,b\n1\n"))) == {"row-width"}


def test_a_quick_check_reads_small_files_whole_and_the_beginning_of_large_ones() -> None:
    lines = b'{"a": 1}\n'
    assert kinds(checked("a.jsonl", lines * 100 + b'{"a": ', quick=True)) == {"truncated"}
    assert checked("a.jsonl", lines * 200_000 + b'{"a": ', quick=True).faults == ()
    assert kinds(checked("a.json", b'{"a": [1, 2', quick=True)) == {"truncated"}
