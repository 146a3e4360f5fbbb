"""pyproject.toml: what a project asks for.

Covers: PEP 621 dependencies and optional ones, dependency groups (PEP 735), Poetry's tables with its own ranges (`^2.15`,
`~2.15`), the range of Pythons. Optional groups are read where they are asked for; where the project itself names no
TensorFlow, the first group that does is.
Does not cover: dependencies that a build computes (`dynamic`), lock files, tools other than Poetry with tables of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from crashcart.errors import CannotCheckError, UsageError
from crashcart.installation import Plan, Wanted
from crashcart.probe.packages import canonical
from crashcart.probe.plan_poetry import poetry_range, poetry_wanted
from crashcart.probe.plan_text import read_text, shown, wanted
from crashcart.redact import redact_value

_TENSORFLOW = re.compile(r"(tensorflow|tf-keras|tf-nightly)\b")


def read_pyproject(file: Path, extras: Iterable[str] = ()) -> Plan:
    """What the project asks for, with the named groups."""
    text = read_text(file)
    document = _parsed(text, file)
    project, poetry = _table(document, "project"), _table(document, "tool", "poetry")
    if not project and not poetry and not _table(document, "dependency-groups"):
        raise CannotCheckError(f"{file} has no [project] and no [tool.poetry] table", "Name a requirements file.")
    unread: list[str] = []
    name = str(file)
    own = [*_requirements(project.get("dependencies", ()), name, None, unread), *_poetry(poetry, name, unread)]
    groups = dict(_groups(document, project, poetry, name, unread))
    dynamic = project.get("dynamic")
    if isinstance(dynamic, list) and "dependencies" in dynamic:
        unread.append(f"{name}: its dependencies are dynamic: a build computes them")
    chosen = _chosen(groups, tuple(extras), own, file)
    python = project.get("requires-python") or _poetry_python(poetry, name, unread)
    return Plan(
        file=name + (f"[{','.join(chosen)}]" if chosen else ""),
        wanted=tuple(_numbered([*own, *(each for group in chosen for each in groups[group])], text)),
        python=python if isinstance(python, str) else None,
        unread=tuple(unread),
        tool="uv" if (file.parent / "uv.lock").is_file() else "pip",
    )


def _parsed(text: str, file: Path) -> dict[str, Any]:
    """The document; tomllib is in the standard library from Python 3.11 on."""
    for module in ("tomllib", "tomli"):
        try:
            toml = import_module(module)
        except ImportError:
            continue
        try:
            return dict(toml.loads(text))
        except (ValueError, RecursionError) as error:
            raise CannotCheckError(f"{file} is not valid TOML: {error}", "Mend the file, then ask again.") from error
    raise CannotCheckError(
        f"{file} cannot be read: this Python has no TOML reader", "`pip install tomli`, or use Python 3.11 or later."
    )


def _table(document: Any, *keys: str) -> dict[str, Any]:
    """A table within the document; empty where there is none or something else stands there."""
    for key in keys:
        document = document.get(key) if isinstance(document, Mapping) else None
    return dict(document) if isinstance(document, Mapping) else {}


def _requirements(listed: Any, name: str, group: str | None, unread: list[str]) -> Iterator[Wanted]:
    if not isinstance(listed, list | tuple):
        unread.append(f"{name}: the dependencies{f' of {group}' if group else ''} are no list")
        return
    for text in listed:
        if isinstance(text, Mapping):  # `{include-group = …}` is followed by the caller
            continue
        try:
            yield wanted(str(text), name, None, group=group)
        except ValueError as error:
            unread.append(f"{name}: {shown(str(text))!r} is not understood: {redact_value(str(error))}")


def _poetry(poetry: Mapping[str, Any], name: str, unread: list[str], group: str | None = None) -> Iterator[Wanted]:
    for package, value in _table(poetry, "dependencies").items():
        if canonical(package) == "python":
            continue
        for each in value if isinstance(value, list) else [value]:
            optional = isinstance(each, Mapping) and each.get("optional") is True
            if optional and group is None:
                continue
            try:
                yield poetry_wanted(package, each, name, group)
            except ValueError as error:
                unread.append(f"{name}: {package} is not understood: {redact_value(str(error))}")


def _poetry_python(poetry: Mapping[str, Any], name: str, unread: list[str]) -> str | None:
    try:
        return poetry_range(_table(poetry, "dependencies").get("python"))
    except ValueError as error:
        unread.append(f"{name}: python is not understood: {redact_value(str(error))}")
        return None


def _groups(
    document: Mapping[str, Any], project: Mapping[str, Any], poetry: Mapping[str, Any], name: str, unread: list[str]
) -> Iterator[tuple[str, list[Wanted]]]:
    for group, listed in _table(project, "optional-dependencies").items():
        yield group, list(_requirements(listed, name, group, unread))
    for group, members in _table(poetry, "extras").items():
        optional = _table(poetry, "dependencies")
        kept = {key: optional[key] for key in members if key in optional} if isinstance(members, list) else {}
        yield group, list(_poetry({"dependencies": kept}, name, unread, group))
    for group, table in _table(poetry, "group").items():
        yield group, list(_poetry(_table(table), name, unread, group))
    tables = _table(document, "dependency-groups")
    for group in tables:
        yield group, list(_requirements(_whole(tables, group, ()), name, group, unread))


def _whole(tables: Mapping[str, Any], group: str, above: tuple[str, ...]) -> list[Any]:
    """A dependency group with those that it includes."""
    found: list[Any] = []
    listed = tables.get(group)
    for each in listed if isinstance(listed, list) else ():
        inner = each.get("include-group") if isinstance(each, Mapping) else None
        if isinstance(inner, str) and inner not in (*above, group):
            found += _whole(tables, inner, (*above, group))
        elif inner is None:
            found.append(each)
    return found


def _chosen(
    groups: Mapping[str, list[Wanted]], extras: tuple[str, ...], own: list[Wanted], file: Path
) -> tuple[str, ...]:
    """The groups asked for; without any, the first with TensorFlow where the project itself names none."""
    unknown = [each for each in extras if each not in groups]
    if unknown:
        there = ", ".join(groups) or "none"
        raise UsageError(f"{file} has no group {unknown[0]}", f"It has: {there}.")
    if extras or any(_TENSORFLOW.match(each.name) for each in own):
        return extras
    return next(
        ((name,) for name, listed in groups.items() if any(_TENSORFLOW.match(each.name) for each in listed)), ()
    )


def _numbered(listed: list[Wanted], text: str) -> Iterator[Wanted]:
    """The requirements with the lines that they stand in, where exactly one line has them."""
    lines = [line.split("#")[0] if '"' not in line else line for line in text.splitlines()]
    for each in listed:
        sought = re.compile(
            rf"^\s*[\"']?{re.escape(each.text.split(' = ')[0])}[\"']?\s*="
            if each.by == "poetry"
            else rf"[\"']{re.escape(each.text)}[\"']"
        )
        found = [number for number, line in enumerate(lines, 1) if sought.search(line)]
        yield replace(each, line=found[0]) if len(found) == 1 else each
