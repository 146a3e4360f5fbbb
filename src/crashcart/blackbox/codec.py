"""Evidence as plain JSON values, and back.

Covers: every frozen section of `evidence.py`, by its type hints. Fields that the reader does not know are ignored and
missing ones take their defaults, so that recordings outlive versions.
Does not cover: files (`recording.py`). A value that does not fit its type raises ValueError or TypeError.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar, cast

T = TypeVar("T")

_known_hints: dict[type, dict[str, Any]] = {}


def to_plain(value: Any) -> Any:
    """Dataclasses, tuples, sets and bytes as what JSON can hold."""
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: to_plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, (frozenset, set)):
        return sorted(to_plain(item) for item in value)
    if isinstance(value, (list, tuple)):
        return [to_plain(item) for item in value]
    if isinstance(value, bytes):
        return value.hex()
    return value


def from_plain(kind: type[T], value: Any) -> T:
    """Rebuild a section from what `to_plain` made of it."""
    if not isinstance(value, Mapping):
        raise ValueError(f"received {type(value).__name__} for {kind.__name__}; expected an object")
    hints = _hints(kind)
    known = {name: _decode(hint, value[name]) for name, hint in hints.items() if name in value}
    return kind(**known)


def _hints(kind: type) -> dict[str, Any]:
    if kind not in _known_hints:
        _known_hints[kind] = typing.get_type_hints(kind)
    return _known_hints[kind]


def _decode(hint: Any, value: Any) -> Any:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        if value is None:
            return None
        return _decode(next(each for each in arguments if each is not type(None)), value)
    if origin is tuple:
        return tuple(_decode(arguments[0], item) for item in value)
    if origin is frozenset:
        return frozenset(value)
    if origin is not None and isinstance(value, Mapping):
        key, item_hint = arguments
        return {key(name): _decode(item_hint, item) for name, item in value.items()}
    if isinstance(hint, type) and is_dataclass(hint):
        return from_plain(cast("type[Any]", hint), value)
    if hint is bytes:
        return bytes.fromhex(value)
    if hint is float and isinstance(value, int):
        return float(value)
    return value
