"""The strict checks of a chat request: one row per rule, and requests that must pass."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentloop.mock.checks import check_chat_request

KEYS = ["role", "content", "tool_calls", "tool_call_id", "id", "type", "function", "name", "arguments", "text"]
WORDS = ["user", "assistant", "tool", "function", "text", "get_weather", "call_1", ""]
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(WORDS) | st.text(max_size=3)
VALUES = st.recursive(
    LEAVES, lambda v: st.lists(v, max_size=3) | st.dictionaries(st.sampled_from(KEYS), v), max_leaves=12
)

USER = {"role": "user", "content": "hi"}
TOOL = {"type": "function", "function": {"name": "get_weather"}}


def call(call_id: str = "call_1", **function: Any) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": "get_weather", "arguments": "{}", **function}}


def calls(*items: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": list(items)}


def result(call_id: str = "call_1", content: Any = "18") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def refusal(*messages: Any, **fields: Any) -> dict[str, Any]:
    """The error object for a request with these messages and fields; fails when it is accepted."""
    body = check_chat_request({"model": "m", "messages": list(messages) or [USER], **fields})
    assert body is not None, "the request was accepted"
    return body["error"]


def accepted(*messages: Any, **fields: Any) -> bool:
    return check_chat_request({"model": "m", "messages": list(messages) or [USER], **fields}) is None


def test_an_error_has_the_four_keys_of_the_api_description() -> None:
    assert refusal({"role": "wizard", "content": "hi"}) == {
        "message": "Invalid value: 'wizard'. Supported values are: "
        "'system', 'developer', 'user', 'assistant', 'tool', 'function'.",
        "type": "invalid_request_error",
        "param": "messages[0].role",
        "code": "invalid_value",
    }


@pytest.mark.parametrize("body", [[], "hi", 3, None])
def test_a_body_that_is_no_object_is_refused(body: Any) -> None:
    assert check_chat_request(body) is not None


@pytest.mark.parametrize(
    ("body", "param"), [({"messages": [USER]}, "model"), ({"model": "m"}, "messages"), ({}, "model")]
)
def test_a_missing_field_is_named(body: dict[str, Any], param: str) -> None:
    refused = check_chat_request(body)
    assert refused is not None
    assert refused["error"]["param"] == param
    assert refused["error"]["code"] == "missing_required_parameter"


def test_no_messages_are_refused() -> None:
    assert check_chat_request({"model": "m", "messages": []})["error"]["code"] == "empty_array"  # type: ignore[index]


@pytest.mark.parametrize(
    ("message", "param"),
    [
        ("hi", "messages[0]"),
        ({"content": "hi"}, "messages[0].role"),
        ({"role": "user"}, "messages[0].content"),
        ({"role": "user", "content": None}, "messages[0].content"),
        ({"role": "user", "content": 3}, "messages[0].content"),
        ({"role": "user", "content": []}, "messages[0].content"),
        ({"role": "user", "content": ["hi"]}, "messages[0].content[0]"),
        ({"role": "user", "content": [{"text": "hi"}]}, "messages[0].content[0].type"),
        ({"role": "user", "content": [{"type": "text"}]}, "messages[0].content[0].text"),
        ({"role": "user", "content": [{"type": "text", "text": 3}]}, "messages[0].content[0].text"),
        ({"role": "user", "content": [{"type": "refusal", "refusal": "no"}]}, "messages[0].content[0].type"),
        ({"role": "user", "content": "hi", "name": 3}, "messages[0].name"),
        ({"role": "system", "content": [{"type": "image_url", "image_url": {}}]}, "messages[0].content[0].type"),
        ({"role": "user", "content": [{"type": "image_url", "image_url": "x"}]}, "messages[0].content[0].image_url"),
        (
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "cat.png"}}]},
            "messages[0].content[0].image_url.url",
        ),
        (
            {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "AA", "format": "ogg"}}]},
            "messages[0].content[0].input_audio.format",
        ),
        ({"role": "user", "content": [{"type": "file", "file": {}}]}, "messages[0].content[0].file.file_id"),
        ({"role": "assistant"}, "messages[0].content"),
        ({"role": "assistant", "content": None}, "messages[0].content"),
        ({"role": "function", "content": "x"}, "messages[0].name"),
    ],
)
def test_a_message_of_a_wrong_shape_is_refused_at_its_place(message: Any, param: str) -> None:
    assert refusal(message)["param"] == param


@pytest.mark.parametrize(
    ("broken", "param"),
    [
        ({"type": "function", "function": {"name": "f", "arguments": "{}"}}, "id"),
        (call(""), "id"),
        ({"id": "c", "function": {"name": "f", "arguments": "{}"}}, "type"),
        ({"id": "c", "type": "function"}, "function"),
        ({"id": "c", "type": "function", "function": {"arguments": "{}"}}, "function.name"),
        (call(name=""), "function.name"),
        (call(name="get weather"), "function.name"),
        ({"id": "c", "type": "function", "function": {"name": "f"}}, "function.arguments"),
        (call(arguments={"city": "Tokyo"}), "function.arguments"),
    ],
)
def test_a_call_of_a_wrong_shape_is_refused_at_its_place(broken: dict[str, Any], param: str) -> None:
    assert refusal(USER, calls(broken), result())["param"] == f"messages[1].tool_calls[0].{param}"


def test_an_empty_list_of_calls_is_refused() -> None:
    message = {"role": "assistant", "content": "hi", "tool_calls": []}
    assert refusal(USER, message)["param"] == "messages[1].tool_calls"


def test_one_id_for_two_calls_of_a_message_is_refused() -> None:
    assert "occurs twice" in refusal(USER, calls(call("a"), call("a")), result("a"))["message"]


@pytest.mark.parametrize("after", [[], [USER], [result("call_1"), USER], [{"role": "assistant", "content": "x"}]])
def test_calls_without_all_their_results_are_refused_with_the_missing_ids(after: list[Any]) -> None:
    message = refusal(USER, calls(call("call_1"), call("call_2")), *after)["message"]
    assert "must be followed by tool messages responding to each 'tool_call_id'" in message
    assert message.endswith("call_2")


@pytest.mark.parametrize(
    "messages",
    [
        [USER, result("zzz")],
        [USER, calls(call("a")), result("b")],
        [USER, calls(call("a")), result("a"), result("a")],
        [USER, calls(call("a")), result("a"), USER, result("a")],
    ],
)
def test_a_result_without_an_open_call_is_refused(messages: list[Any]) -> None:
    assert "must be a response to a preceding message" in refusal(*messages)["message"]


@pytest.mark.parametrize(
    ("message", "param"),
    [
        ({"role": "tool", "content": "18"}, "messages[2].tool_call_id"),
        ({"role": "tool", "tool_call_id": "call_1"}, "messages[2].content"),
        (result(content=None), "messages[2].content"),
        (result(content=[{"type": "image_url", "image_url": {}}]), "messages[2].content[0].type"),
    ],
)
def test_a_result_of_a_wrong_shape_is_refused_at_its_place(message: dict[str, Any], param: str) -> None:
    assert refusal(USER, calls(call()), message)["param"] == param


@pytest.mark.parametrize(
    ("tools", "param"),
    [
        ([], "tools"),
        ([TOOL] * 129, "tools"),
        ("get_weather", "tools"),
        ([{"function": {"name": "f"}}], "tools[0].type"),
        ([{"type": "web"}], "tools[0].type"),
        ([{"type": "function"}], "tools[0].function"),
        ([{"type": "function", "function": {}}], "tools[0].function.name"),
        ([{"type": "function", "function": {"name": "get weather"}}], "tools[0].function.name"),
        ([{"type": "function", "function": {"name": "wetter_für"}}], "tools[0].function.name"),
        ([{"type": "function", "function": {"name": "x" * 65}}], "tools[0].function.name"),
        ([{"type": "function", "function": {"name": "f\n"}}], "tools[0].function.name"),
        ([TOOL, TOOL], "tools[1]"),
        ([{"type": "function", "function": {"name": "f", "description": 3}}], "tools[0].function.description"),
        ([{"type": "function", "function": {"name": "f", "parameters": []}}], "tools[0].function.parameters"),
        (
            [{"type": "function", "function": {"name": "f", "parameters": {"type": "array"}}}],
            "tools[0].function.parameters",
        ),
    ],
)
def test_tools_of_a_wrong_shape_are_refused_at_their_place(tools: Any, param: str) -> None:
    assert refusal(tools=tools)["param"] == param


@pytest.mark.parametrize(
    ("choice", "param"),
    [
        ("sometimes", "tool_choice"),
        (3, "tool_choice"),
        ({"type": "function"}, "tool_choice.function"),
        ({"type": "tool", "name": "get_weather"}, "tool_choice.type"),
        ({"type": "function", "function": {"name": "get_time"}}, "tool_choice.function.name"),
        (
            {"type": "allowed_tools", "allowed_tools": {"mode": "none", "tools": [TOOL]}},
            "tool_choice.allowed_tools.mode",
        ),
        (
            {
                "type": "allowed_tools",
                "allowed_tools": {"mode": "auto", "tools": [{"type": "function", "function": {"name": "get_time"}}]},
            },
            "tool_choice.function.name",
        ),
    ],
)
def test_a_tool_choice_that_is_none_is_refused(choice: Any, param: str) -> None:
    assert refusal(tools=[TOOL], tool_choice=choice)["param"] == param


def test_a_choice_without_tools_is_refused() -> None:
    assert refusal(tool_choice="required")["param"] == "tool_choice"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("temperature", 2.1),
        ("temperature", "hot"),
        ("temperature", True),
        ("top_p", -0.1),
        ("frequency_penalty", 3),
        ("presence_penalty", -3),
        ("max_tokens", 0),
        ("max_tokens", 1.5),
        ("max_completion_tokens", "9"),
        ("n", 0),
        ("seed", 1.5),
        ("top_logprobs", 21),
        ("top_logprobs", 2),
        ("stream", "yes"),
        ("logprobs", 1),
        ("store", "no"),
        ("stream_options", {"include_usage": True}),
        ("parallel_tool_calls", False),
        ("logit_bias", []),
        ("metadata", "x"),
        ("reasoning_effort", "enormous"),
        ("stop", 3),
        ("stop", []),
        ("stop", ["a", "b", "c", "d", "e"]),
    ],
)
def test_a_field_out_of_its_bounds_is_refused_by_name(field: str, value: Any) -> None:
    assert refusal(**{field: value})["param"] == field


def test_two_limits_of_tokens_are_refused() -> None:
    assert refusal(max_tokens=5, max_completion_tokens=5)["param"] == "max_tokens"


def test_a_stop_word_must_be_a_string() -> None:
    assert refusal(stop=["a", 3])["param"] == "stop[1]"


@pytest.mark.parametrize(
    ("wanted", "param"),
    [
        ("json", "response_format"),
        ({"type": "xml"}, "response_format.type"),
        ({"type": "json_schema"}, "response_format.json_schema"),
        ({"type": "json_schema", "json_schema": {"name": "a b"}}, "response_format.json_schema.name"),
        ({"type": "json_schema", "json_schema": {"name": "a", "schema": []}}, "response_format.json_schema.schema"),
        ({"type": "json_object"}, "messages"),
    ],
)
def test_a_response_format_that_is_none_is_refused(wanted: Any, param: str) -> None:
    assert refusal(response_format=wanted)["param"] == param


@pytest.mark.parametrize(
    "messages",
    [
        [{"role": "system", "content": "Be brief."}, USER],
        [{"role": "developer", "content": [{"type": "text", "text": "Be brief."}]}, USER],
        [{"role": "user", "content": ""}],
        [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}]}],
        [{"role": "user", "content": [{"type": "file", "file": {"file_id": "file-1"}}]}],
        [USER, {"role": "assistant", "content": "", "refusal": None}],
        [USER, {"role": "assistant", "refusal": "no"}, USER],
        [USER, calls(call("a"), call("b")), result("b"), result("a"), {"role": "assistant", "content": "18"}],
        [USER, calls(call("a")), result("a"), calls(call("a")), result("a", [{"type": "text", "text": "18"}])],
        [USER, calls(call(arguments='{"city": "Tok')), result()],
        [USER, calls({"id": "c", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}), result("c")],
    ],
)
def test_histories_that_strict_servers_take_are_accepted(messages: list[Any]) -> None:
    assert accepted(*messages)


@pytest.mark.parametrize(
    "fields",
    [
        {"tools": [TOOL], "tool_choice": "required", "parallel_tool_calls": False},
        {"tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "get_weather"}}},
        {"tools": [TOOL], "tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [TOOL]}}},
        {"tools": [{"type": "custom", "custom": {"name": "sql"}}]},
        {"tool_choice": "none"},
        {"stream": True, "stream_options": {"include_usage": True}},
        {"logprobs": True, "top_logprobs": 2, "stop": ["\n"], "seed": 1, "temperature": 0, "max_tokens": None},
        {"response_format": {"type": "json_schema", "json_schema": {"name": "out", "schema": {"type": "object"}}}},
        {"thinking": {"type": "disabled"}, "top_k": 5},
    ],
)
def test_fields_that_strict_servers_take_are_accepted(fields: dict[str, Any]) -> None:
    assert accepted(**fields)


@settings(deadline=None)
@given(messages=st.lists(VALUES, max_size=4), tools=VALUES, tool_choice=VALUES, response_format=VALUES, stop=VALUES)
def test_no_json_at_all_makes_the_checks_fall_over(**fields: Any) -> None:
    refused = check_chat_request({"model": "m", **fields})
    assert refused is None or set(refused["error"]) == {"message", "type", "param", "code"}
