"""Poetry's own way to write requirements, as PEP 440 would write them.

Covers: `^2.15`, `~2.15`, `2.15.*`, plain versions, ranges; tables with version, extras, markers, url, path and git.
Does not cover: alternatives (`||`), which no single range says.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from packaging.markers import InvalidMarker, Marker
from packaging.specifiers import InvalidSpecifier, SpecifierSet

from crashcart.installation import Wanted
from crashcart.probe.packages import canonical
from crashcart.probe.plan_text import wheel_version

_NUMBERS = re.compile(r"v?(\d+(?:\.\d+)*)(.*)")


def poetry_wanted(package: str, value: Any, file: str, group: str | None) -> Wanted:
    """One entry of a table. ValueError, with the reason, where it cannot be said."""
    table = value if isinstance(value, Mapping) else {"version": value}
    version = table.get("version", "*")
    address = next((str(table[key]) for key in ("url", "file", "path", "git") if key in table), None)
    markers = table.get("markers")
    marker = _marker(markers if isinstance(markers, str) else None, table.get("python"))
    extras = table.get("extras", ())
    return Wanted(
        name=canonical(package),
        specifier=poetry_range(version) or "",
        text=f'{package} = "{version}"',
        file=file,
        extras=tuple(str(each) for each in extras) if isinstance(extras, list) else (),
        marker=marker,
        by="poetry",
        exact=wheel_version(address) if address else None,
        opaque=address is not None,
        group=group,
    )


def poetry_range(version: Any) -> str | None:
    """The range in PEP 440; None where nothing is said. ValueError where no single range says it."""
    if version is None:
        return None
    if not isinstance(version, str):
        raise ValueError(f"{version!r} is no version")
    if "|" in version:
        raise ValueError(f"{version} names alternatives, which are not judged")
    text = ",".join(_part(each) for each in re.split(r"\s*,\s*|(?<=[\d*])\s+(?=[<>=!~^])", version.strip()) if each)
    try:
        return str(SpecifierSet(text))
    except InvalidSpecifier as error:
        raise ValueError(str(error)) from error


def _part(text: str) -> str:
    text = text.strip()
    if text == "*":
        return ""
    if text.startswith("^"):
        return _from_to(text[1:].strip(), caret=True)
    if text.startswith("~") and not text.startswith("~="):
        return _from_to(text[1:].strip(), caret=False)
    if text.startswith("=") and not text.startswith("=="):
        return f"={text}"
    return text if text[:1] in "<>=!~" else f"=={text}"


def _from_to(version: str, *, caret: bool) -> str:
    """`^1.2.3` is below 2, `^0.2.3` below 0.3, `~1.2.3` below 1.3, `~1` below 2."""
    match = _NUMBERS.fullmatch(version)
    if match is None:
        raise ValueError(f"{version} is no version")
    numbers = [int(each) for each in match[1].split(".")]
    if caret:
        kept = next((index for index, number in enumerate(numbers) if number), len(numbers) - 1)
    else:
        kept = min(1, len(numbers) - 1)
    above = ".".join(str(each) for each in [*numbers[:kept], numbers[kept] + 1])
    return f">={version},<{above}"


def _marker(markers: str | None, python: Any) -> str | None:
    parts = [f"({markers})"] if markers else []
    said = poetry_range(python) if python is not None else None
    parts += [f'python_full_version {each.operator} "{each.version}"' for each in SpecifierSet(said or "")]
    text = " and ".join(parts)
    if not text:
        return None
    try:
        return str(Marker(text))
    except InvalidMarker as error:
        raise ValueError(f"its marker is not understood: {str(error).splitlines()[0]}") from error
