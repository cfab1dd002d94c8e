from __future__ import annotations

from typing import Any

import pytest

from agentloop.mock.sample import sample


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string"}, "example"),
        ({"const": 3}, 3),
        ({"type": "integer", "minimum": 5}, 5),
        ({"type": "integer", "default": 7}, 7),
        ({"enum": ["a", "b"]}, "a"),
        ({"type": ["null", "string"]}, None),
        ({"anyOf": [{"type": "boolean"}, {"type": "null"}]}, True),
        ({"type": "array", "items": {"type": "number"}, "minItems": 2}, [1.0, 1.0]),
        ({"properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"enum": [1]}}}, {"a": 1}),
        ({"properties": {"a": {"$ref": "#/$defs/Missing"}}}, {"a": "example"}),
        ({}, "example"),
    ],
)
def test_a_sample_fits_its_schema(schema: dict[str, Any], value: Any) -> None:
    assert sample(schema) == value


def test_only_required_properties_can_be_asked_for() -> None:
    schema = {"type": "object", "properties": {"a": {}, "b": {}}, "required": ["b"]}
    assert sample(schema, only_required=True) == {"b": "example"}


def test_a_schema_that_contains_itself_is_cut_off() -> None:
    value: Any = sample({"type": "object", "properties": {"next": {"$ref": "#"}}})
    depth = 0
    while value is not None:
        value, depth = value["next"], depth + 1
    assert depth == 9
