"""Which wire a client speaks, where it sends, and as whom."""

import json
from typing import Any

import httpx
import pytest

from agentloop import Client, RetryPolicy
from agentloop.errors import ConfigError, RateLimited, ServerError
from agentloop.http.environment import from_environment
from agentloop.messages import AssistantMessage, ToolMessage, UserMessage
from agentloop.model import AttemptFailed, TextDelta
from agentloop.parts import ReasoningPart, ToolCall
from agentloop.wire.quirks import PRESETS, Quirks

OVERLOADED = b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n'
HEL = (
    b'data: {"type":"message_start","message":{"content":[]}}\n\n'
    b'data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n'
    b'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hel"}}\n\n'
)
LO = (
    b'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"lo"}}\n\n'
    b'data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}\n\n'
    b'data: {"type":"message_stop"}\n\n'
)


def request_of(base_url: str, **settings: Any) -> httpx.Request:
    with Client(base_url, model="m", **{"api_key": "sk-key-0123", **settings}) as client:
        return client.build_request("hi")


@pytest.mark.parametrize(
    ("base_url", "wire", "url"),
    [
        ("https://api.anthropic.com", None, "https://api.anthropic.com/v1/messages"),
        ("https://api.anthropic.com/v1", "anthropic", "https://api.anthropic.com/v1/messages"),
        ("https://api.deepseek.com/anthropic", "anthropic", "https://api.deepseek.com/anthropic/v1/messages"),
        ("http://localhost:8080/v1/", "anthropic", "http://localhost:8080/v1/messages"),
        ("http://localhost:8080/v1", "anthropic-tokens", "http://localhost:8080/v1/messages/count_tokens"),
        ("https://api.openai.com/v1", "responses", "https://api.openai.com/v1/responses"),
        ("https://api.openai.com/v1", None, "https://api.openai.com/v1/chat/completions"),
    ],
)
def test_each_wire_has_its_path_below_the_base_url(base_url: str, wire: Any, url: str) -> None:
    assert str(request_of(base_url, wire=wire).url) == url


@pytest.mark.parametrize(
    ("settings", "header"),
    [
        ({"wire": "anthropic"}, "x-api-key"),
        ({"wire": "anthropic", "quirks": Quirks(auth="bearer")}, "authorization"),
        ({"wire": "responses"}, "authorization"),
        ({"quirks": "deepseek-anthropic"}, "x-api-key"),
    ],
)
def test_the_key_goes_where_the_wire_wants_it_or_the_quirks_say(settings: Any, header: str) -> None:
    headers = request_of("https://llm.example.org/v1", **settings).headers
    assert [name for name in ("authorization", "x-api-key", "api-key") if name in headers] == [header]


def test_the_version_header_can_be_set() -> None:
    plain = request_of("https://api.anthropic.com")
    newer = request_of("https://api.anthropic.com", extra_headers={"anthropic-version": "2026-10-21"})
    found = [request.headers["anthropic-version"] for request in (plain, newer)]
    assert found == ["2023-06-01", "2026-10-21"]


def test_a_known_host_with_several_wires_gives_the_row_of_the_wire() -> None:
    with Client("https://api.deepseek.com", model="m", api_key="sk-key-0123", wire="responses") as client:
        assert client.provider == "deepseek-responses"


@pytest.mark.parametrize("wire", ["anthropic", "responses"])
def test_an_unknown_server_gets_no_reasoning_from_elsewhere(wire: Any) -> None:
    turn = AssistantMessage((ReasoningPart("hm"),), (ToolCall("c1", "f"),))
    with Client("https://llm.example.org", model="m", wire=wire) as client:
        body = client.build_request([UserMessage("hi"), turn, ToolMessage("c1", "1")]).content
    assert b"hm" not in body


def test_an_unknown_server_of_responses_is_told_to_store_nothing() -> None:
    assert json.loads(request_of("https://llm.example.org/v1", wire="responses").content)["store"] is False


def test_an_unknown_wire_names_those_there_are() -> None:
    with pytest.raises(ConfigError, match="there are 'chat', 'responses' and 'anthropic'"):
        request_of("https://llm.example.org/v1", wire="telegraph")


@pytest.mark.parametrize("name", [name for name, row in PRESETS.items() if row.wire != "chat"])
def test_a_preset_chooses_the_wire(name: str) -> None:
    row = PRESETS[name]
    with Client(row.base_url or "", model="m", api_key="sk-key-0123", provider=name) as client:
        path = client.build_request("hi").url.path
    assert path.endswith("/responses" if row.wire == "responses" else "/v1/messages")


@pytest.mark.parametrize(
    ("name", "variables", "provider"),
    [
        (None, {"OPENAI_API_KEY": "sk-key-0123", "OPENAI_MODEL": "m"}, "openai"),
        (None, {"ANTHROPIC_API_KEY": "sk-key-0123", "ANTHROPIC_MODEL": "m"}, "anthropic"),
        ("deepseek-anthropic", {"DEEPSEEK_API_KEY": "sk-key-0123"}, "deepseek-anthropic"),
    ],
)
def test_one_key_is_enough_for_a_provider_with_several_wires(name: Any, variables: Any, provider: str) -> None:
    base_url, model, settings = from_environment(name, None, {}, variables)
    with Client(base_url, model=model, **settings) as client:
        assert client.provider == provider


class Script(httpx.BaseTransport):
    """Answers with these streams, one per request."""

    def __init__(self, *bodies: bytes | int) -> None:
        self.bodies = list(bodies)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        body = self.bodies.pop(0)
        if isinstance(body, int):
            error = {"type": "error", "error": {"type": "x", "message": "no"}}
            return httpx.Response(body, json=error)
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, content=body)


def client(*bodies: bytes | int) -> Client:
    retry = RetryPolicy(attempts=2, base=0)
    return Client("http://localhost/v1", model="m", wire="anthropic", transport=Script(*bodies), retry=retry)


def test_an_overload_as_the_first_event_is_tried_again_without_a_trace() -> None:
    with client(OVERLOADED, HEL + LO).stream("hi") as stream:
        events = list(stream)
    assert [event for event in events if isinstance(event, TextDelta)] == [TextDelta("Hel"), TextDelta("lo")]
    assert [event.attempt.status for event in events if isinstance(event, AttemptFailed)] == [529]
    assert stream.response is not None
    assert stream.response.text == "Hello"


def test_an_overload_after_text_is_an_error_with_the_text() -> None:
    model = client(HEL + OVERLOADED, HEL + LO)
    with pytest.raises(ServerError, match="Overloaded") as caught, model.stream("hi") as stream:
        list(stream)
    assert caught.value.partial is not None
    assert (caught.value.partial.text, len(caught.value.attempts)) == ("Hel", 1)


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503, 504, 529])
def test_a_status_that_passes_is_tried_again(status: int) -> None:
    with client(status, HEL + LO).stream("hi") as stream:
        list(stream)
    assert stream.response is not None
    assert (stream.response.text, len(stream.response.attempts)) == ("Hello", 2)


def test_the_last_try_raises_its_error() -> None:
    with pytest.raises(RateLimited):
        client(429, 429).respond("hi")
