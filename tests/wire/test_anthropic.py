"""Anthropic Messages: what is sent beyond the table of three bodies."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentloop.errors import ConfigError
from agentloop.messages import AssistantMessage, SystemMessage, ToolMessage, UserMessage
from agentloop.model import ModelRequest, Options
from agentloop.parts import AudioPart, FilePart, ReasoningPart, TextPart, ToolCall
from agentloop.wire.anthropic import AnthropicTokensWire, AnthropicWire
from agentloop.wire.codec import as_json
from agentloop.wire.quirks import Quirks, preset

HI = UserMessage("hi")
WEATHER: dict[str, Any] = {"type": "function", "function": {"name": "get_weather", "parameters": {}}}


def wire(model: str = "claude-x", **quirks: Any) -> AnthropicWire:
    return AnthropicWire(model, "p", Quirks(**quirks))


WIRE = wire()


def sent(*messages: Any, wire: Any = WIRE, tools: Any = (), **fields: Any) -> dict[str, Any]:
    return json.loads(wire.encode(ModelRequest(messages or (HI,), tuple(tools), **fields)).body)


def blocks(*messages: Any, **given: Any) -> list[Any]:
    """The content of the last message of the body."""
    return sent(*messages, **given)["messages"][-1]["content"]


@pytest.mark.parametrize(
    ("model", "bound"),
    [("claude-3-haiku-1", 4096), ("claude-3-5-sonnet-1", 8192), ("claude-opus-4-1", 16384), ("deepseek-flash", 8192)],
)
def test_max_tokens_is_always_sent_and_depends_on_the_model(model: str, bound: int) -> None:
    assert sent(wire=wire(model))["max_tokens"] == bound


def test_max_tokens_can_be_set_for_a_client_and_for_a_call() -> None:
    assert sent(wire=wire(default_max_tokens=77))["max_tokens"] == 77
    assert sent(wire=wire(default_max_tokens=77), options={"max_tokens": 5})["max_tokens"] == 5


def test_the_version_is_a_header_and_a_setting() -> None:
    assert wire().headers == {"anthropic-version": "2023-06-01"}
    assert wire(anthropic_version="2026-10-21").headers == {"anthropic-version": "2026-10-21"}


def test_a_version_without_sampling_refuses_it_with_advice() -> None:
    with pytest.raises(ConfigError, match="anthropic-version 2026-10-21 refuses temperature: leave it out"):
        sent(wire=wire(anthropic_version="2026-10-21"), options={"temperature": 0.5})


def test_cache_breakpoints_stand_behind_tools_system_text_and_the_last_message() -> None:
    mark = {"cache_control": {"type": "ephemeral"}}
    body = sent(SystemMessage("Be brief."), HI, wire=wire(cache="turns"), tools=[WEATHER, WEATHER])
    assert [tool.get("cache_control") for tool in body["tools"]] == [None, {"type": "ephemeral"}]
    assert body["system"] == [{"type": "text", "text": "Be brief.", **mark}]
    assert body["cache_control"] == {"type": "ephemeral"}
    assert "cache_control" not in sent(wire=wire(cache="head"))
    assert "cache_control" not in as_json(sent(SystemMessage("Be brief."), HI, tools=[WEATHER]))


def test_results_come_first_in_the_one_user_turn_after_the_calls() -> None:
    calls = AssistantMessage(None, (ToolCall("a", "f"), ToolCall("b", "f")))
    content = blocks(HI, calls, UserMessage("stop"), ToolMessage("b", "2"), ToolMessage("a", "1"))
    assert [(b["type"], b.get("tool_use_id")) for b in content] == [
        ("tool_result", "a"),
        ("tool_result", "b"),
        ("text", None),
    ]


def test_a_history_that_begins_with_the_model_gets_a_user_turn_before_it() -> None:
    roles = [message["role"] for message in sent(AssistantMessage("Hello."), HI)["messages"]]
    assert roles == ["user", "assistant", "user"]


def test_blank_text_is_never_sent() -> None:
    turn = AssistantMessage((TextPart("\n\n"), ToolCall("a", "f")))
    body = sent(UserMessage(" "), turn, ToolMessage("a", " \n"))["messages"]
    assert body[0]["content"] == [{"type": "text", "text": "(no text)"}]
    assert [block["type"] for block in body[1]["content"]] == ["tool_use"]
    assert body[2]["content"][0]["content"] == "(no output)"


@given(st.dictionaries(st.text(max_size=3), st.floats(allow_nan=False) | st.integers() | st.text(max_size=3)))
def test_arguments_go_back_byte_for_byte(value: dict[str, Any]) -> None:
    raw = json.dumps(value, allow_nan=True)
    if "Infinity" in raw:
        raw = raw.replace("Infinity", "1e999")  # valid JSON for a number that no float holds
    history = (HI, AssistantMessage(None, (ToolCall("a", "f", raw),)), ToolMessage("a", "1"))
    body = wire().encode(ModelRequest(history)).body
    assert b'"input":' + raw.encode() + b"}" in body


def test_different_odd_ids_stay_different_and_match_their_results() -> None:
    calls = AssistantMessage(None, (ToolCall("a.b", "f"), ToolCall("a:b", "f")))
    body = sent(HI, calls, ToolMessage("a.b", "1"), ToolMessage("a:b", "2"))["messages"]
    ids = [block["id"] for block in body[1]["content"]]
    assert ids[0] != ids[1]
    assert [block["tool_use_id"] for block in body[2]["content"]] == ids


def test_a_file_by_address_and_a_handwritten_cache_mark() -> None:
    mark = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
    file = FilePart(url="https://example.org/a.pdf", extra=mark)
    content = blocks(UserMessage((TextPart("Read.", {**mark, "other": 1}), file)))
    assert content == [
        {"type": "text", "text": "Read.", **mark},
        {"type": "document", "source": {"type": "url", "url": "https://example.org/a.pdf"}, **mark},
    ]


def test_audio_becomes_a_note_for_the_model_and_for_the_caller() -> None:
    encoded = wire().encode(ModelRequest((UserMessage((AudioPart("AAAA"),)),)))
    assert b"[input_audio left out: it cannot be shown here]" in encoded.body
    assert encoded.notes == ("part input_audio of a user message became a note in its text",)


def test_unsigned_reasoning_goes_only_where_it_is_asked_for() -> None:
    history = (HI, AssistantMessage((ReasoningPart("hm"),), (ToolCall("a", "f"),)), ToolMessage("a", "1"))
    deepseek = AnthropicWire("m", "deepseek-anthropic", preset("deepseek-anthropic"))
    kinds = [
        [b["type"] for b in sent(*history, wire=w)["messages"][1]["content"]]
        for w in (deepseek, wire(reasoning="never"))
    ]
    assert kinds == [["thinking", "tool_use"], ["tool_use"]]


@pytest.mark.parametrize(("policy", "kinds"), [("always", ["thinking", "text"]), ("tool_turns", ["text"])])
def test_unsigned_reasoning_of_a_turn_without_calls_follows_the_policy(policy: Any, kinds: list[str]) -> None:
    turn = AssistantMessage((ReasoningPart("hm"), TextPart("x")))
    assert [
        block["type"] for block in sent(HI, turn, HI, wire=wire(reasoning=policy))["messages"][1]["content"]
    ] == kinds


def test_a_system_message_that_moves_to_the_front_is_told() -> None:
    found = [
        WIRE.encode(ModelRequest(messages)).notes for messages in ((SystemMessage("x"), HI), (HI, SystemMessage("x")))
    ]
    assert found == [(), ("a system message amid the conversation was moved to its front",)]


@pytest.mark.parametrize(
    ("choice", "body"),
    [
        ("auto", {"type": "auto"}),
        ("none", {"type": "none"}),
        ("required", {"type": "any"}),
        ("get_weather", {"type": "tool", "name": "get_weather"}),
        ({"type": "function", "function": {"name": "get_weather"}}, {"type": "tool", "name": "get_weather"}),
        ({"type": "any"}, {"type": "any"}),
    ],
)
def test_each_tool_choice_has_its_form(choice: Any, body: Any) -> None:
    assert sent(tools=[WEATHER], tool_choice=choice)["tool_choice"] == body


@pytest.mark.parametrize(("choice", "kept"), [(None, True), ("none", False)])
def test_one_call_at_a_time_is_part_of_the_choice(choice: Any, kept: bool) -> None:
    body = sent(tools=[WEATHER], tool_choice=choice, options={"parallel_tool_calls": False})
    assert body["tool_choice"].get("disable_parallel_tool_use", False) is kept


def test_a_tool_in_the_form_of_this_wire_goes_as_it_is() -> None:
    search = {"type": "web_search_20250305", "name": "web_search", "max_uses": 2}
    assert sent(tools=[search])["tools"] == [search]


def test_a_schema_without_a_type_is_one_of_an_object() -> None:
    assert sent(tools=[WEATHER])["tools"] == [{"name": "get_weather", "input_schema": {"type": "object"}}]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 2}, "gives one reply"),
        ({"response_format": {"type": "json_object"}}, "has no response_format 'json_object'"),
        ({"temprature": 1}, "did you mean temperature"),
    ],
)
def test_an_option_that_would_change_the_meaning_is_refused(options: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        sent(options=options)


def test_an_option_without_a_place_is_left_out_and_told() -> None:
    options: Options = {"seed": 1, "store": False, "metadata": {"user_id": "u", "team": "t"}, "service_tier": "flex"}
    encoded = wire().encode(ModelRequest((HI,), options=options))
    assert json.loads(encoded.body)["metadata"] == {"user_id": "u"}
    assert encoded.notes == (
        "option seed has no place in Anthropic Messages and was left out",
        "of the option metadata only user_id has a place in Anthropic Messages",
        "service_tier 'flex' is none of Anthropic Messages and was left out",
    )


def test_extra_body_wins_over_what_has_a_name() -> None:
    body = sent(options={"extra_body": {"thinking": {"type": "adaptive"}, "system": "Mine.", "max_tokens": 9}})
    assert (body["thinking"], body["system"], body["max_tokens"]) == ({"type": "adaptive"}, "Mine.", 9)


def test_no_effort_turns_thinking_off() -> None:
    assert sent(options={"reasoning_effort": "none"})["thinking"] == {"type": "disabled"}
    assert sent(options={"reasoning_effort": "minimal"})["output_config"] == {"effort": "low"}


def test_a_system_message_alone_is_no_request() -> None:
    with pytest.raises(ConfigError, match="at least one message that is not a system message"):
        sent(SystemMessage("Be brief."))


def test_a_request_to_count_has_nothing_of_the_reply() -> None:
    counting = AnthropicTokensWire("claude-x", "p", Quirks())
    options: Options = {"max_tokens": 5, "temperature": 1, "stop": "x", "user": "u"}
    assert [*sent(SystemMessage("Be brief."), HI, wire=counting, options=options, stream=True)] == [
        "model",
        "system",
        "messages",
    ]
