"""Anthropic Messages, whole: what is sent beyond the table of three bodies, and how replies are read."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentloop.errors import ConfigError, ContextOverflow, ProtocolError, QuotaExceeded, ServerError
from agentloop.messages import AssistantMessage, SystemMessage, ToolMessage, UserMessage
from agentloop.model import ModelRequest, ModelResponse, Options
from agentloop.parts import AudioPart, FilePart, ReasoningPart, TextPart, ToolCall, VendorPart
from agentloop.wire.anthropic import AnthropicTokensWire, AnthropicWire
from agentloop.wire.codec import as_json
from agentloop.wire.errors import status_error
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


def reply(*content: Any, stop: Any = "end_turn", history: Any = (HI,), **body: Any) -> ModelResponse:
    value = {"id": "msg_1", "model": "m", "content": list(content), "stop_reason": stop, **body}
    return wire().decode(json.dumps(value).encode(), ModelRequest(history))


def thinking(text: str, signature: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": text, "signature": signature}


def tool_use(call_id: str = "tu1", **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": "f", "input": given}


# --- requests --------------------------------------------------------------------------------------------------------


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


# --- replies ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("tool_use", "tool_calls"),
        ("pause_turn", "pause"),
        ("refusal", "content_filter"),
        (None, None),
    ],
)
def test_each_stop_reason_has_its_meaning(word: Any, reason: Any) -> None:
    response = reply({"type": "text", "text": "x"}, stop=word)
    assert (response.finish_reason, response.raw_finish_reason, response.notes) == (reason, word, ())


def test_an_unknown_stop_reason_is_other_and_told() -> None:
    response = reply({"type": "text", "text": "x"}, stop="bored")
    assert (response.finish_reason, response.notes) == ("other", ("stop reason 'bored' was read as other",))


def test_a_refusal_says_why() -> None:
    details = {"type": "refusal", "category": "cyber", "explanation": "Not this."}
    assert reply(stop="refusal", stop_details=details).notes == ("the provider refused: cyber: Not this.",)


def test_input_tokens_count_what_the_cache_read_and_wrote() -> None:
    usage = {
        "input_tokens": 10,
        "cache_creation_input_tokens": 200,
        "cache_read_input_tokens": 3000,
        "output_tokens": 50,
        "output_tokens_details": {"thinking_tokens": 20},
    }
    found = reply(usage=usage).usage
    assert (found.input_tokens, found.output_tokens, found.reasoning_tokens) == (3210, 50, 20)
    assert (found.cached_tokens, found.cache_write_tokens, found.complete) == (3000, 200, True)


def test_usage_that_is_missing_is_unknown_and_not_zero() -> None:
    usage = reply().usage
    assert (usage.input_tokens, usage.output_tokens, usage.complete) == (None, None, False)


THINKING = [thinking("alpha", "SIG-1"), {"type": "redacted_thinking", "data": "OPAQUE=="}, thinking("", "SIG-2")]
SEARCHED = [
    {"type": "server_tool_use", "id": "st1", "name": "web_search", "input": {"query": "x"}},
    {"type": "web_search_tool_result", "tool_use_id": "st1", "content": [{"url": "https://example.org"}]},
    {"type": "text", "text": "Found.", "citations": [{"type": "char_location", "cited_text": "x"}]},
]


@pytest.mark.parametrize(
    "content",
    [
        [*THINKING, tool_use()],
        [*SEARCHED, {"type": "text", "text": " And more."}],
        [{"type": "text", "text": "a"}, tool_use("t1"), thinking("between", "SIG"), tool_use("t2", a=1)],
        [{"type": "tomorrow", "secret": [1, {"b": None}]}, {"type": "text", "text": "x", "tomorrow": 1}],
        [{"type": "tool_use", "id": "t1", "name": "f", "input": {}, "caller": {"type": "direct"}}],
    ],
)
def test_a_turn_goes_back_exactly_as_it_came(content: list[Any]) -> None:
    response = reply(*content, stop="tool_use")
    results = [ToolMessage(call.id, "1") for call in response.tool_calls]
    assert sent(HI, response.message, *results)["messages"][1]["content"] == content


def test_what_the_model_thought_can_be_read_and_is_no_text() -> None:
    response = reply(*THINKING, {"type": "text", "text": "Answer."})
    assert (response.reasoning, response.text) == ("alpha", "Answer.")


def test_an_item_of_another_provider_stays_at_home() -> None:
    message = reply(*THINKING, {"type": "text", "text": "Answer."}).message
    other = AnthropicWire("claude-x", "other", Quirks(reasoning="never"))
    assert blocks(HI, message, wire=other) == [{"type": "text", "text": "Answer."}]


def test_an_unknown_block_is_kept_and_told() -> None:
    response = reply({"type": "tomorrow", "x": 1})
    assert response.message.parts == (VendorPart("anthropic", "p", {"type": "tomorrow", "x": 1}),)
    assert response.notes == ("a content block of type tomorrow was kept as it is",)


def test_thinking_that_was_cut_before_its_signature_does_not_go_back() -> None:
    response = reply(thinking("half a tho", ""), stop="max_tokens")
    assert response.message.parts == (ReasoningPart("half a tho"),)


def test_calls_get_ids_and_the_same_call_twice_is_one() -> None:
    response = reply(tool_use("", a=1), tool_use("x"), tool_use("x"), stop="tool_use")
    assert [call.id for call in response.tool_calls] == ["call_1_1", "x"]
    assert [repair.what for repair in response.repairs] == [
        "tool call without an id",
        "the same tool call twice in one reply is one call",
    ]


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"", ProtocolError),
        (b"[]", ProtocolError),
        (b'{"id": "msg_1"}', ProtocolError),
        (b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}', ServerError),
    ],
)
def test_a_body_that_is_no_message_is_an_error_that_may_be_retried(body: bytes, kind: type[ProtocolError]) -> None:
    with pytest.raises(kind) as caught:
        wire().decode(body, ModelRequest((HI,)))
    assert caught.value.retryable is (body != b"[]")


@pytest.mark.parametrize(
    ("status", "error", "kind", "retryable"),
    [
        (529, {"type": "overloaded_error", "message": "Overloaded"}, ServerError, True),
        (402, {"type": "billing_error", "message": "Pay"}, QuotaExceeded, False),
        (400, {"type": "invalid_request_error", "message": "prompt is too long: 9 tokens > 8"}, ContextOverflow, False),
    ],
)
def test_errors_have_their_class(status: int, error: Any, kind: type[Exception], retryable: bool) -> None:
    found = status_error(json.dumps({"type": "error", "error": error}).encode(), status=status)
    assert (type(found), found.retryable) == (kind, retryable)


def test_the_stable_code_of_an_error_is_its_code() -> None:
    details = {"error_code": "thinking_signature_invalid"}
    body = {"type": "error", "error": {"type": "invalid_request_error", "message": "no", "details": details}}
    assert status_error(body, status=400).code == "thinking_signature_invalid"


def test_a_filter_that_answers_with_400_is_a_verdict() -> None:
    error = {"type": "invalid_request_error", "message": "Output blocked by content filtering policy"}
    found = wire().filtered(json.dumps({"type": "error", "error": error}).encode())
    assert found is not None
    assert (found.finish_reason, found.notes) == ("content_filter", ("Output blocked by content filtering policy",))
    assert wire().filtered(b'{"type":"error","error":{"message":"no"}}') is None


def test_a_count_is_the_usage_of_a_reply_that_says_nothing() -> None:
    counting = AnthropicTokensWire("m", "p", Quirks())
    assert counting.decode(b'{"input_tokens": 12}', ModelRequest((HI,))).usage.input_tokens == 12
    with pytest.raises(ProtocolError, match="does not say `input_tokens`"):
        counting.decode(b"{}", ModelRequest((HI,)))
