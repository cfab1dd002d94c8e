"""Exchanges with real servers, played through the public API: sync and async, whole and streamed.

`recordings/` holds what llama-server (with two chat templates) and the LiteLLM proxy answered to requests that were
written by hand for curl. The client must send exactly these requests, and make of the answers what the tables say.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

from agentloop import AsyncClient, Client
from agentloop.errors import (
    AuthError,
    ContextOverflow,
    ModelError,
    RateLimited,
    RequestRejected,
    ServerError,
    StreamInterrupted,
)
from agentloop.model import ModelResponse, Options
from agentloop.testing import Cassette, ReplayTransport, check

RECORDINGS = Path(__file__).parent / "recordings"
ALL = sorted(str(path.relative_to(RECORDINGS)) for path in RECORDINGS.rglob("*.json"))

# The finish reason, and how the text begins.
TEXTS = {
    "litellm-proxy/plain": ("stop", "Paris is the capital of France."),
    "litellm-proxy/stream": ("stop", "Paris is the capital of France."),
    "litellm-proxy/mock-tool-calls-stream": ("stop", ""),
    "litellm-proxy/proxied-length": ("length", "Once upon a time, there was a dragon nam"),
    "litellm-proxy/proxied-stream": ("stop", "The capital of France is Paris."),
    "llama-server/assistant-prefill": ("stop", "Apple, Banana, Orange."),
    "llama-server/json-object": ("stop", '{\n  "name": "Anna",'),
    "llama-server/json-schema": ("stop", '{\n  "name": "Anna",'),
    "llama-server/json-schema-stream": ("stop", '{\n  "name": "Anna",'),
    "llama-server/length": ("length", "Once upon a time"),
    "llama-server/length-stream": ("length", "Once upon a time"),
    "llama-server/logprobs": ("length", "The capital of"),
    "llama-server/logprobs-stream": ("length", "The capital of France"),
    "llama-server/max-completion-tokens": ("length", "Once upon a time,"),
    "llama-server/max-tokens-0": ("length", "The"),
    "llama-server/n2": ("stop", "France is the capital of the country."),
    "llama-server/plain": ("stop", "The capital of France is Paris."),
    "llama-server/second-turn": ("stop", "The weather in Paris is currently 18 deg"),
    "llama-server/second-turn-stream": ("stop", "The weather in Paris is currently 18 deg"),
    "llama-server/sse-ping-stream": ("length", "The quick brown fox jumps over the lazy"),
    "llama-server/stop-sequence": ("stop", "The number of items in the list"),
    "llama-server/stream-no-usage": ("stop", "The capital of France is Paris."),
    "llama-server/stream-usage": ("stop", "The capital of France is Paris."),
    "llama-server/text-parts": ("stop", "Hello! How can I assist you today?"),
    "llama-server/timings-per-token-stream": ("length", "The capital of"),
    "llama-server/tool-choice-none": ("stop", '```json\n{"name": "get_weather"'),
    "llama-server/tools-and-json-schema": ("stop", '{"name": "get_weather", "age": 25'),
    "llama-server/tools-auto-text-answer-stream": ("stop", "Raindrops fall,"),
    "llama-server/two-system": ("length", "Hello! How can I assist you today"),
    "llama-server/unknown-field": ("stop", "The capital of France is Paris."),
    "llama-server/utf8-stream": ("length", "你好世界 🌟 🌟"),
    "llama-server/wrong-model": ("stop", "The capital of France is Paris."),
}
THREE = [f'get_weather({{"city": "{city}", "unit": "celsius"}})' for city in ("Paris", "Rome", "Oslo")]
CALLS = {
    "litellm-proxy/mock-tool-calls": ['get_weather({"city": "Paris"})', 'get_weather({"city": "Rome"})'],
    "litellm-proxy/proxied-parallel-stream": THREE,
    "litellm-proxy/proxied-tools": THREE[:1],
    "litellm-proxy/proxied-tools-stream": THREE[:1],
    "llama-server/parallel-auto": THREE,
    "llama-server/parallel-false": THREE,
    "llama-server/parallel-required": THREE,
    "llama-server/parallel-required-stream": THREE,
    "llama-server/tools-auto": THREE[:1],
    "llama-server/tools-auto-stream": THREE[:1],
    "llama-server/tools-length-cut": ['get_weather({"city":)'],
    "llama-server/tools-length-cut-stream": ['get_weather({"city":)'],
    "llama-server/tools-named": ['add_numbers({"a": 17, "b": 25})'],
    "llama-server/tools-named-stream": ['add_numbers({"a": 17, "b": 25})'],
    "llama-server/tools-required": THREE[:1],
    "llama-server/tools-required-stream": THREE[:1],
    "llama-server/utf8-tool-args-stream": ['get_weather({"city": "北京", "unit": "celsius"})'],
}
ERRORS: dict[str, type[ModelError]] = {
    "litellm-proxy/backend-down": ServerError,
    "litellm-proxy/context-window": ContextOverflow,
    "litellm-proxy/internal-error": ServerError,
    "litellm-proxy/no-auth": AuthError,
    "litellm-proxy/proxied-too-long": ContextOverflow,
    "litellm-proxy/rate-limit": RateLimited,
    "litellm-proxy/rate-limit-stream": RateLimited,
    "litellm-proxy/wrong-model": RequestRejected,
    "llama-server/bad-temperature-type": RequestRejected,
    "llama-server/custom-grammar-with-tools": RequestRejected,
    "llama-server/image-to-text-model": ServerError,
    "llama-server/max-tokens-negative": RequestRejected,
    "llama-server/no-auth": AuthError,
    "llama-server/server-killed-mid-stream": StreamInterrupted,
    "llama-server/too-long": ContextOverflow,
    "llama-server/too-long-stream": ContextOverflow,
    "llama-server/wrong-key": AuthError,
}

Answer = Callable[[str], ModelResponse]


def question(name: str) -> tuple[ReplayTransport, dict[str, Any], dict[str, Any]]:
    """The recorded server, the settings of a client for it, and what makes that client send the recorded request."""
    path = RECORDINGS / f"{name}.json"
    request = Cassette.load(path).exchanges[0].request
    body = json.loads(request.content)
    usage = body.pop("stream_options", None)
    ask = {key: body.pop(key) for key in list(body) if key in Options.__annotations__ or key.startswith("tool")}
    model, ask["messages"], stream = body.pop("model"), body.pop("messages"), body.pop("stream", False)
    if body:
        ask["extra_body"] = body
    # The client asks for the usage of each stream; one recorded request did not.
    transport = ReplayTransport(path, ignore=["$.stream_options"] if stream and not usage else [])
    base_url = request.url.removesuffix("/chat/completions")
    return transport, {"base_url": base_url, "model": model, "retry": None, "stream": stream}, ask


def answer(name: str) -> ModelResponse:
    transport, settings, ask = question(name)
    stream = settings.pop("stream")
    with Client(**settings, transport=transport) as client:
        if not stream:
            return client.respond(**ask)
        with client.stream(**ask) as events:
            text = "".join(event.text for event in events if event.type == "text_delta")
    assert events.response is not None
    assert text == events.response.text
    return events.response


def answer_async(name: str) -> ModelResponse:
    async def run() -> ModelResponse:
        transport, settings, ask = question(name)
        stream = settings.pop("stream")
        async with AsyncClient(**settings, transport=transport) as client:
            if not stream:
                return await client.respond(**ask)
            async with client.stream(**ask) as events:
                async for _ in events:
                    pass
        assert events.response is not None
        return events.response

    return anyio.run(run)


both = pytest.mark.parametrize("answer_of", [answer, answer_async])


@both
@pytest.mark.parametrize("name", TEXTS)
def test_a_recorded_text_is_read(answer_of: Answer, name: str) -> None:
    response = answer_of(name)
    finish, text = TEXTS[name]
    assert response.finish_reason == finish
    assert response.text.startswith(text)
    assert response.tool_calls == ()


@both
@pytest.mark.parametrize("name", CALLS)
def test_recorded_calls_are_read(answer_of: Answer, name: str) -> None:
    calls = answer_of(name).tool_calls
    assert [f"{call.name}({call.arguments})" for call in calls] == CALLS[name]
    assert len({call.id for call in calls}) == len(calls)


@both
@pytest.mark.parametrize("name", ERRORS)
def test_a_recorded_refusal_is_a_typed_error(answer_of: Answer, name: str) -> None:
    with pytest.raises(ModelError) as caught:
        answer_of(name)
    assert type(caught.value) is ERRORS[name]


@pytest.mark.parametrize("path", ALL)
def test_every_recording_can_be_sent_and_played_by_plain_httpx(path: str) -> None:
    [exchange] = Cassette.load(RECORDINGS / path).exchanges
    assert exchange.response is not None
    chunks: list[bytes] = []
    with (
        httpx.Client(transport=ReplayTransport(RECORDINGS / path)) as client,
        client.stream(exchange.request.method, exchange.request.url, content=exchange.request.content) as response,
    ):
        for _, chunk in zip(exchange.response.chunks, response.iter_raw(), strict=False):
            chunks.append(chunk)
    assert response.status_code == exchange.response.status
    assert b"".join(chunks) == exchange.response.content


def test_the_recordings_hold_no_keys() -> None:
    assert check([RECORDINGS]) == []
