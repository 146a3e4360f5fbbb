"""The part of JSON Schema that docs/schema-1.json uses, so that tests need no further package."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_TYPES: dict[str, Any] = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
_KNOWN = {
    "$schema", "$defs", "$ref", "title", "description", "type", "required", "properties", "additionalProperties",
    "items", "minItems", "enum", "const", "anyOf",
}  # fmt: skip


def faults(value: Any, schema: dict[str, Any], root: dict[str, Any] | None = None, at: str = "$") -> list[str]:
    """Where and how the value breaks the schema."""
    root = root or schema
    unknown = schema.keys() - _KNOWN
    if unknown:
        raise ValueError(f"the schema uses {sorted(unknown)}, which this check does not know")
    return [*_shape_faults(value, schema, at), *_inner_faults(value, schema, root, at)]


def _shape_faults(value: Any, schema: dict[str, Any], at: str) -> Iterator[str]:
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    if types and not any(_is(value, name) for name in types):
        yield f"{at}: {value!r} is not {types}"
    if "const" in schema and value != schema["const"]:
        yield f"{at}: {value!r} is not {schema['const']!r}"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{at}: {value!r} is not in the list"
    if isinstance(value, dict):
        yield from (f"{at}: lacks {name}" for name in schema.get("required", []) if name not in value)
    if isinstance(value, list) and len(value) < schema.get("minItems", 0):
        yield f"{at}: too few items"


def _is(value: Any, name: str) -> bool:
    if name in ("integer", "number"):
        return isinstance(value, int if name == "integer" else (int, float)) and not isinstance(value, bool)
    return isinstance(value, _TYPES[name])


def _inner_faults(value: Any, schema: dict[str, Any], root: dict[str, Any], at: str) -> Iterator[str]:
    if "$ref" in schema:
        yield from faults(value, root["$defs"][schema["$ref"].removeprefix("#/$defs/")], root, at)
    if "anyOf" in schema:
        tries = [faults(value, each, root, at) for each in schema["anyOf"]]
        yield from () if any(not each for each in tries) else tries[0]
    if isinstance(value, dict):
        for name, inner in schema.get("properties", {}).items():
            if name in value:
                yield from faults(value[name], inner, root, f"{at}.{name}")
    if isinstance(value, list) and "items" in schema:
        for index, each in enumerate(value):
            yield from faults(each, schema["items"], root, f"{at}[{index}]")
