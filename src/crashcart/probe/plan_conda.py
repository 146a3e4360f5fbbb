"""Conda's environment.yml, without a YAML reader: the user's environment may have none.

Covers: the list of dependencies with conda's ranges (`numpy=1.26`, `conda-forge::h5py>=3`), the nested list for pip, plain
and quoted words, lists in brackets, comments, `variables`.
Does not cover: anchors, multi-line strings and other YAML than such files have; lines of that kind are said to be unread.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from crashcart.errors import CannotCheckError
from crashcart.installation import Plan, Wanted
from crashcart.probe.packages import canonical
from crashcart.probe.plan_requirements import read_pip_lines
from crashcart.probe.plan_text import read_text, shown
from crashcart.redact import redact_value

_KEY = re.compile(r"(?P<key>[A-Za-z_][\w-]*)\s*:(?:\s+(?P<value>.*))?$")
_SPEC = re.compile(r"(?:[\w./:-]+::)?(?P<name>[A-Za-z0-9][\w.-]*)\s*(?P<range>[=<>!~].*|\s\S.*)?")
_BRACKET = re.compile(r"\[.*?version\s*=\s*['\"]?(?P<range>[^'\"\]]+)['\"]?.*\]$")
_HELP = "Mend the file, or write the requirements into a requirements.txt."
_KNOWN_KEYS = frozenset({"name", "channels", "dependencies", "prefix", "variables", "platforms", "category"})


@dataclass(slots=True)
class _Reading:
    conda: list[tuple[int, str]] = field(default_factory=list)
    pip: list[tuple[int, str]] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)


def read_environment(file: Path) -> Plan:
    """What an environment file asks for. CannotCheckError where it is none."""
    reading = _Reading()
    _scan(read_text(file), file, reading)
    if "dependencies" not in reading.keys:
        raise CannotCheckError(f"{file} has no `dependencies:` list", _HELP)
    python: str | None = None
    found: list[Wanted] = []
    for number, text in reading.conda:
        try:
            each = _wanted(text, str(file), number)
        except ValueError as error:
            reading.unread.append(
                f"{file} line {number}: {shown(text)!r} is not understood: {redact_value(str(error))}"
            )
            continue
        if each.name == "python":
            python = each.specifier or None
        else:
            found.append(each)
    pip = read_pip_lines(reading.pip, file)
    if not (found or pip.wanted or pip.missing or pip.circular or pip.unread or reading.unread):
        raise CannotCheckError(f"{file} asks for nothing", _HELP)
    return Plan(
        file=str(file),
        wanted=(*found, *pip.wanted),
        python=python,
        variables=reading.variables,
        unread=(*reading.unread, *pip.unread),
        missing=pip.missing,
        circular=pip.circular,
        tool="conda",
    )


def _scan(text: str, file: Path, reading: _Reading) -> None:
    """Sort the lines into the lists that they belong to."""
    section: str | None = None
    pip_indent: int | None = None
    for number, indent, words in _lines(text, file):
        key = _KEY.match(words)
        if indent == 0 and not words.startswith("- "):
            if key is None:
                raise CannotCheckError(f"{file} line {number} is not understood: {shown(words)!r}", _HELP)
            section, pip_indent = key["key"], None
            reading.keys.add(section)
            _inline(section, key["value"] or "", number, file, reading)
        elif section == "variables" and key is not None:
            reading.variables[key["key"]] = _unquoted(key["value"] or "")
        elif section == "dependencies" and words.startswith("-"):
            item = words[1:].strip()
            if pip_indent is not None and indent > pip_indent:
                reading.pip.append((number, _unquoted(item)))
                continue
            pip_indent = _item(item, number, indent, file, reading)
        elif section == "dependencies":
            reading.unread.append(f"{file} line {number}: {shown(words)!r} is not understood")


def _item(item: str, number: int, indent: int, file: Path, reading: _Reading) -> int | None:
    """One entry of the dependencies; the indent of the list for pip where it opens one."""
    if re.fullmatch(r"pip\s*:\s*", item):
        return indent
    nested = re.fullmatch(r"pip\s*:\s*\[(?P<list>.*)\]", item)
    if nested is not None:
        reading.pip += [(number, each) for each in _listed(nested["list"])]
    elif item[:1] in ("*", "&", "|", ">", "!", "{", ""):
        reading.unread.append(f"{file} line {number}: {shown(item)!r} is YAML that is not read here")
    else:
        reading.conda.append((number, _unquoted(item)))
    return None


def _inline(section: str, value: str, number: int, file: Path, reading: _Reading) -> None:
    """What stands behind the key itself: `dependencies: [python=3.11, numpy]`."""
    if section == "dependencies" and value:
        if not (value.startswith("[") and value.endswith("]")):
            raise CannotCheckError(f"{file} line {number}: the dependencies are no list", _HELP)
        reading.conda += [(number, each) for each in _listed(value[1:-1])]
    elif section not in _KNOWN_KEYS:
        reading.unread.append(f"{file} line {number}: the key {section!r} is not known")


def _lines(text: str, file: Path) -> Iterator[tuple[int, int, str]]:
    """The lines with something in them: number, indent, words."""
    for number, raw in enumerate(text.splitlines(), 1):
        line = re.sub(r"(^|\s)#.*$", "", raw).rstrip()
        words = line.strip()
        if not words or words in ("---", "..."):
            continue
        lead = line[: len(line) - len(line.lstrip())]
        if "\t" in lead:
            raise CannotCheckError(f"{file} line {number} is indented with a tab, which YAML forbids", _HELP)
        yield number, len(lead), words


def _listed(text: str) -> list[str]:
    return [
        _unquoted(each.strip())
        for each in re.split(r",(?=(?:[^'\"]*['\"][^'\"]*['\"])*[^'\"]*$)", text)
        if each.strip()
    ]


def _unquoted(text: str) -> str:
    quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "'\""
    return text[1:-1] if quoted else text


def _wanted(text: str, file: str, line: int) -> Wanted:
    """One of conda's own requirements. ValueError, with the reason, where it is none."""
    bracket = _BRACKET.search(text)
    match = _SPEC.fullmatch(text[: bracket.start()] if bracket else text)
    if match is None:
        raise ValueError("expected a name and a version")
    said = bracket["range"] if bracket else (match["range"] or "")
    return Wanted(canonical(match["name"]), conda_range(said), text, file, line, by="conda")


def conda_range(text: str) -> str:
    """`=1.26` means any 1.26, `==1.26.4` that one, a build string behind a further `=` says nothing of the version."""
    text = text.strip()
    if not text or text == "*":
        return ""
    if "|" in text:
        raise ValueError("alternatives are not judged")
    parts = [_part(each.strip()) for each in text.split(",")]
    try:
        return str(SpecifierSet(",".join(each for each in parts if each)))
    except InvalidSpecifier as error:
        raise ValueError(str(error)) from error


def _part(text: str) -> str:
    match = re.match(r"(?P<operator>==|>=|<=|!=|~=|=|>|<)?\s*(?P<version>[\w.*+!]+)(?:[\s=].*)?$", text)
    if match is None:
        raise ValueError(f"{text!r} is no range")
    operator, version = match["operator"] or "==", match["version"]
    if version == "*":
        return ""
    if version.endswith("*") and not version.endswith(".*"):
        version = f"{version[:-1]}.*"
    if version.endswith("*") and operator not in ("==", "!="):
        version = version.rstrip(".*")
    if operator == "=":
        return f"=={version}" if version.endswith("*") else f"=={version}.*"
    return f"{operator}{version}"
