"""The Responses API at the mock: one row per check, and how replies look."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from agentloop.mock import Question, Reply, mock_handler
from agentloop.mock.conversation import Call
from agentloop.mock.responses_checks import check_responses_request

USER = {"role": "user", "content": "hi"}
CALL = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "18"}
REASONING = {"type": "reasoning", "id": "rs_1", "summary": []}
CUSTOM = {"type": "custom_tool_call", "call_id": "c1", "name": "f", "input": "x"}


def said(role: str, *kinds: str) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": [{"type": kind, "text": "x"} for kind in kinds]}


def refusal(*items: Any, **fields: Any) -> str:
    body = check_responses_request({"model": "m", "input": list(items) or "hi", **fields})
    return "" if body is None else body["error"]["message"]


@pytest.mark.parametrize(
    "items",
    [
        [USER],
        [said("developer", "input_text"), said("assistant", "output_text"), USER],
        [USER, REASONING, CALL, {**CALL, "call_id": "c2"}, {**OUTPUT, "call_id": "c2"}, OUTPUT],
        [USER, CUSTOM, {**OUTPUT, "type": "custom_tool_call_output", "output": [{"type": "input_text", "text": "x"}]}],
    ],
)
def test_a_good_input_is_accepted(items: list[Any]) -> None:
    assert refusal(*items) == ""


@pytest.mark.parametrize(
    ("items", "told"),
    [
        ([USER, CALL], "No tool output found for function call c1."),
        ([OUTPUT], "No tool call found for function call output with call_id c1."),
        ([USER, CALL, OUTPUT, OUTPUT], "No tool call found"),
        ([USER, CUSTOM, OUTPUT], "No tool call found"),
        ([USER, REASONING], "'rs_1' of type 'reasoning' was provided without its required following item."),
        ([USER, REASONING, USER], "'rs_1' of type 'reasoning' was provided without its required following item."),
        ([USER, {"type": "reasoning", "summary": []}, CALL], "input[1].id"),
        ([{"type": "item_reference", "id": "x"}], "Invalid value: 'item_reference'"),
        ([{"role": "tool", "content": "x"}], "Supported values are: 'user', 'assistant', 'system', 'developer'"),
        ([said("user", "text")], "Invalid value: 'text'"),
        ([said("user", "output_text")], "Invalid value: 'output_text'"),
        ([said("assistant", "input_text")], "Invalid value: 'input_text'"),
        ([USER, {**CALL, "arguments": {}}], "expected a string, but got an object"),
        ([USER, {**CALL, "name": "a b"}], "does not match"),
    ],
)
def test_an_input_that_the_original_refuses(items: list[Any], told: str) -> None:
    assert told in refusal(*items)


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"messages": []}, "Unknown parameter: 'messages'."),
        ({"max_tokens": 5}, "Unknown parameter: 'max_tokens'."),
        ({"input": []}, "empty array"),
        ({"previous_response_id": "resp_1"}, "previous_response_id 'resp_1' not found."),
        ({"tools": [{"type": "function", "function": {"name": "f"}}]}, "Missing required parameter: 'tools[0].name'."),
        ({"tools": [{"type": "function", "name": "f", "parameters": {"type": "array"}}]}, "must have type 'object'"),
        ({"tool_choice": {"type": "function", "name": "f"}}, "Tool choice 'f' not found"),
        ({"tool_choice": "any"}, "Supported values are: 'none', 'auto', 'required'"),
        ({"text": {"format": {"type": "json_schema", "schema": {}}}}, "'text.format.name'"),
        ({"stream_options": {}}, "only allowed when 'stream' is enabled"),
        ({"temperature": 3}, "above the maximum of 2"),
    ],
)
def test_a_field_that_the_original_refuses(fields: Any, told: str) -> None:
    assert told in refusal(**fields)


# --- replies ---------------------------------------------------------------------------------------------------------


def ask(reply: Reply, **fields: Any) -> httpx.Response:
    def scenario(question: Question) -> Reply:
        return reply

    with httpx.Client(transport=httpx.MockTransport(mock_handler(scenario))) as client:
        return client.post("http://mock/v1/responses", json={"model": "m", "input": "hi", **fields})


THOUGHTFUL = Reply("Hello.", (Call.of("f", a=1),), reasoning="Hm.")


def test_a_whole_reply_has_its_items_in_order() -> None:
    body = ask(THOUGHTFUL, store=False).json()
    assert [item["type"] for item in body["output"]] == ["reasoning", "message", "function_call"]
    assert (body["status"], body["store"], body["output"][2]["call_id"]) == ("completed", False, "call_1")


def test_encrypted_reasoning_comes_when_it_is_asked_for() -> None:
    items = [
        ask(THOUGHTFUL, **fields).json()["output"][0] for fields in ({}, {"include": ["reasoning.encrypted_content"]})
    ]
    assert ["encrypted_content" in item for item in items] == [False, True]


def test_a_cut_reply_is_incomplete_and_says_why() -> None:
    body = ask(Reply("one two three"), max_output_tokens=1).json()
    assert (body["status"], body["incomplete_details"]) == ("incomplete", {"reason": "max_output_tokens"})


def test_a_streamed_reply_numbers_its_events_and_ends_with_the_whole() -> None:
    events = [json.loads(line[6:]) for line in ask(THOUGHTFUL, stream=True).text.splitlines() if line[:5] == "data:"]
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert [event["type"] for event in events[:2]] == ["response.created", "response.in_progress"]
    done = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    assert (events[-1]["type"], events[-1]["response"]["output"]) == ("response.completed", done)
