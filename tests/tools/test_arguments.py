"""Argument strings as models write them, and tool names as models write them: what runs, and what does not."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentloop.errors import ConfigError
from agentloop.messages import ToolCall, ToolResult
from agentloop.tools.context import ToolContext
from agentloop.tools.tool import Tool, tool
from agentloop.tools.toolbox import Prepared, Toolbox, prepare


@tool
def ping() -> str:
    return "pong"


@tool
def echo(text: str) -> str:
    return text


@tool
def square(x: int) -> int:
    return x * x


@tool(effects="once")
def pay(amount: int) -> str:
    return "paid"


@pytest.mark.parametrize("raw", ["", "  \n", "null", " null ", "{}"])
def test_no_arguments_run_a_tool_without_parameters(run, raw: str) -> None:
    assert run(ping, raw) == ToolResult("pong")


@pytest.mark.parametrize("raw", ["", "  \n", "null"])
def test_no_arguments_for_a_tool_with_parameters_name_the_missing_one(run, raw: str) -> None:
    result = run(square, raw)
    assert (result.is_error, result.kind) == (True, "bad_arguments")
    assert result.content == "Bad arguments for square: x: missing. It takes: x (required)."


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ('{"text":"if(x){a}{b}"}', "if(x){a}{b}"),
        ('{"text":"A"}{"text":"A"}', "A"),
        ('{"text":"A"}}', "A"),
        ('{"text": "line1\nline2\tEND"}', "line1\nline2\tEND"),
        ('"{\\"text\\": \\"A\\"}"', "A"),
    ],
)
def test_arguments_that_are_right_or_can_be_mended_reach_the_tool(run, raw: str, text: str) -> None:
    assert run(echo, raw) == ToolResult(text)


@pytest.mark.parametrize("raw", ['{"text":"A"}{"text":"B"}', '{"text":"A"}{"text":', '{"text":', "text=A"])
def test_glued_or_cut_arguments_are_an_error_and_run_nothing(run, raw: str) -> None:
    seen: list[str] = []
    result = run(tool(lambda text="": seen.append(text), name="echo"), raw)
    assert (result.is_error, result.kind, seen) == (True, "bad_arguments", [])


@pytest.mark.parametrize("raw", ['"abc"', "[]", "[1,2]", "123", "true"])
def test_arguments_that_are_no_object_are_an_error_that_says_so(run, raw: str) -> None:
    result = run(square, raw)
    assert (result.is_error, result.kind) == (True, "bad_arguments")
    assert "must be a JSON object" in result.content


def test_a_once_wrapped_object_is_unwrapped(run) -> None:
    assert run(square, '"{\\"x\\":3}"') == ToolResult("9")


def test_mended_arguments_never_run_a_tool_that_acts_once(run) -> None:
    result = run(pay, '{"amount":3}}')
    assert (result.is_error, result.kind) == (True, "bad_arguments")
    assert "one closing brace too many" in result.content
    assert run(pay, '{"amount":3}') == ToolResult("paid")


def test_what_was_mended_is_told_beside_the_call() -> None:
    prepared = prepare(Toolbox([square]), ToolCall("c1", "square", '{"x":3}}'))
    assert isinstance(prepared, Prepared)
    assert str(prepared.repair).startswith("tool arguments: one closing brace too many")


def test_many_faults_are_cut_to_the_first_five(run) -> None:
    def wide(a: int, b: int, c: int, d: int, e: int, f: int, g: int) -> None: ...

    text = run(wide, "{}").content
    assert "e: missing; and 2 more. It takes: a (required), b (required)" in text


def test_a_validator_of_the_tools_own_types_may_fail_in_any_way(run) -> None:
    import pydantic

    class Odd(pydantic.BaseModel):
        n: int

        @pydantic.field_validator("n")
        @classmethod
        def check(cls, n: int) -> int:
            raise KeyError("inside")

    @tool
    def take(it: Odd) -> None: ...

    result = run(take, '{"it":{"n":1}}')
    assert (result.kind, "KeyError" in result.content) == ("bad_arguments", True)


def test_half_of_a_surrogate_pair_is_an_error_that_says_so(run) -> None:
    result = run(echo, '{"text":"\\ud83d"}')
    assert (result.kind, "hex escape" in result.content) == ("bad_arguments", True)


@settings(deadline=None)
@given(st.text())
def test_no_argument_string_makes_preparing_fail(raw: str) -> None:
    made = prepare(Toolbox([square]), ToolCall("c1", "square", raw))
    assert isinstance(made, Prepared | ToolResult)


@settings(deadline=None)
@given(st.dictionaries(st.text(), st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.integers())))
def test_no_object_makes_checking_fail(arguments: dict[str, object]) -> None:
    by_hand = Tool("free", "", {"properties": {"x": {"type": "integer"}}}, function=dict)
    for made in (square, by_hand):
        box = Toolbox([made])
        assert isinstance(prepare(box, ToolCall("c", made.name, json.dumps(arguments))), Prepared | ToolResult)


# --- names -----------------------------------------------------------------------------------------------------------


@tool
def get_sites() -> str:
    return "sites"


@pytest.mark.parametrize(
    "name", ["get_sites", "functions.get_sites", "get_sites ", "\nget_sites", " functions.get_sites"]
)
def test_a_name_with_blanks_or_a_prefix_means_the_tool(name: str) -> None:
    assert Toolbox([get_sites]).get(name) is get_sites


@pytest.mark.parametrize("name", ["", " ", "list_sites", "GET_SITES", "functions.list", "functions."])
def test_any_other_name_is_an_error_that_lists_the_known_ones(name: str) -> None:
    result = prepare(Toolbox([get_sites, ping]), ToolCall("c1", name))
    assert isinstance(result, ToolResult)
    assert (result.is_error, result.kind) == (True, "unknown_tool")
    assert "Known tools: get_sites, ping." in str(result.content)


@pytest.mark.parametrize("name", ["list_sites", "GET_SITES", "getsites"])
def test_near_names_are_offered(name: str) -> None:
    assert "Did you mean get_sites?" in Toolbox([ping, get_sites]).unknown(name)


def test_a_tool_whose_name_has_the_prefix_is_found_by_its_own_name() -> None:
    prefixed = Tool("functions.get_sites", function=print)
    box = Toolbox([get_sites, prefixed])
    assert (box.get("functions.get_sites"), box.get("get_sites")) == (prefixed, get_sites)


def test_a_box_of_200_tools_tells_a_bounded_part_of_the_names() -> None:
    box = Toolbox(Tool(f"tool_{n}", function=print) for n in range(200))
    text = box.unknown("tol_150")
    assert "Did you mean tool_150" in text
    assert "and 180 more" in text
    assert len(text) < 500
    assert [each.name for each in box.specs] == [f"tool_{n}" for n in range(200)]


def test_without_tools_the_model_is_told_that_there_are_none() -> None:
    assert Toolbox().unknown("x") == "There is no tool named 'x'. There are no tools: answer without one."


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(ConfigError, match="two tools are named ping"):
        Toolbox([ping, tool(lambda: 1, name="ping")])


def test_a_tool_may_have_the_name_of_a_builtin(run) -> None:
    assert run(tool(lambda: "mine", name="print")) == ToolResult("mine")


@pytest.mark.parametrize("wrong", [print, "ping", {"type": "function"}])
def test_what_is_no_tool_is_refused(wrong: object) -> None:
    with pytest.raises(ConfigError, match="wrap functions with tool"):
        Toolbox([wrong])  # type: ignore[list-item]


def test_a_tool_without_a_function_is_refused_where_it_would_have_to_run() -> None:
    with pytest.raises(ConfigError, match="has no function"):
        Toolbox([Tool("remote", "somebody else runs it")])


class Shop:
    @tool
    def price(self) -> int:
        return 3


def test_a_method_without_its_object_is_refused_where_it_would_have_to_run(run) -> None:
    with pytest.raises(ConfigError, match=r"an_object\.price"):
        Toolbox([Shop.price])
    assert run(Shop().price) == ToolResult("3")


def test_a_tool_that_changes_its_arguments_changes_neither_the_call_nor_the_next_try() -> None:
    prepared = prepare(
        Toolbox([Tool("pop", function=lambda items: items.clear())]), ToolCall("c", "pop", '{"items":[1]}')
    )
    assert isinstance(prepared, Prepared)
    prepared.bound.call(prepared.tool.function, ToolContext())
    assert (prepared.call.arguments, prepared.arguments) == ('{"items":[1]}', {"items": [1]})
    assert prepared.again().bound.kwargs == {"items": [1]}
