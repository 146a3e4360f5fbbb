"""A plan of an environment: what a file asks to be installed.

Covers: requirements files, pyproject.toml and conda's environment.yml, told apart by their names.
Does not cover: lock files, setup.py and setup.cfg (which are programs, or say little); what pip would choose (`doctor/`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from crashcart.errors import UsageError
from crashcart.installation import Plan, Wanted
from crashcart.redact import redact_value

_MOST_TEXT = 2000
_KINDS = "requirements.txt (or another .txt or .in), pyproject.toml, environment.yml"
_EXTRAS = re.compile(r"(?P<file>.+\.toml)\[(?P<extras>[\w.,\s-]*)\]")


def is_plan(name: str) -> bool:
    """Whether a file's name is one of a plan."""
    return _file(name).suffix.lower() in (".txt", ".in", ".toml", ".yml", ".yaml")


def read_plan(names: Iterable[str]) -> Plan:
    """What the files ask for together, as `pip install -r a -r b` takes them. `pyproject.toml[gpu]` adds a group."""
    plans = [_read(name) for name in names]
    if not plans:
        raise UsageError("no plan was named", f"Expected {_KINDS}.")
    return Plan(
        file=", ".join(each.file for each in plans),
        wanted=tuple(_without_secrets(wanted) for each in plans for wanted in each.wanted),
        python=",".join(each.python for each in plans if each.python) or None,
        variables={key: value for each in plans for key, value in each.variables.items()},
        unread=tuple(text for each in plans for text in each.unread),
        missing=tuple(text for each in plans for text in each.missing),
        circular=tuple(text for each in plans for text in each.circular),
        tool=next((each.tool for each in plans if each.tool != "pip"), "pip"),
    )


def _without_secrets(wanted: Wanted) -> Wanted:
    """Addresses may have passwords and tokens in them."""
    return replace(wanted, text=redact_value(wanted.text[:_MOST_TEXT])) if "://" in wanted.text else wanted


def _file(name: str) -> Path:
    match = _EXTRAS.fullmatch(name)
    return Path(match["file"] if match else name)


def _read(name: str) -> Plan:
    file = _file(name)
    suffix = file.suffix.lower()
    if suffix in (".txt", ".in"):
        from crashcart.probe.plan_requirements import read_requirements

        return read_requirements(file)
    if suffix == ".toml":
        from crashcart.probe.plan_pyproject import read_pyproject

        match = _EXTRAS.fullmatch(name)
        return read_pyproject(file, [each.strip() for each in match["extras"].split(",")] if match else [])
    if suffix in (".yml", ".yaml"):
        from crashcart.probe.plan_conda import read_environment

        return read_environment(file)
    raise UsageError(f"{name} is no plan that can be read", f"Expected {_KINDS}.")
