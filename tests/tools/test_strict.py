"""Strict schemas, and calls that follow them."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from agentloop.errors import ConfigError, ToolError
from agentloop.messages import ToolResult
from agentloop.tools.strict import drop_absent, strict_schema
from agentloop.tools.tool import tool


class Filter(BaseModel):
    text: str
    limit: int = 10
    inner: "Filter | None" = None  # noqa: UP037


def search(query: str, mode: Literal["all", "any"] = "all", where: Filter | None = None) -> list[Any]:
    return [query, mode, where]


def test_every_property_is_required_and_an_optional_one_may_be_null() -> None:
    strict = tool(search).strict_schema()
    assert strict.parameters["required"] == ["query", "mode", "where"]
    assert strict.parameters["additionalProperties"] is False
    assert strict.parameters["properties"]["mode"] == {
        "anyOf": [{"type": "string", "enum": ["all", "any"]}, {"type": "null"}]
    }


def test_nested_models_are_made_strict_too() -> None:
    inner = tool(search).strict_schema().parameters["$defs"]["Filter"]
    assert inner["required"] == ["text", "limit", "inner"]
    assert inner["additionalProperties"] is False


def test_what_is_left_out_is_reported() -> None:
    def name(n: str = Field("x", min_length=2), k: int = Field(1, ge=0)) -> None: ...

    assert tool(name).strict_schema().lost == (
        "arguments.n: default",
        "arguments.n: minLength",
        "arguments.k: default",
    )


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        ({"properties": {"d": {"type": "object", "additionalProperties": {"type": "integer"}}}}, "arguments.d"),
        ({"properties": {"d": {"type": "object"}}}, "arguments.d"),
        ({"properties": {"d": {}}}, "arguments.d: a value of any type"),
        ({"properties": {"l": {"type": "array", "items": {"type": "object"}}}}, r"arguments.l\[\]"),
        ({"properties": {"t": {"type": "array", "prefixItems": [{"type": "integer"}]}}}, "arguments.t: a tuple"),
        ({"properties": {}, "additionalProperties": True}, "arguments: an object with free keys"),
    ],
)
def test_what_a_strict_schema_cannot_hold_is_reported_with_its_place(schema: dict[str, Any], place: str) -> None:
    impossible = strict_schema({"type": "object", **schema}).impossible
    assert len(impossible) == 1
    assert impossible[0].startswith(place.replace("\\", ""))


def test_the_given_schema_is_not_changed() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer", "default": 1}}}
    strict_schema(schema)
    assert schema == {"type": "object", "properties": {"a": {"type": "integer", "default": 1}}}


def test_a_strict_tool_reads_null_as_not_given(run) -> None:
    made = tool(search, strict=True)
    assert made.parameters["required"] == ["query", "mode", "where"]
    arguments = (
        '{"query":"q","mode":null,"where":{"text":"t","limit":null,"inner":{"text":"u","limit":null,"inner":null}}}'
    )
    assert run(made, arguments) == ToolResult(
        '["q","all",{"text":"t","limit":10,"inner":{"text":"u","limit":10,"inner":null}}]'
    )


def test_a_null_where_a_value_is_required_stays_a_fault(run) -> None:
    result = run(tool(search, strict=True), '{"query":null,"mode":null,"where":null}')
    assert (result.kind, "query: expected a valid string" in result.content) == ("bad_arguments", True)


def test_a_tool_that_is_not_strict_takes_no_null_for_a_default() -> None:
    with pytest.raises(ToolError, match="mode: expected 'all' or 'any', got null"):
        tool(search).validate({"query": "q", "mode": None})


def test_a_strict_tool_whose_schema_cannot_be_is_refused_at_definition() -> None:
    def count(words: dict[str, int]) -> None: ...

    with pytest.raises(ConfigError, match=r"strict schema cannot express arguments.words: an object with free keys"):
        tool(count, strict=True)


def test_nulls_inside_lists_are_dropped_by_the_schema_of_the_items() -> None:
    item = {"type": "object", "properties": {"a": {"type": "integer"}}}
    schema = {"properties": {"l": {"anyOf": [{"type": "array", "items": item}, {"type": "null"}]}}}
    assert drop_absent({"l": [{"a": None}, {"a": 1}]}, schema) == {"l": [{}, {"a": 1}]}
