"""Strict schemas: the part of JSON Schema in which a provider can promise that the arguments will fit.

Providers that have them want every object closed and every property required; null then stands for "not given".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from agentloop.shapes import as_dict, as_list

__all__ = ["StrictSchema", "drop_absent", "strict_schema"]


@dataclass(frozen=True, slots=True)
class StrictSchema:
    """`parameters` is the strict form. `lost` names what it leaves out and the tool still checks (lengths, patterns,
    defaults); `impossible` names what a strict schema cannot hold at all, such as a dict with free keys."""

    parameters: Mapping[str, Any]
    lost: tuple[str, ...] = ()
    impossible: tuple[str, ...] = ()


# What the documented subset takes; other keywords are dropped and reported.
_KEPT = frozenset(
    {"type", "properties", "required", "additionalProperties", "items", "anyOf", "enum", "const", "description"}
    | {"$ref", "$defs", "pattern", "format", "multipleOf", "minItems", "maxItems"}
    | {"maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum"}
)


def strict_schema(schema: Mapping[str, Any]) -> StrictSchema:
    """The strict form of a JSON Schema of type object; the given schema is not changed."""
    lost: list[str] = []
    impossible: list[str] = []
    parameters = _strict(schema, "arguments", lost, impossible)
    return StrictSchema(parameters, tuple(lost), tuple(impossible))


def _strict(node: Mapping[str, Any], path: str, lost: list[str], impossible: list[str]) -> dict[str, Any]:
    node = dict(node)
    if "oneOf" in node and "anyOf" not in node:
        node["anyOf"] = node.pop("oneOf")
        node.pop("discriminator", None)
    if "prefixItems" in node:
        impossible.append(f"{path}: a tuple")
    lost.extend(f"{path}: {key}" for key in node if key not in _KEPT and key != "title")
    out = {key: value for key, value in node.items() if key in _KEPT}
    if "$ref" in out:
        # A reference stands alone; its neighbours may only be a description or a default.
        return {"$ref": out["$ref"]}
    if "anyOf" in out:
        out["anyOf"] = [_strict(as_dict(option), path, lost, impossible) for option in as_list(out["anyOf"])]
    if "items" in out:
        out["items"] = _strict(as_dict(out["items"]), f"{path}[]", lost, impossible)
    if "$defs" in out:
        out["$defs"] = {k: _strict(as_dict(v), k, lost, impossible) for k, v in as_dict(out["$defs"]).items()}
    if out.get("type") == "object" or "properties" in out:
        _close(out, path, lost, impossible)
    elif not out.keys() & {"type", "anyOf", "enum", "const"}:
        impossible.append(f"{path}: a value of any type")
    return out


def _close(out: dict[str, Any], path: str, lost: list[str], impossible: list[str]) -> None:
    """Every property required, none added; an optional one may be null."""
    properties, required = as_dict(out.get("properties")), set(as_list(out.get("required")))
    if out.get("additionalProperties", False) not in (False, None) or (not properties and path != "arguments"):
        impossible.append(f"{path}: an object with free keys")
    made: dict[str, Any] = {}
    for name, schema in properties.items():
        inner = _strict(as_dict(schema), f"{path}.{name}", lost, impossible)
        made[name] = inner if name in required or _takes_null(inner) else {"anyOf": [inner, {"type": "null"}]}
    out.update(type="object", properties=made, required=list(made), additionalProperties=False)


def _takes_null(schema: Mapping[str, Any]) -> bool:
    if schema.get("type") == "null" or "null" in as_list(schema.get("type")):
        return True
    return any(_takes_null(as_dict(option)) for option in as_list(schema.get("anyOf")))


def drop_absent(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """`arguments` without the nulls that mean "not given" by `schema`, the schema before it was made strict."""
    return cast("dict[str, Any]", _drop(dict(arguments), schema, as_dict(schema.get("$defs"))))


def _drop(value: Any, schema: Mapping[str, Any], defs: Mapping[str, Any]) -> Any:
    schema = _resolved(schema, defs)
    options = [_resolved(as_dict(option), defs) for option in as_list(schema.get("anyOf") or schema.get("oneOf"))]
    if isinstance(value, list):
        lists = [option for option in (schema, *options) if "items" in option]
        items = as_dict(lists[0]["items"]) if lists else {}
        return [_drop(item, items, defs) for item in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    members = cast("dict[str, Any]", value)
    objects = [option for option in (schema, *options) if members.keys() <= as_dict(option.get("properties")).keys()]
    if not objects:
        return members
    properties, required = as_dict(objects[0].get("properties")), as_list(objects[0].get("required"))
    kept: dict[str, Any] = {}
    for name, item in members.items():
        inner = as_dict(properties[name])
        if item is not None or name in required or _takes_null(_resolved(inner, defs)):
            kept[name] = _drop(item, inner, defs)
    return kept


def _resolved(schema: Mapping[str, Any], defs: Mapping[str, Any]) -> Mapping[str, Any]:
    ref = schema.get("$ref")
    return as_dict(defs.get(ref.removeprefix("#/$defs/"))) if isinstance(ref, str) else schema
