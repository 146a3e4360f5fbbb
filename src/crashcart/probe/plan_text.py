"""The text of a plan file: bounded, decoded, and the one form of a requirement that all kinds of files share.

Covers: byte order marks (PowerShell writes UTF-16), what is no text, requirement strings of PEP 508, and lines in messages.
Does not cover: the kinds of files (`plan_requirements.py`, `plan_pyproject.py`, `plan_conda.py`).
"""

from __future__ import annotations

import codecs
import re
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from crashcart.errors import CannotCheckError
from crashcart.installation import Wanted
from crashcart.probe._read import read_regular
from crashcart.probe.packages import canonical
from crashcart.redact import redact_value

# The largest requirements file seen, with the hashes of 500 packages, has 600 KB.
_MOST_BYTES = 8 << 20
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_NEXT = "Name a requirements file, a pyproject.toml or an environment.yml."
_MOST_SHOWN = 80
_MOST_LOOKED_AT = 2000
# A name and a version, also with a single `=`: google-auth is a package, and its version no secret.
_PLAIN = re.compile(r"[\w.-]+(\[[\w.,\s-]*\])?\s*[=<>!~]{1,3}\s*v?\d+(\.\d+)+([a-z]{1,4}\d{1,3})?(\.\*)?")


def read_text(file: Path) -> str:
    """The file's text. CannotCheckError where there is none."""
    try:
        raw = read_regular(file, _MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        raise CannotCheckError(f"{file} cannot be read: {getattr(error, 'strerror', None) or error}", _NEXT) from error
    if len(raw) > _MOST_BYTES:
        raise CannotCheckError(f"{file} is larger than {_MOST_BYTES >> 20} MiB; a plan is not", _NEXT)
    try:
        text = _decoded(raw)
    except UnicodeDecodeError as error:
        raise CannotCheckError(f"{file} is not text: {error.reason} at byte {error.start}", _NEXT) from error
    if "\0" in text:
        raise CannotCheckError(f"{file} is not text: it has a zero byte", _NEXT)
    if not text.strip():
        raise CannotCheckError(f"{file} is empty", _NEXT)
    return text


def _decoded(raw: bytes) -> str:
    for mark, encoding in _MARKS:
        if raw.startswith(mark):
            return raw.decode(encoding)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")  # comments of old files; names and versions are ASCII


def shown(text: str) -> str:
    """A line of a plan as a message has it: without secrets, and cut where it is long."""
    text = text[:_MOST_LOOKED_AT]
    return (text if _PLAIN.fullmatch(text) else redact_value(text))[:_MOST_SHOWN]


def wanted(text: str, file: str, line: int | None, *, constraint: bool = False, group: str | None = None) -> Wanted:
    """A PEP 508 requirement. ValueError, with the reason, where it is none."""
    try:
        requirement = Requirement(text)
    except InvalidRequirement as error:
        raise ValueError(str(error).splitlines()[0]) from error
    return Wanted(
        name=canonical(requirement.name),
        specifier=str(requirement.specifier),
        text=text,
        file=file,
        line=line,
        extras=tuple(sorted(requirement.extras)),
        marker=str(requirement.marker) if requirement.marker else None,
        constraint=constraint,
        exact=wheel_version(requirement.url) if requirement.url else None,
        opaque=requirement.url is not None,
        group=group,
    )


def wheel_version(address: str) -> str | None:
    """The version in the name of a wheel; None for other files."""
    named = _wheel(address)
    return named[1] if named else None


def wheel(address: str, file: str, line: int | None) -> Wanted | None:
    """A wheel that is named by its file or address alone."""
    named = _wheel(address)
    if named is None:
        return None
    return Wanted(named[0], "", address, file, line, exact=named[1], opaque=True)


def _wheel(address: str) -> tuple[str, str] | None:
    name = address.partition("#")[0].partition("?")[0].replace("\\", "/").rpartition("/")[2]
    try:
        found, version, _, _ = parse_wheel_filename(name)
    except InvalidWheelFilename:
        return None
    return str(found), str(version)
