"""The crash file that the native recorder's signal handler wrote inside a dying process, read back as a `Crash`.

Covers: files cut short at any byte (what stands on whole lines is taken), native frames as glibc prints them, and the
qualified names behind C++ symbols.
Does not cover: writing the file (`record/native/crash_file.c`), Python frames (faulthandler's file), or C++ names in
full; arguments and template parameters are left out, and a name that is not understood stays mangled.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from crashcart.evidence import Crash, NativeFrame

_FIRST_LINE = "crashcart-crash 1"
_LONGEST_BYTES = 1 << 20
_FRAME = re.compile(r"^(?P<library>.*?)(?:\((?P<symbol>[^()+]*)(?:\+0x(?P<offset>[0-9a-f]+))?\))? ?\[0x[0-9a-f]+\]$")
_OWN_LIBRARY = "libcrashcart_recorder.so"
_LIBC = re.compile(r"/(libc\.so\.6|libc-2\.\d+\.so|libpthread\.so\.0|libpthread-2\.\d+\.so)$")


def read_crash(path: Path) -> Crash | None:
    """What the file says; None where there is none, it is foreign, or not even the signal was written."""
    try:
        with path.open("rb") as file:
            text = file.read(_LONGEST_BYTES).decode("utf-8", errors="replace")
    except OSError:
        return None
    lines = text.split("\n")[:-1]
    if not lines or lines[0] != _FIRST_LINE:
        return None
    split = lines.index("frames") if "frames" in lines else len(lines)
    fields = dict(_field(line) for line in lines[1:split])
    pid, signal = _integer(fields, "pid"), _integer(fields, "signal")
    if pid is None or signal is None:
        return None
    address, stack_pointer = _integer(fields, "address"), _integer(fields, "sp")
    return Crash(
        pid=pid,
        signal=signal,
        address=address,
        code=_integer(fields, "code"),
        frames=_own_left_out([frame for line in lines[split + 1 :] if (frame := _frame(line)) is not None]),
        stack_distance_bytes=None if address is None or stack_pointer is None else abs(address - stack_pointer),
        stack_left_bytes=_stack_left(fields, stack_pointer),
        sender=_integer(fields, "sender"),
        mapping=fields.get("mapping"),
        message=fields.get("abort-message"),
        instruction=_octets(fields, "instruction"),
    )


def _stack_left(fields: dict[str, str], stack_pointer: int | None) -> int | None:
    low, _, _ = fields.get("stack", "").partition(" ")
    if stack_pointer is None or not low:
        return None
    try:
        return stack_pointer - int(low, 0)
    except ValueError:
        return None


def _field(line: str) -> tuple[str, str]:
    name, _, value = line.partition(" ")
    return name, value


def _integer(fields: dict[str, str], name: str) -> int | None:
    try:
        return int(fields[name], 0)
    except (KeyError, ValueError):
        return None


def _octets(fields: dict[str, str], name: str) -> bytes | None:
    try:
        return bytes.fromhex(fields[name])
    except (KeyError, ValueError):
        return None


def _frame(line: str) -> NativeFrame | None:
    match = _FRAME.match(line)
    if match is None:
        return None
    offset = None if match["offset"] is None else int(match["offset"], 16)
    return NativeFrame(match["library"], demangle(match["symbol"]) if match["symbol"] else None, offset)


def _own_left_out(frames: list[NativeFrame]) -> tuple[NativeFrame, ...]:
    """Drop the handlers at the top: ours, faulthandler's where it ran first, and the C library's trampoline."""
    first = 0
    for number, frame in enumerate(frames):
        if frame.library.endswith(_OWN_LIBRARY) or (frame.symbol or "").startswith("faulthandler"):
            first = number + 1
        elif not _LIBC.search(frame.library):
            break
    if 0 < first < len(frames) and frames[first].symbol is None and _LIBC.search(frames[first].library):
        first += 1
    return tuple(frames[first:])


def demangle(symbol: str) -> str:
    """The qualified name behind an Itanium C++ symbol, or the symbol itself where it is another or too intricate."""
    match = _MANGLED.match(symbol)
    if match is None:
        return symbol
    try:
        names = list(_names(symbol, match.end()))
    except (IndexError, ValueError):
        return symbol
    return "::".join([*names, "{lambda}"] if match["local"] else names)


_MANGLED = re.compile(r"_Z(?:(?P<local>Z+)(?=.*EN?K?Ul.*E\d*_cl))?(?=[NSL1-9])")
"""A lambda's body is a local name: Z, the function around it, E, Ul…E_, and the call operator."""
_OPERATORS = {
    "cl": "operator()",
    "ix": "operator[]",
    "eq": "operator==",
    "aS": "operator=",
    "ls": "operator<<",
    "nw": "operator new",
    "dl": "operator delete",
}
_ABBREVIATIONS = {"St": "std", "Sa": "std::allocator", "Ss": "std::string", "So": "std::ostream", "Si": "std::istream"}
_QUALIFIERS = "rVKRO"


