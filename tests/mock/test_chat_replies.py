"""How replies look in Chat Completions, whole and streamed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from agentloop.mock import Question, Reply, mock_handler

URL = "http://mock/v1/chat/completions"
TOKYO = [{"role": "user", "content": "Weather in Tokyo?"}]


@pytest.fixture
def client() -> Iterator[httpx.Client]:
    with httpx.Client(transport=httpx.MockTransport(mock_handler("weather"))) as client:
        yield client


def echo(prompt: str, **fields: Any) -> httpx.Response:
    with httpx.Client(transport=httpx.MockTransport(mock_handler("echo"))) as client:
        return client.post(URL, json={"model": "m", "messages": [{"role": "user", "content": prompt}], **fields})


def chunks(response: httpx.Response) -> list[dict[str, Any]]:
    """The JSON of each event; fails unless the last event is [DONE]."""
    assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
    events = [event.removeprefix("data: ") for event in response.text.split("\n\n")]
    assert events[-2:] == ["[DONE]", ""]
    return [json.loads(event) for event in events[:-2]]


def deltas(response: httpx.Response) -> list[dict[str, Any]]:
    return [chunk["choices"][0]["delta"] for chunk in chunks(response)]


def test_a_whole_reply_has_the_shape_of_a_chat_completion() -> None:
    body = echo("one two").json()
    assert body["object"] == "chat.completion"
    assert body["model"] == "agentloop-mock-rules"
    message = {"role": "assistant", "content": "one two", "refusal": None}
    assert body["choices"] == [{"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}]


def test_usage_adds_up() -> None:
    usage = echo("one two").json()["usage"]
    assert usage["completion_tokens"] == 2
    assert usage["total_tokens"] == usage["prompt_tokens"] + 2


def test_a_call_has_null_content_and_the_finish_word_tool_calls(client: httpx.Client, tools: list[Any]) -> None:
    choice = client.post(URL, json={"model": "m", "messages": TOKYO, "tools": tools}).json()["choices"][0]
    assert choice["message"]["content"] is None
    function = {"name": "get_weather", "arguments": '{"city": "Tokyo"}'}
    assert choice["message"]["tool_calls"] == [{"id": "call_1", "type": "function", "function": function}]
    assert choice["finish_reason"] == "tool_calls"


def test_streamed_text_comes_in_pieces_between_a_role_and_a_finish() -> None:
    found = chunks(echo("one two three", stream=True))
    assert [chunk["choices"][0]["delta"] for chunk in found] == [
        {"role": "assistant", "content": ""},
        {"content": "one"},
        {"content": " two"},
        {"content": " three"},
        {},
    ]
    assert [chunk["choices"][0]["finish_reason"] for chunk in found] == [None] * 4 + ["stop"]
    assert len({chunk["id"] for chunk in found}) == 1
    assert all("usage" not in chunk for chunk in found)


def test_streamed_arguments_come_in_pieces_after_id_and_name(client: httpx.Client, tools: list[Any]) -> None:
    found = deltas(client.post(URL, json={"model": "m", "messages": TOKYO, "tools": tools, "stream": True}))
    start, *rest = [delta["tool_calls"][0] for delta in found if "tool_calls" in delta]
    function = {"name": "get_weather", "arguments": ""}
    assert start == {"index": 0, "id": "call_1", "type": "function", "function": function}
    pieces = [piece["function"]["arguments"] for piece in rest]
    assert len(pieces) > 1
    assert json.loads("".join(pieces)) == {"city": "Tokyo"}


def test_include_usage_adds_a_last_chunk_without_choices_and_null_elsewhere() -> None:
    *others, last = chunks(echo("one two", stream=True, stream_options={"include_usage": True}))
    assert last["choices"] == []
    assert last["usage"]["completion_tokens"] == 2
    assert [chunk["usage"] for chunk in others] == [None] * len(others)


def test_reasoning_is_streamed_before_the_text() -> None:
    def scenario(question: Question) -> Reply:
        return Reply("yes", reasoning="let me think")

    with httpx.Client(transport=httpx.MockTransport(mock_handler(scenario))) as client:
        found = deltas(client.post(URL, json={"model": "m", "messages": TOKYO, "stream": True}))
    assert "".join(delta.get("reasoning_content", "") for delta in found) == "let me think"
    assert [next(iter(delta)) for delta in found[1:-1]] == ["reasoning_content"] * 3 + ["content"]


@pytest.mark.parametrize("field", ["max_tokens", "max_completion_tokens"])
def test_a_limit_of_tokens_cuts_the_text(field: str) -> None:
    choice = echo("one two three", **{field: 2}).json()["choices"][0]
    assert (choice["message"]["content"], choice["finish_reason"]) == ("one two", "length")


def test_a_limit_of_tokens_cuts_a_call_inside_its_arguments(client: httpx.Client, tools: list[Any]) -> None:
    request = {"model": "m", "messages": TOKYO, "tools": tools, "max_tokens": 1}
    choice = client.post(URL, json=request).json()["choices"][0]
    assert choice["message"]["tool_calls"][0]["function"]["arguments"] == '{"city":'
    assert choice["finish_reason"] == "length"


def test_a_stop_word_ends_the_text_before_it() -> None:
    assert echo("one END two", stop=["END"]).json()["choices"][0]["message"]["content"] == "one "


def test_text_beyond_ascii_goes_over_the_wire_unescaped() -> None:
    response = echo("Grüße \u2028 東京 🌍", stream=True)
    assert "\u2028" in response.text
    assert "".join(delta.get("content", "") for delta in deltas(response)) == "Grüße \u2028 東京 🌍"


def test_a_choice_of_none_hides_the_tools(client: httpx.Client, tools: list[Any]) -> None:
    request = {"model": "m", "messages": TOKYO, "tools": tools, "tool_choice": "none"}
    assert "tool_calls" not in client.post(URL, json=request).json()["choices"][0]["message"]


@pytest.mark.parametrize(
    ("choice", "name"),
    [
        ("required", "get_weather"),
        ({"type": "function", "function": {"name": "convert_temperature"}}, "convert_temperature"),
        (
            {
                "type": "allowed_tools",
                "allowed_tools": {
                    "mode": "required",
                    "tools": [{"type": "function", "function": {"name": "convert_temperature"}}],
                },
            },
            "convert_temperature",
        ),
    ],
)
def test_a_demanded_call_is_made(client: httpx.Client, tools: list[Any], choice: Any, name: str) -> None:
    request = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "tools": tools, "tool_choice": choice}
    message = client.post(URL, json=request).json()["choices"][0]["message"]
    assert [call["function"]["name"] for call in message["tool_calls"]] == [name]


def test_a_json_schema_gets_text_that_follows_it(client: httpx.Client) -> None:
    schema = {"type": "object", "properties": {"ok": {"type": "boolean"}}}
    wanted = {"type": "json_schema", "json_schema": {"name": "out", "schema": schema}}
    body = client.post(URL, json={"model": "m", "messages": TOKYO, "response_format": wanted}).json()
    assert json.loads(body["choices"][0]["message"]["content"]) == {"ok": True}


def test_more_than_one_choice_is_refused() -> None:
    assert echo("hi", n=2).json()["error"]["param"] == "n"
