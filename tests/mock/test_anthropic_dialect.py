"""Anthropic Messages at the mock: one row per check, and how replies and errors look."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from agentloop.mock import MockProvider, Question, Reply, mock_handler
from agentloop.mock.anthropic_checks import check_count_request, check_messages_request
from agentloop.mock.conversation import Call

USER = {"role": "user", "content": "hi"}
CALL = {"type": "tool_use", "id": "tu_1", "name": "f", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "tu_1", "content": "18"}
TEXT = {"type": "text", "text": "x"}
TOOL = {"name": "f", "input_schema": {"type": "object"}}
MARKED = {**TEXT, "cache_control": {"type": "ephemeral"}}


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def model(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def refusal(*messages: Any, **fields: Any) -> str:
    body = check_messages_request({"model": "m", "max_tokens": 9, "messages": list(messages) or [USER], **fields})
    return "" if body is None else body["error"]["message"]


@pytest.mark.parametrize(
    "messages",
    [
        [USER],
        [user(TEXT, {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}})],
        [USER, model(CALL), user(RESULT, TEXT)],
        [USER, model(TEXT, CALL, {**CALL, "id": "tu_2"}), user({**RESULT, "tool_use_id": "tu_2"}, RESULT)],
        [
            USER,
            model({"type": "thinking", "thinking": "", "signature": "s"}, CALL),
            user({**RESULT, "content": [TEXT]}),
        ],
        [USER, model(TEXT)],
    ],
)
def test_a_good_history_is_accepted(messages: list[Any]) -> None:
    assert refusal(*messages) == ""


@pytest.mark.parametrize(
    ("messages", "told"),
    [
        ([model(TEXT)], 'first message must use the "user" role'),
        ([USER, USER], "roles must alternate"),
        ([{"role": "system", "content": "x"}], "Supported values are: 'user', 'assistant'"),
        ([user()], "Expected at least 1 item"),
        ([user({"type": "text", "text": " "})], "must contain non-whitespace text"),
        ([{"role": "user", "content": ""}], "must contain non-whitespace text"),
        ([USER, model(CALL)], "`tool_use` ids were found without `tool_result` blocks immediately after: tu_1"),
        ([USER, model(CALL), USER], "without `tool_result` blocks immediately after: tu_1"),
        ([USER, model(CALL), user(TEXT, RESULT)], "without `tool_result` blocks immediately after: tu_1"),
        ([user(RESULT)], "unexpected `tool_use_id` found in `tool_result` blocks: tu_1"),
        ([USER, model(CALL), user(RESULT, RESULT)], "unexpected `tool_use_id`"),
        ([USER, model({**CALL, "id": "a.b"})], "should match pattern '^[a-zA-Z0-9_-]+$'"),
        ([USER, model({**CALL, "input": "{}"})], "expected an object, but got a string"),
        ([USER, model({**CALL, "name": "a b"})], "should match pattern"),
        ([USER, model({"type": "thinking", "thinking": "x"})], "messages.1.content.0.signature"),
        ([USER, model({"type": "thinking", "thinking": "x", "signature": ""})], "Invalid `signature`"),
        ([user(CALL)], "Invalid value: 'tool_use'"),
    ],
)
def test_a_history_that_the_original_refuses(messages: list[Any], told: str) -> None:
    assert told in refusal(*messages)


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"max_tokens": "9"}, "expected an integer"),
        ({"temperature": 1.5}, "above the maximum of 1"),
        ({"frequency_penalty": 1}, "frequency_penalty: Extra inputs are not permitted"),
        ({"stop_sequences": [" "]}, "must contain non-whitespace"),
        ({"tools": [{"name": "f"}]}, "tools.0.input_schema"),
        ({"tools": [{**TOOL, "input_schema": {}}]}, "Input should be 'object'"),
        ({"tools": [TOOL, TOOL]}, "Tool names must be unique"),
        ({"tool_choice": {"type": "auto"}}, "only be specified while providing tools"),
        ({"tools": [TOOL], "tool_choice": "auto"}, "expected an object, but got a string"),
        ({"tools": [TOOL], "tool_choice": {"type": "tool", "name": "g"}}, "Tool 'g' not found"),
        ({"system": [{"type": "image"}]}, "Supported values are: 'text'"),
        ({"thinking": {"type": "enabled"}}, "thinking.budget_tokens"),
        ({"thinking": {"type": "enabled", "budget_tokens": 1024}}, "`max_tokens` must be greater"),
        ({"system": [MARKED] * 5}, "A maximum of 4 blocks with cache_control may be provided. Found 5."),
    ],
)
def test_a_field_that_the_original_refuses(fields: Any, told: str) -> None:
    assert told in refusal(**fields)


def test_max_tokens_is_required_for_a_reply_and_refused_for_a_count() -> None:
    counted = {"model": "m", "messages": [USER]}
    assert check_count_request(counted) is None
    assert "max_tokens" in str(check_messages_request(counted))
    assert "max_tokens: Extra inputs" in str(check_count_request({**counted, "max_tokens": 9}))


@pytest.mark.parametrize(("version", "status"), [("2023-06-01", 200), ("2026-10-21", 400)])
def test_the_newer_version_has_no_sampling(version: str, status: int) -> None:
    assert ask(Reply("x"), headers=[("anthropic-version", version)], temperature=0).status_code == status


# --- replies ---------------------------------------------------------------------------------------------------------


def ask(reply: Reply, *, headers: Any = (("anthropic-version", "2023-06-01"),), **fields: Any) -> httpx.Response:
    def scenario(question: Question) -> Reply:
        return reply

    body = {"model": "m", "max_tokens": 100, "messages": [USER], **fields}
    with httpx.Client(transport=httpx.MockTransport(mock_handler(scenario, require_key="sk-key-1"))) as client:
        given = {"x-api-key": "sk-key-1", **dict(headers)}
        return client.post("http://mock/v1/messages", json=body, headers=given)


THOUGHTFUL = Reply("Hello.", (Call.of("f", a=1),), reasoning="Hm.")


def test_a_whole_reply_has_its_blocks_in_order() -> None:
    body = ask(THOUGHTFUL).json()
    assert [block["type"] for block in body["content"]] == ["thinking", "text", "tool_use"]
    assert (body["content"][2]["input"], body["stop_reason"], body["stop_sequence"]) == ({"a": 1}, "tool_use", None)


def test_a_streamed_reply_has_the_events_of_the_original_in_order() -> None:
    events = [json.loads(line[6:]) for line in ask(THOUGHTFUL, stream=True).text.splitlines() if line[:5] == "data:"]
    kinds = [event["type"] for event in events]
    assert kinds[:2] == ["message_start", "ping"]
    assert kinds[-2:] == ["message_delta", "message_stop"]
    assert kinds.count("content_block_start") == kinds.count("content_block_stop") == 3
    pieces = [e["delta"]["partial_json"] for e in events if e.get("delta", {}).get("type") == "input_json_delta"]
    assert json.loads("".join(pieces)) == {"a": 1}


@pytest.mark.parametrize(
    ("word", "reason"), [("length", "max_tokens"), ("pause", "pause_turn"), ("refusal", "refusal")]
)
def test_a_finish_word_becomes_the_stop_reason(word: str, reason: str) -> None:
    assert ask(Reply("x", finish=word)).json()["stop_reason"] == reason


@pytest.mark.parametrize(
    ("headers", "status", "kind"),
    [
        ({}, 400, "invalid_request_error"),
        ({"anthropic-version": "2020-01-01"}, 400, "invalid_request_error"),
        ({"anthropic-version": "2023-06-01", "x-api-key": "sk-wrong-1"}, 401, "authentication_error"),
    ],
)
def test_an_error_has_the_shape_of_the_original(headers: Any, status: int, kind: str) -> None:
    response = ask(Reply("x"), headers=headers.items())
    body = response.json()
    assert (response.status_code, body["type"], body["error"]["type"]) == (status, "error", kind)
    assert body["request_id"] == response.headers["request-id"]


@pytest.mark.parametrize(
    ("status", "kind"),
    [(400, "invalid_request_error"), (429, "rate_limit_error"), (503, "api_error"), (529, "overloaded_error")],
)
def test_a_fault_has_the_shape_of_the_original(status: int, kind: str) -> None:
    with MockProvider(faults=f"status={status}") as mock:
        response = httpx.post(f"{mock.base_url}/messages", json={})
    assert (response.status_code, response.json()["type"], response.json()["error"]["type"]) == (status, "error", kind)


def test_an_error_within_a_stream_is_an_event_of_its_name() -> None:
    body = {"model": "m", "max_tokens": 9, "messages": [USER], "stream": True}
    with MockProvider("echo", faults="error=boom,type=odd_error") as mock:
        answer = httpx.post(f"{mock.base_url}/messages", json=body, headers={"anthropic-version": "2023-06-01"})
    assert 'event: error\ndata: {"type": "error", "error": {"type": "odd_error", "message": "boom"}' in answer.text
