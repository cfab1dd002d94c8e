"""The Tool value, and tools with a schema written by hand."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from typing import Any

import pytest

from agentloop.errors import ConfigError, ToolError
from agentloop.tools.context import ToolContext
from agentloop.tools.tool import Tool, tool

CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}


def test_a_decorated_function_can_still_be_called() -> None:
    @tool(risk="read", effects="none", timeout=3, parallel=True)
    def double(n: int) -> int:
        return 2 * n

    assert double(4) == 8
    assert (double.name, double.risk, double.effects, double.timeout, double.parallel) == (
        "double",
        "read",
        "none",
        3,
        True,
    )


def test_name_and_description_can_be_given() -> None:
    made = tool(len, name="size", description="How long it is.")
    assert (made.name, made.description) == ("size", "How long it is.")


def test_a_tool_is_frozen_and_shows_no_function() -> None:
    made = tool(lambda: 1, name="one")
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.name = "two"
    assert "lambda" not in repr(made)


def test_a_schema_by_hand_gets_its_arguments_by_keyword() -> None:
    made = Tool("weather", "Tells it.", CITY, function=lambda city: city.upper())
    assert made.validate({"city": "rome"}).call(made.function, ToolContext()) == "ROME"


def test_a_copy_with_changes_still_checks_its_arguments() -> None:
    typed = dataclasses.replace(tool(lambda n: n, name="n"), timeout=1)
    by_hand = dataclasses.replace(Tool("weather", "", CITY, function=print), timeout=1)
    for made in (typed, by_hand):
        with pytest.raises(ToolError, match="missing"):
            made.validate({})


def test_faults_against_a_schema_by_hand_are_short_and_have_paths() -> None:
    schema = {
        "properties": {
            "n": {"type": "integer"},
            "deep": {"type": "object", "properties": {"list": {"items": {"minimum": 3}}}},
        },
        "required": ["city"],
        "additionalProperties": False,
    }
    with pytest.raises(ToolError) as caught:
        Tool("t", "", schema, function=print).validate({"n": "x" * 5000, "deep": {"list": [9, 1]}, "zz": 1})
    text = str(caught.value)
    for part in ("city: missing", "deep.list[1]: ", "there is no argument zz"):
        assert part in text
    assert 'n: value is not of type "integer", got "xxx' in text
    assert len(text) < 600


def test_no_schema_means_any_object() -> None:
    made = Tool("free", function=dict)
    assert made.parameters == {"type": "object", "properties": {}}
    assert made.validate({"a": [1]}).call(made.function, ToolContext()) == {"a": [1]}


def test_a_schema_by_hand_may_go_with_a_function_that_takes_the_context() -> None:
    def where(city: str, context: ToolContext) -> str:
        return city + context.run_id

    made = Tool("where", "", CITY, function=where)
    assert made.validate({"city": "a"}).call(made.function, ToolContext(run_id="r1")) == "ar1"


@dataclasses.dataclass
class Adder:
    """Equal adders are equal, so an adder has no hash."""

    by: int

    def __call__(self, n: int, context: ToolContext) -> int:
        return n + self.by


def test_an_object_that_cannot_be_hashed_can_be_a_tool() -> None:
    for made in (tool(Adder(2), name="add"), Tool("add", function=Adder(2))):
        assert made.validate({"n": 1}).call(made.function, ToolContext()) == 3


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array"},
        {"type": "objekt"},
        {"properties": {"a": {"type": "strin"}}},
        {"properties": {"a": {"$ref": "#/$defs/missing"}}},
        {"properties": {"a": {"pattern": "("}}},
    ],
)
def test_a_wrong_schema_is_refused_at_definition(schema: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="tool t: parameters"):
        Tool("t", "", schema, function=print)


def test_a_reference_to_another_document_is_refused_and_never_fetched() -> None:
    schema = {"properties": {"a": {"$ref": "http://127.0.0.1:9/schema.json"}}}
    with pytest.raises(ConfigError, match="remote references are not fetched"):
        Tool("t", "", schema, function=print)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"risk": "low"}, "risk must be"),
        ({"effects": "twice"}, "effects must be"),
        ({"timeout": 0}, "timeout must be above 0"),
        ({"timeout": float("nan")}, "timeout must be above 0"),
        ({"timeout": "3"}, "timeout must be above 0"),
        ({"max_result": "9"}, "max_result must be"),
        ({"retries": 1}, "retries needs effects"),
        ({"retries": 1, "effects": "once"}, "retries needs effects"),
        ({"retries": -1, "effects": "none"}, "retries needs effects"),
        ({"isolate": "thread"}, "isolate must be"),
        ({"isolate": "process"}, "at the top of a module"),
    ],
)
def test_options_that_cannot_work_are_refused_at_definition(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        tool(lambda: 1, name="t", **options)


def test_an_option_that_does_not_exist_is_refused_and_the_others_are_named() -> None:
    options: dict[str, Any] = {"time_out": 3}
    with pytest.raises(ConfigError, match=r"tool print: unknown option time_out; there are .*timeout"):
        tool(print, **options)


def test_an_empty_name_is_not_replaced_by_the_name_of_the_function() -> None:
    with pytest.raises(ConfigError, match="a tool's name"):
        tool(print, name="")


@pytest.mark.parametrize("name", ["", " t", "t\n"])
def test_a_name_with_blanks_around_it_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="name"):
        Tool(name, function=print)


def test_a_tool_is_not_wrapped_twice() -> None:
    with pytest.raises(ConfigError, match="is a tool already"):
        tool(tool(lambda: 1, name="t"))


def test_pydantic_and_the_schema_checker_load_when_a_tool_is_defined() -> None:
    code = (
        "import sys; from agentloop.tools import execute, policy, tool; "
        "assert not {'pydantic', 'jsonschema_rs', 'docstring_parser'} & set(sys.modules); "
        "tool.tool(lambda: 1, name='t'); assert 'pydantic' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
