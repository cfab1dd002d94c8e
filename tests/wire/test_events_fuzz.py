"""Recorded replies of Responses and Messages, mutated: whatever comes, there is a response or a typed error."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentloop.errors import ModelError
from agentloop.messages import UserMessage
from agentloop.model import ModelEvent, ModelRequest, ModelResponse, ResponseDone
from agentloop.wire.anthropic import AnthropicWire
from agentloop.wire.quirks import Quirks
from agentloop.wire.responses import ResponsesWire

RECORDINGS = Path(__file__).parent.parent / "recordings" / "llama-server"
WIRES = {"anthropic": AnthropicWire("m", "p", Quirks()), "responses": ResponsesWire("m", "p", Quirks())}
REQUEST = ModelRequest((UserMessage("hi"),))
LOOK = settings(
    max_examples=int(os.environ.get("FUZZ_EXAMPLES", "300")),
    deadline=None,
    derandomize="FUZZ_EXAMPLES" not in os.environ,
    database=None,
    suppress_health_check=list(HealthCheck),
)
ODD: list[Any] = [
    None,
    True,
    0,
    -1,
    1e308,
    10**30,
    "",
    "x",
    "\ud800",
    [],
    {},
    [None],
    [[]],
    {"a": 1},
    {"type": "error"},
]
KINDS = ["text", "thinking", "tool_use", "message", "reasoning", "function_call", "refusal", "error", "signature_delta"]


def accepted(read: Callable[[], ModelResponse | None]) -> None:
    try:
        response = read()
    except ModelError:
        return
    assert response is not None


def joined(wire: Any, *chunks: bytes) -> ModelResponse | None:
    assembler = wire.assembler(REQUEST)
    events: list[ModelEvent] = [event for chunk in chunks for event in assembler.feed(chunk)]
    done = [*events, *assembler.end()][-1]
    return done.response if isinstance(done, ResponseDone) else None


def mutated(value: Any, draw: st.DrawFn) -> Any:
    """The value with one of its inner values replaced, or a key of an object taken away or doubled."""
    if isinstance(value, dict) and value and draw(st.booleans()):
        key = draw(st.sampled_from(sorted(value)))
        if draw(st.integers(0, 4)) == 0:
            return {k: v for k, v in value.items() if k != key}
        return {**value, key: mutated(value[key], draw)}
    if isinstance(value, list) and value and draw(st.booleans()):
        place = draw(st.integers(0, len(value) - 1))
        return [*value[:place], mutated(value[place], draw), *value[place + 1 :]]
    return draw(st.sampled_from([*ODD, *KINDS]))


def wholes(name: str) -> list[Any]:
    return [json.loads(path.read_bytes()) for path in sorted((RECORDINGS / name).glob("*.json"))]


def streams(name: str) -> list[bytes]:
    return [path.read_bytes() for path in sorted((RECORDINGS / name).glob("*.sse"))]


@pytest.mark.parametrize("name", WIRES)
@LOOK
@given(data=st.data())
def test_a_whole_reply_with_an_odd_value_is_read_or_refused(name: str, data: st.DataObject) -> None:
    body = data.draw(st.composite(lambda draw: mutated(draw(st.sampled_from(wholes(name))), draw))())
    accepted(lambda: WIRES[name].decode(json.dumps(body).encode(), REQUEST))


@pytest.mark.parametrize("name", WIRES)
@LOOK
@given(data=st.data())
def test_a_stream_with_odd_events_is_read_or_refused(name: str, data: st.DataObject) -> None:
    events = [
        json.loads(line[6:]) for line in data.draw(st.sampled_from(streams(name))).split(b"\n") if line[:5] == b"data:"
    ]
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(events) - 1))
        events[place] = data.draw(st.composite(lambda draw, event=events[place]: mutated(event, draw))())
    body = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)
    accepted(lambda: joined(WIRES[name], body))


@pytest.mark.parametrize("name", WIRES)
@LOOK
@given(data=st.data())
def test_a_stream_with_odd_bytes_is_read_or_refused(name: str, data: st.DataObject) -> None:
    body = data.draw(st.sampled_from(streams(name)))
    start = data.draw(st.integers(0, len(body)))
    end = min(len(body), start + data.draw(st.sampled_from([0, 1, 7, 300])))
    odd = data.draw(st.sampled_from([b"", b"\0", b"\xff", b"\r", b"\n\n", b":", b'"', b"{", b"]", b"event: error\n"]))
    accepted(lambda: joined(WIRES[name], body[:start] + odd, body[end:]))
