"""Reads a case: a log as text, or evidence as JSON, with what is expected of it.

A text case is the raw log; a first line `# expect: CAUSE line=12 confidence=likely` or `# why quiet: REASON` is not
part of it. A JSON case is an object with `expect` (cause, line, confidence; `verdict` where another rule speaks first)
or `why_quiet`, and `evidence`: the fields of `Evidence` by name (bytes as hexadecimal digits). A `log` given as a string
is parsed, and its errors are found unless `errors` is given too. `installed` is a short form of `installation`:
`{"python": "3.11.7", "packages": {"numpy": "2.0.2"}}`, with any further field of `Interpreter` or `Installation` beside them.
A package may be given by the fields of `Distribution` (or, where it is there twice, by a list of them); TensorFlow declares
what its release really declares of the packages that the case names.
"""

from __future__ import annotations

import dataclasses
import json
import types
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

from crashcart import evidence as sections
from crashcart.doctor._facts import TENSORFLOW_NAMES, declared
from crashcart.doctor._requirements import requirement_name
from crashcart.evidence import Evidence
from crashcart.installation import Installation
from crashcart.probe.log import find_errors, parse_log
from crashcart.probe.source import OwnCode
from crashcart.why.collect_log import evidence_of

IS_OWN = OwnCode(()).is_own
SECTIONS = {name: getattr(sections, name) for name in sections.SECTIONS}
"""Types that `Evidence` names and imports only when somebody asks for them."""


@dataclass(frozen=True)
class Case:
    """One piece of evidence, and what a rule should make of it."""

    path: Path
    evidence: Evidence
    expect: Mapping[str, Any] = field(default_factory=dict)
    why_quiet: str | None = None


def read_case(path: Path) -> Case:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".json":
        document = json.loads(text)
        return Case(
            path, evidence_from_json(document["evidence"]), document.get("expect", {}), document.get("why_quiet")
        )
    first, _, rest = text.partition("\n")
    if first.startswith("# expect:"):
        return Case(path, evidence_from_log(rest), _expectation(first.removeprefix("# expect:")))
    if first.startswith("# why quiet:"):
        return Case(path, evidence_from_log(rest), why_quiet=first.removeprefix("# why quiet:").strip())
    return Case(path, evidence_from_log(text))


def evidence_from_log(text: str) -> Evidence:
    return evidence_of(parse_log(text))


def evidence_from_json(document: Mapping[str, Any]) -> Evidence:
    fields = dict(document)
    text = fields.pop("log", None)
    if "installed" in fields:
        fields["installation"] = _installation(**fields.pop("installed"))
    evidence = build(Evidence, fields)
    if text is None:
        return evidence
    if not isinstance(text, str):
        return dataclasses.replace(evidence, log=build(get_type_hints(Evidence, localns=SECTIONS)["log"], text))
    log = parse_log(text)
    errors = evidence.errors if evidence.errors is not None else find_errors(log, IS_OWN)
    return dataclasses.replace(evidence, log=log, errors=errors)


def _installation(python: str, packages: Mapping[str, Any], **further: Any) -> dict[str, Any]:
    """The full form: a venv of this Python on Linux, with setuptools unless the case says otherwise (null: without)."""
    packages = {name: given for name, given in {"setuptools": "80.9.0", **packages}.items() if given is not None}
    of_installation = {field.name for field in dataclasses.fields(Installation)}
    known = {"version": python, "executable": "/home/ada/.venv/bin/python", "prefix": "/home/ada/.venv", "kind": "venv",
             "architecture": "x86_64", "libc": "glibc", "libc_version": "2.36"}  # fmt: skip
    known |= {name: value for name, value in further.items() if name not in of_installation}
    rest = {name: value for name, value in further.items() if name in of_installation}
    distributions = [
        _distribution(name, entry, packages)
        for name, given in packages.items()
        for entry in (given if isinstance(given, list) else [given])
    ]
    return {"interpreter": known, "distributions": distributions, **rest}


def _distribution(name: str, given: Any, packages: Mapping[str, Any]) -> dict[str, Any]:
    fields = given if isinstance(given, dict) else {"version": given}
    version = fields["version"]
    plain = {"name": name, "folder": "/home/ada/.venv/lib/python/site-packages", "installer": "pip",
             "entry": f"{name}-{version}.dist-info", "requires": _declared(name, version, packages)}  # fmt: skip
    return plain | fields


def _declared(name: str, version: str, packages: Mapping[str, Any]) -> list[str]:
    requires = declared(version) or () if name in TENSORFLOW_NAMES else ()
    return [each for each in requires if requirement_name(each) in packages]


def build(kind: Any, value: Any) -> Any:
    """A value of the annotated type from what JSON can say."""
    if value is None:
        return None
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        return build(next(each for each in get_args(kind) if each is not type(None)), value)
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        hints = get_type_hints(kind, localns=SECTIONS)
        unknown = value.keys() - hints.keys()
        assert not unknown, f"{kind.__name__} has no fields {sorted(unknown)}"
        return kind(**{name: build(hints[name], each) for name, each in value.items()})
    if kind is bytes:
        return bytes.fromhex(value)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(value)
    if origin is tuple:
        return tuple(build(get_args(kind)[0], each) for each in value)
    if origin is frozenset:
        return frozenset(value)
    if origin is not None and issubclass(origin, Mapping):
        key, item = get_args(kind)
        return {(int(name) if key is int else name): build(item, each) for name, each in value.items()}
    return value


def _expectation(words: str) -> dict[str, Any]:
    cause, *rest = words.split()
    pairs = dict(each.split("=", 1) for each in rest)
    expect: dict[str, Any] = {"cause": cause, **pairs}
    if "line" in expect:
        expect["line"] = int(expect["line"])
    return expect