def _names(symbol: str, at: int) -> Iterator[str]:
    """The parts of `N…E`, or the single name of a plain function."""
    nested = symbol[at] == "N"
    if nested:
        at += 1
        while symbol[at] in _QUALIFIERS:
            at += 1
    last = ""
    while symbol[at] != "E":
        name, at = _name(symbol, at, last)
        if name:
            yield name
            last = name
        if not nested and name != "std":
            return
    if not last:
        raise ValueError(symbol)


def _name(symbol: str, at: int, last: str) -> tuple[str, int]:
    """One part of a nested name and where the next begins; empty for template parameters and ABI tags."""
    letter, pair = symbol[at], symbol[at : at + 2]
    if letter.isdigit():
        return _identifier(symbol, at)
    if letter == "L":
        return _identifier(symbol, at + 1)
    if letter == "I":
        return "", _after(symbol, at)
    if letter == "B":
        return "", _identifier(symbol, at + 1)[1]
    if pair in _ABBREVIATIONS:
        return _ABBREVIATIONS[pair], at + 2
    if pair in _OPERATORS:
        return _OPERATORS[pair], at + 2
    if last and pair in ("C1", "C2", "C3"):
        return last.rpartition("::")[2], at + 2
    if last and pair in ("D0", "D1", "D2"):
        return f"~{last.rpartition('::')[2]}", at + 2
    raise ValueError(symbol)


def _identifier(symbol: str, at: int) -> tuple[str, int]:
    start = at
    while symbol[at].isdigit():
        at += 1
    end = at + int(symbol[start:at])
    if end > len(symbol):
        raise ValueError(symbol)
    name = symbol[at:end]
    return ("(anonymous namespace)" if name.startswith("_GLOBAL__N") else name), end


_SKIPPED = re.compile(r"L[a-z]n?\d+E|A\d*_|S[0-9A-Z]*_|S[a-z]|T[0-9]*_|D[a-su-z]")
"""Inside of template parameters: literals, array bounds, references to what came before, two-letter types."""


def _after(symbol: str, at: int) -> int:
    """Where the template parameters, name or function type that begins at `at` ends. Expressions are not followed."""
    at += 1
    while symbol[at] != "E":
        skipped = _SKIPPED.match(symbol, at)
        if skipped:
            at = skipped.end()
        elif symbol[at].isdigit():
            at = _identifier(symbol, at)[1]
        elif symbol[at : at + 2] == "LN":
            at = symbol.index("E", _after(symbol, at + 1)) + 1
        elif symbol[at] in "NIJFZ":
            at = _after(symbol, at)
        elif symbol[at : at + 2] == "Ul":
            at = symbol.index("_", _after(symbol, at + 1)) + 1
        elif symbol[at] in "XLTD":
            raise ValueError(symbol)
        else:
            at += 1
    return at + 1
