"""A small value that fits a JSON Schema, for a stand-in that must fill something in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

__all__ = ["sample"]

_SIMPLE: dict[str, Any] = {"string": "example", "integer": 1, "number": 1.0, "boolean": True, "null": None}
_DEEPEST = 8  # a recursive schema is cut off here


def sample(schema: Mapping[str, Any], *, only_required: bool = False) -> Any:
    """The first enum value, const or default, else a plain value of the type; objects get all their properties, or
    only the required ones. Local `$ref`s are followed; patterns, formats and lengths are not looked at."""
    return _value(schema, schema, only_required, 0)


def _value(schema: Any, root: Mapping[str, Any], only_required: bool, depth: int) -> Any:
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return None
    node = _resolved(cast("Mapping[str, Any]", schema), root)
    for key in ("const", "default"):
        if key in node:
            return node[key]
    if node.get("enum"):
        return node["enum"][0]
    for key in ("anyOf", "oneOf", "allOf"):
        if node.get(key):
            return _value(node[key][0], root, only_required, depth + 1)
    kind: Any = node.get("type", "object" if "properties" in node else "string")
    if isinstance(kind, list):
        kind = cast("list[Any]", kind)[0] if kind else "string"
    if kind == "object":
        return _object(node, root, only_required, depth)
    if kind == "array":
        count = max(1, int(node.get("minItems") or 0))
        return [_value(node.get("items", {}), root, only_required, depth + 1)] * count
    if kind in ("integer", "number") and "minimum" in node:
        return node["minimum"]
    return _SIMPLE.get(kind) if isinstance(kind, str) else None


def _object(node: Mapping[str, Any], root: Mapping[str, Any], only_required: bool, depth: int) -> dict[str, Any]:
    properties: Mapping[str, Any] = node.get("properties") or {}
    names = [n for n in properties if not only_required or n in (node.get("required") or ())]
    return {name: _value(properties[name], root, only_required, depth + 1) for name in names}


def _resolved(node: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    reference = node.get("$ref")
    if not isinstance(reference, str) or not reference.startswith("#"):
        return node
    found: Any = root
    for step in reference.lstrip("#/").split("/") if reference != "#" else ():
        found = cast("Mapping[str, Any]", found).get(step) if isinstance(found, Mapping) else None
    return cast("Mapping[str, Any]", found) if isinstance(found, Mapping) else {}
