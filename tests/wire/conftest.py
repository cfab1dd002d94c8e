"""What the tests of the wires share: a wire for an unknown provider, and streams written as deltas."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from agentloop.messages import UserMessage
from agentloop.model import ModelEvent, ModelRequest, ModelResponse, ResponseDone
from agentloop.wire.chat import ChatWire
from agentloop.wire.quirks import Quirks

REQUEST = ModelRequest((UserMessage("hi"),))


def chunk(delta: Any, finish: str | None = None) -> bytes:
    value = {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
    return b"data: " + json.dumps(value, ensure_ascii=False).encode() + b"\n\n"


@pytest.fixture
def wire() -> ChatWire:
    return ChatWire("m", "custom", Quirks())


@pytest.fixture
def decode(wire: ChatWire) -> Callable[..., ModelResponse]:
    """decode(message, finish): the whole reply with this message."""

    def whole(message: Any, finish: Any = "stop", **body: Any) -> ModelResponse:
        choice = {"index": 0, "finish_reason": finish, "message": message}
        return wire.decode(json.dumps({"choices": [choice], **body}).encode(), REQUEST)

    return whole


@pytest.fixture
def events(wire: ChatWire) -> Callable[..., list[ModelEvent]]:
    """events(chunk, chunk, ...): all events of a body that came in these pieces and then ended."""

    def streamed(*chunks: bytes, wire: ChatWire = wire, request: ModelRequest = REQUEST) -> list[ModelEvent]:
        assembler = wire.assembler(request)
        return [event for piece in chunks for event in assembler.feed(piece)] + list(assembler.end())

    return streamed


@pytest.fixture
def stream(events: Callable[..., list[ModelEvent]]) -> Callable[..., ModelResponse]:
    """stream(chunk, chunk, ...): the whole of such a body."""

    def whole(*chunks: bytes, **given: Any) -> ModelResponse:
        done = events(*chunks, **given)[-1]
        assert isinstance(done, ResponseDone)
        return done.response

    return whole


@pytest.fixture
def deltas(stream: Callable[..., ModelResponse]) -> Callable[..., ModelResponse]:
    """deltas(delta, delta, ..., finish=): the whole of a stream of these deltas, each in a chunk of its own."""

    def whole(*given: Any, finish: str | None = "stop", **more: Any) -> ModelResponse:
        return stream(*map(chunk, given), chunk({}, finish), b"data: [DONE]\n\n", **more)

    return whole


@pytest.fixture
def calls(deltas: Callable[..., ModelResponse]) -> Callable[..., list[tuple[str, str, str]]]:
    """calls([entries of delta 1], [entries of delta 2], ...): id, name and arguments of each call."""

    def assembled(*given: Sequence[Any], **more: Any) -> list[tuple[str, str, str]]:
        response = deltas(*({"tool_calls": entries} for entries in given), finish="tool_calls", **more)
        return [(call.id, call.name, call.arguments) for call in response.tool_calls]

    return assembled
