"""Logs of any size and encoding: what is kept, under which numbers, and that nothing breaks the reader."""

from __future__ import annotations

import time

from hypothesis import given, settings
from hypothesis import strategies as st

from crashcart.evidence import Log
from crashcart.probe.log import find_errors, parse_log
from crashcart.probe.log_stream import CHUNK_BYTES, HEAD_LINES, TAIL_LINES, log_of
from crashcart.probe.log_text import decode_line, is_binary, packed_as, wide_encoding
from crashcart.probe.log_words import is_telling, lines_with


def read(raw: bytes, piece: int = CHUNK_BYTES) -> Log:
    return log_of(iter([raw[start : start + piece] for start in range(0, len(raw), piece)] or [b""]))


def texts(log: Log) -> dict[int, str]:
    return {line.number: line.text for line in log.lines}


def test_a_short_log_is_kept_whole_whatever_the_pieces() -> None:
    raw = b"one\ntwo\r\nthree"
    assert texts(read(raw)) == texts(read(raw, 1)) == {1: "one", 2: "two", 3: "three"}
    assert read(raw).dropped_bytes == 0


def test_of_a_long_log_head_tail_and_the_lines_that_tell_are_kept_with_their_numbers() -> None:
    lines = [f"step {number} loss 0.{number}" for number in range(1, 200_001)]
    lines[99_990:99_993] = ["Traceback (most recent call last):", '  File "a.py", line 3, in f', "KeyError: 'x'"]
    log = read("\n".join(lines).encode())
    kept = texts(log)
    assert kept[1] == "step 1 loss 0.1" and kept[200_000] == "step 200000 loss 0.200000"
    assert kept[99_991].startswith("Traceback") and kept[99_993] == "KeyError: 'x'"
    assert 50_000 not in kept and len(kept) < HEAD_LINES + TAIL_LINES + 300
    assert log.dropped_bytes > 2_000_000
    (error,) = find_errors(log, lambda file: True)
    assert (error.name, error.line_number) == ("KeyError", 99_993)


def test_a_flood_of_warnings_does_not_drown_the_root() -> None:
    lines = [f"W reader {'abcdefghij'[number % 10] * (number % 7 + 1)} failed {number}" for number in range(100_000)]
    lines[50_000] = "ValueError: the one that matters"
    assert "ValueError: the one that matters" in texts(read("\n".join(lines).encode())).values()


def test_lines_left_out_end_a_traceback_that_was_being_read() -> None:
    lines = [f"line {number}" for number in range(20_000)]
    lines[HEAD_LINES - 2 : HEAD_LINES] = ["Traceback (most recent call last):", '  File "a.py", line 1, in f']
    lines[-1] = "Odd: something else"
    assert find_errors(read("\n".join(lines).encode()), lambda file: True) == ()


def test_a_file_that_ends_its_lines_with_carriage_returns_has_lines() -> None:
    assert list(texts(read(b"one\rtwo\rthree\r")).values()) == ["one", "two", "three"]


def test_an_endless_line_is_bounded_and_quick() -> None:
    began = time.process_time()
    log = log_of(iter([b"x" * CHUNK_BYTES] * 64))
    assert len(log.lines) == 1 and len(log.lines[0].text) == 20_000
    bar = log_of(iter([b"10%\r20%\r" * 20_000] * 8 + [b"100%\n"]))
    assert bar.lines[-1].text == "100%"
    assert time.process_time() - began < 3


def test_encodings() -> None:
    text = "ImportError: DLL load failed: Das angegebene Modul wurde nicht gefunden.\n"
    for name in ("utf-16", "utf-16-le", "utf-16-be", "utf-8-sig", "utf-32"):
        assert read(text.encode(name)).lines[0].text == text.strip(), name
    assert decode_line("Le module spécifié est introuvable.".encode("cp1252")) == "Le module spécifié est introuvable."
    assert decode_line("OSError: [WinError 1455] 页面文件太小，无法完成操作。".encode("gbk")).endswith(
        "页面文件太小，无法完成操作。"
    )
    assert decode_line(b"\xff\xfe\xfd") == "ÿþý"


def test_what_is_no_text_is_known() -> None:
    assert is_binary(bytes(range(256)) * 64) and is_binary(b"\x7fELF\x02\x01\x01" + b"\0" * 200)
    assert not is_binary(b"\x1b[31mred\x1b[0m\x08\x08 50%\r60%\n") and not is_binary("日本語\n".encode())
    assert not is_binary("abc".encode("utf-16")) and wide_encoding("abcdef\n".encode("utf-16-le")) == "utf-16-le"
    assert packed_as(b"\x1f\x8b\x08") == ("gzip", "gunzip -c") and packed_as(b"plain") is None


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=4000), st.integers(min_value=1, max_value=700))
def test_any_bytes_in_any_pieces_give_numbered_lines(raw: bytes, piece: int) -> None:
    log = read(raw, piece)
    numbers = [line.number for line in log.lines]
    assert numbers == sorted(set(numbers)) and all("\n" not in line.text for line in log.lines)


def test_lines_are_found_by_their_words_however_many_there_are() -> None:
    lines = parse_log("\n".join("Killed here" if each in (3, 64, 199) else f"row {each}" for each in range(200))).lines
    assert [line.number for line in lines_with(lines, ("killed", "never said"))] == [4, 65, 200]
    assert list(lines_with(lines, ("never said",))) == []
    assert [each.number for each in lines_with(lines)] == [each.number for each in lines if is_telling(each.text)]
