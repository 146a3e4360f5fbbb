"""Requirements files, as pip reads them.

Covers: comments, continued lines, hashes, options, extras, markers, addresses and wheels, `-r` and `-c` with files of their
own (relative to the file that names them; one that includes itself is said), `-e`.
Does not cover: files on the network, environment variables in addresses, what a folder or a repository would build.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from crashcart.errors import CannotCheckError
from crashcart.installation import Plan, Wanted
from crashcart.probe.packages import canonical
from crashcart.probe.plan_text import read_text, shown, wanted, wheel
from crashcart.redact import redact_argv, redact_value

_COMMENT = re.compile(r"(^|\s+)#.*$")
_OPTION = re.compile(r"(?P<option>-[a-zA-Z]|--[a-z-]+)(?:[=\s]\s*|(?<=^-[a-zA-Z]))(?P<value>.*)")
_OWN_OPTIONS = re.compile(r"\s+--(hash|config-settings?|global-option|install-option)\b.*")
_SILENT = re.compile(
    r"-i|--index-url|--extra-index-url|--no-index|-f|--find-links|--no-binary|--only-binary|--prefer-binary|--pre"
    r"|--trusted-host|--use-feature|--require-hashes|--pypi-url|--process-dependency-links|--(?:no-)?use-wheel"
    r"|--always-unzip|-Z"
)
"""Options that change where pip looks, not what is asked for."""
_INCLUDES = {"-r": False, "--requirement": False, "-c": True, "--constraint": True}
_MOST_FILES = 100
_ADDRESS = re.compile(r"[a-zA-Z][a-zA-Z+.-]*://|\.{0,2}/|[a-zA-Z]:[\\/]|file:|git\+|hg\+|svn\+|bzr\+")
_EGG = re.compile(r"[#&]egg=(?P<name>[A-Za-z0-9][\w.-]*)")
_REMOTE = re.compile(r"[a-zA-Z][a-zA-Z+.-]*://|(git|hg|svn|bzr)\+")


@dataclass(slots=True)
class _Reading:
    """What has been read so far, over all included files."""

    wanted: list[Wanted] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    circular: list[str] = field(default_factory=list)
    files: int = 0


def read_requirements(file: Path) -> Plan:
    """What a requirements file and those it includes ask for. CannotCheckError where it is not text or asks for nothing."""
    reading = _Reading()
    _read(file, read_text(file), str(file), reading, (), constraint=False)
    if not (reading.wanted or reading.unread or reading.missing or reading.circular):
        raise CannotCheckError(f"{file} asks for nothing: it has only comments and options", "Name another file.")
    return _plan(file, reading)


def read_pip_lines(lines: list[tuple[int, str]], file: Path) -> Plan:
    """The requirements in another file (conda's), each with its line number."""
    reading = _Reading()
    for number, text in lines:
        _line(text, number, file, str(file), reading, (), constraint=False)
    return _plan(file, reading)


def _plan(file: Path, reading: _Reading) -> Plan:
    return Plan(
        str(file),
        tuple(reading.wanted),
        unread=tuple(reading.unread),
        missing=tuple(reading.missing),
        circular=tuple(dict.fromkeys(reading.circular)),
    )


def _read(file: Path, text: str, name: str, reading: _Reading, above: tuple[Path, ...], constraint: bool) -> None:
    reading.files += 1
    for number, line in _logical_lines(text):
        _line(line, number, file, name, reading, above, constraint=constraint)


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines without comments, continued ones joined; each with the number of its first line."""
    held, first = "", 0
    for number, raw in enumerate(text.splitlines(), 1):
        comment = raw.lstrip().startswith("#")
        first = first or number
        if raw.endswith("\\") and not comment:
            held += raw[:-1] + " "
            continue
        line = _COMMENT.sub("", held if comment else held + raw).strip()
        if line:
            yield first, line
        held, first = "", 0
    if _COMMENT.sub("", held).strip():
        yield first, _COMMENT.sub("", held).strip()


def _line(
    line: str, number: int, file: Path, name: str, reading: _Reading, above: tuple[Path, ...], *, constraint: bool
) -> None:
    place = f"{name} line {number}"
    if line.startswith("-"):
        _option(line, number, file, name, reading, above, constraint)
        return
    text = _OWN_OPTIONS.sub("", line).strip()
    try:
        if _ADDRESS.match(text):
            _address(text, number, name, reading)
        else:
            reading.wanted.append(wanted(text, name, number, constraint=constraint))
    except ValueError as error:
        reading.unread.append(f"{place}: {shown(line)!r} is not understood: {redact_value(str(error))}")


def _option(
    line: str, number: int, file: Path, name: str, reading: _Reading, above: tuple[Path, ...], constraint: bool
) -> None:
    place = f"{name} line {number}"
    match = _OPTION.match(line)
    option, value = (match["option"], match["value"].strip().strip("\"'")) if match else (line, "")
    if option in _INCLUDES:
        _include(value, place, file, name, reading, above, _INCLUDES[option] or constraint)
    elif option in ("-e", "--editable"):
        _address(value, number, name, reading)
    elif _SILENT.fullmatch(option) is None:
        hidden = " ".join(redact_argv(line.split()))
        reading.unread.append(f"{place}: {shown(hidden)!r} is not understood: no such option of pip")


def _address(text: str, number: int, name: str, reading: _Reading) -> None:
    """What an address or a folder brings, where its name tells."""
    if not text:
        reading.unread.append(f"{name} line {number}: no folder is named")
        return
    found = wheel(text, name, number)
    egg = _EGG.search(text)
    if found is None and egg is not None:
        found = Wanted(canonical(egg["name"]), "", text, name, number, opaque=True)
    if found is not None:
        reading.wanted.append(found)
        return
    what = "an address" if _REMOTE.match(text) else "a folder or a file"
    reading.unread.append(f"{name} line {number}: {shown(text)} is {what}; what it asks for is not read")


def _include(
    value: str, place: str, file: Path, name: str, reading: _Reading, above: tuple[Path, ...], constraint: bool
) -> None:
    if not value:
        reading.unread.append(f"{place}: no file is named")
        return
    if _ADDRESS.match(value) and "://" in value:
        reading.unread.append(f"{place}: {shown(value)} is on the network; it is not read")
        return
    inner = file.parent / value
    here = _resolved(file)
    if _resolved(inner) in (*above, here):
        reading.circular.append(f"{place}: {value} includes itself, which pip refuses")
        return
    if reading.files >= _MOST_FILES:
        reading.unread.append(f"{place}: more than {_MOST_FILES} files are included; {value} is not read")
        return
    try:
        text = read_text(inner)
    except CannotCheckError as error:
        if not str(error).endswith("is empty"):
            reading.missing.append(f"{place}: {error}")
        return
    _read(inner, text, str(inner), reading, (*above, here), constraint)


def _resolved(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError):  # a loop of links, or no directory to start from
        return path
