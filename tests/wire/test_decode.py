"""Whole Chat Completions replies: what real servers send becomes one clean value, or a typed error."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from agentloop.errors import ContextOverflow, ProtocolError, RateLimited, ServerError, StatusError
from agentloop.messages import AssistantMessage, ToolCall, UserMessage
from agentloop.model import ModelRequest, ModelResponse, Usage
from agentloop.wire.chat import ChatWire

Decode = Callable[..., ModelResponse]
REQUEST = ModelRequest((UserMessage("hi"),))


def call(arguments: Any = "{}", **function: Any) -> dict[str, Any]:
    return {"id": "c1", "type": "function", "function": {"name": "f", "arguments": arguments, **function}}


def test_a_reply_is_text_with_its_id_model_and_usage(decode: Decode) -> None:
    usage = {
        "prompt_tokens": 9,
        "completion_tokens": 12,
        "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 2},
        "completion_tokens_details": {"reasoning_tokens": 5},
    }
    response = decode({"role": "assistant", "content": "Hi"}, id="r1", model="m-2", usage=usage)
    assert response.message == AssistantMessage("Hi")
    assert (response.finish_reason, response.id, response.model, response.provider) == ("stop", "r1", "m-2", "custom")
    assert response.usage == Usage(9, 12, 4, 2, 5, requests=1)
    assert (response.notes, response.repairs) == ((), ())


# --- finish reasons --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("stop", "stop"),
        ("eos", "stop"),
        ("length", "length"),
        ("model_length", "length"),
        ("tool_calls", "tool_calls"),
        ("tool_use", "tool_calls"),
        ("function_call", "tool_calls"),
        ("content_filter", "content_filter"),
        ("refusal", "content_filter"),
        ("safety", "content_filter"),
        ("SAFETY", "content_filter"),
        ("something new", "other"),
        ("unknown", "other"),
        (7, "other"),
        ("", None),
        (None, None),
    ],
)
def test_finish_reasons_and_the_vendors_own_word(decode: Decode, word: Any, reason: str | None) -> None:
    response = decode({"content": "x"}, word)
    assert response.finish_reason == reason
    assert response.raw_finish_reason == (word if word is None else str(word))


@pytest.mark.parametrize("word", ["error", "insufficient_system_resource"])
def test_a_finish_reason_of_failure_is_raised_with_the_partial_reply(decode: Decode, word: str) -> None:
    with pytest.raises(ServerError, match=word) as caught:
        decode({"content": "half"}, word)
    assert caught.value.retryable
    assert caught.value.partial is not None
    assert caught.value.partial.text == "half"


@pytest.mark.parametrize("word", ["stop", "other", "unknown", "eos", "", None, "tool_use", "function_call"])
def test_calls_are_there_whatever_the_finish_word_says(decode: Decode, word: str | None) -> None:
    response = decode({"role": "assistant", "content": "Looking...", "tool_calls": [call()]}, word)
    assert response.tool_calls == (ToolCall("c1", "f", "{}"),)
    assert response.raw_finish_reason == word


@pytest.mark.parametrize("calls", [{"tool_calls": []}, {"tool_calls": None}, {}])
def test_a_finish_word_of_calls_without_any(decode: Decode, calls: dict[str, Any]) -> None:
    response = decode({"role": "assistant", "content": "", **calls}, "tool_calls")
    assert (response.finish_reason, response.tool_calls, response.text) == ("tool_calls", (), "")


def test_a_text_that_was_cut_says_so(decode: Decode) -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": 16, "total_tokens": 25}
    response = decode({"content": "The three steps are: 1."}, "length", usage=usage)
    assert (response.text, response.finish_reason) == ("The three steps are: 1.", "length")


def test_a_filtered_reply_without_content_is_a_verdict(decode: Decode) -> None:
    response = decode({"role": "assistant", "content": None}, "content_filter")
    assert (response.finish_reason, response.text, response.message.content) == ("content_filter", "", None)


def test_arguments_that_a_filter_cut_are_not_mended(decode: Decode) -> None:
    response = decode({"content": None, "tool_calls": [call('{"a":1}}')]}, "content_filter")
    assert response.repairs == ()


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"code": "content_filter", "message": "The response was filtered", "status": 400}},
        {"choices": [{"finish_reason": "content_filter", "message": {"content": None}}]},
        {"choices": [{"finish_reason": "stop", "message": {"content": None, "refusal": "No."}}]},
    ],
)
def test_a_verdict_in_an_http_400(wire: ChatWire, body: Any) -> None:
    response = wire.filtered(json.dumps(body).encode())
    assert response is not None
    assert response.finish_reason == "content_filter" or response.refusal == "No."
    assert response.raw == body


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"[]", b'{"error":{"code":"x"}}', b'{"error":"x"}', b'{"choices":[]}']
)
def test_any_other_http_400_is_no_verdict(wire: ChatWire, body: bytes) -> None:
    assert wire.filtered(body) is None


# --- tool calls ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "text"),
    [({"city": "Zürich", "n": 2}, '{"city":"Zürich","n":2}'), (None, ""), ("", ""), ("  \n", "  \n"), ("null", "null")],
)
def test_arguments_are_kept_as_the_string_the_model_wrote(decode: Decode, arguments: Any, text: str) -> None:
    assert decode({"tool_calls": [call(arguments)]}).tool_calls == (ToolCall("c1", "f", text),)


def test_a_call_without_arguments_or_index_or_type(decode: Decode) -> None:
    assert decode({"tool_calls": [{"id": "c1", "function": {"name": "f"}}]}).tool_calls == (ToolCall("c1", "f", ""),)


def test_mended_arguments_are_a_repair(decode: Decode) -> None:
    response = decode({"tool_calls": [call('{"k":"A"}}')]}, "tool_calls")
    assert response.tool_calls[0].arguments == '{"k":"A"}}'
    assert [repair.after for repair in response.repairs] == ['{"k":"A"}']


@pytest.mark.parametrize("missing", [{}, {"id": None}, {"id": ""}])
def test_a_missing_id_is_made_from_the_step(wire: ChatWire, missing: dict[str, Any]) -> None:
    message = {"tool_calls": [{"function": {"name": "f", "arguments": "{}"}, **missing}]}
    second = ModelRequest((UserMessage("hi"), AssistantMessage("a"), UserMessage("go on")))
    response = wire.decode(json.dumps({"choices": [{"message": message}]}).encode(), second)
    assert [made.id for made in response.tool_calls] == ["call_2_1"]
    assert len(response.repairs) == 1


def test_the_same_call_twice_in_one_reply_is_one(decode: Decode) -> None:
    assert len(decode({"tool_calls": [call(), call()]}).tool_calls) == 1


def test_one_call_that_is_not_in_a_list_and_empty_entries(decode: Decode) -> None:
    assert len(decode({"tool_calls": call()}).tool_calls) == 1
    assert len(decode({"tool_calls": [None, {}, "x", call()]}).tool_calls) == 1


def test_the_deprecated_function_call_is_a_call(decode: Decode) -> None:
    response = decode({"content": None, "function_call": {"name": "f", "arguments": "{}"}}, "function_call")
    assert response.tool_calls == (ToolCall("call_1_1", "f", "{}"),)


def test_a_custom_tool_call_keeps_its_free_text(decode: Decode) -> None:
    custom = {"name": "sql", "input": "select 1"}
    made = decode({"tool_calls": [{"id": "c1", "type": "custom", "custom": custom}]}).tool_calls[0]
    assert (made.name, made.arguments, made.extra) == ("sql", "select 1", {"custom": custom})


# --- usage -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, Usage(requests=1, complete=False)),
        ({"prompt_tokens": None, "completion_tokens": 7}, Usage(None, 7, requests=1, complete=False)),
        ({"prompt_tokens": "9", "completion_tokens": True}, Usage(requests=1, complete=False)),
        ({"prompt_tokens": 9.0, "completion_tokens": 1, "prompt_tokens_details": None}, Usage(9, 1, requests=1)),
        ({"prompt_tokens": 9, "completion_tokens": 1, "prompt_cache_hit_tokens": 8}, Usage(9, 1, 8, requests=1)),
        ([], Usage(requests=1, complete=False)),
    ],
)
def test_usage_that_is_missing_is_unknown(decode: Decode, usage: Any, expected: Usage) -> None:
    assert decode({"content": "x"}, usage=usage).usage == expected


# --- what is no reply ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("body", [b"", b"\n\n\n", b" \r\n"])
def test_an_empty_body_may_be_tried_again(wire: ChatWire, body: bytes) -> None:
    with pytest.raises(ProtocolError, match="body is empty") as caught:
        wire.decode(body, REQUEST)
    assert caught.value.retryable


def test_blank_lines_before_the_body_are_skipped(wire: ChatWire) -> None:
    body = b'\n\n\n\n{"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"2"}}]}'
    assert wire.decode(body, REQUEST).text == "2"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"error": {"message": "Rate limit", "code": 429}}, RateLimited),
        ({"error": {"message": "bad gateway", "code": 502}}, ServerError),
        ({"error": "boom"}, StatusError),
        ({"detail": "Not here"}, StatusError),
        ({"message": "quota"}, StatusError),
        ({"error": {"message": "prompt is too long", "code": "context_length_exceeded"}}, ContextOverflow),
    ],
)
def test_an_error_body_with_status_200(wire: ChatWire, body: Any, kind: type[StatusError]) -> None:
    with pytest.raises(kind):
        wire.decode(json.dumps(body).encode(), REQUEST)


def test_an_error_of_null_is_no_error(decode: Decode) -> None:
    assert decode({"content": "ok"}, error=None).text == "ok"


def test_an_error_inside_the_choice_is_not_an_empty_answer(wire: ChatWire) -> None:
    error = {"code": 502, "message": "x"}
    body = {"choices": [{"index": 0, "finish_reason": "error", "error": error, "message": {"content": ""}}]}
    with pytest.raises(ServerError, match="502: x"):
        wire.decode(json.dumps(body).encode(), REQUEST)


@pytest.mark.parametrize(
    "body", [{"id": None, "choices": None}, {"choices": []}, {}, {"choices": {}}, {"choices": [1]}]
)
def test_a_body_without_choices_may_be_tried_again(wire: ChatWire, body: Any) -> None:
    with pytest.raises(ProtocolError, match="no choices") as caught:
        wire.decode(json.dumps(body).encode(), REQUEST)
    assert caught.value.retryable


def test_a_choice_without_a_message_is_an_empty_reply(wire: ChatWire) -> None:
    body = b'{"choices":[{"index":0,"finish_reason":"content_filter"}]}'
    assert wire.decode(body, REQUEST).message == AssistantMessage(None)
