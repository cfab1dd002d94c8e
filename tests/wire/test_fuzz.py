"""Recorded replies, mutated: whatever comes, there is a response or a typed error. `make fuzz` looks longer."""

import json
import os
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentloop.errors import ModelError
from agentloop.messages import UserMessage
from agentloop.model import ModelEvent, ModelRequest, ModelResponse, ResponseDone
from agentloop.wire.chat import ChatWire
from agentloop.wire.quirks import Quirks

RECORDINGS = Path(__file__).parent.parent / "recordings"
SMALL = 8000  # bytes: larger bodies repeat themselves
WHOLE = [path.read_bytes() for path in sorted(RECORDINGS.glob("*/*.json"))]
STREAMS = [body for path in sorted(RECORDINGS.glob("*/*.200.sse")) if len(body := path.read_bytes()) < SMALL]

LOOK = settings(
    max_examples=int(os.environ.get("FUZZ_EXAMPLES", "600")),
    deadline=None,
    derandomize="FUZZ_EXAMPLES" not in os.environ,
    database=None,
    suppress_health_check=list(HealthCheck),
)
WIRE = ChatWire("m", "custom", Quirks(think_tags=True))
REQUEST = ModelRequest((UserMessage("hi"),))

ODD_BYTES = [
    b"",
    b"\0",
    b"\xff",
    b"\r",
    b"\n",
    b"\n\n",
    b":",
    b'"',
    b"{",
    b"}",
    b"[",
    b"]",
    b"data: ",
    b"[DONE]",
    b"9" * 30,
]
ODD_VALUES: list[Any] = [
    *(
        None,
        True,
        0,
        -1,
        10**30,
        1e308,
        "",
        " ",
        "x",
        "\ud800",
        "{",
        [],
        {},
        [None],
        [[]],
        {"a": 1},
        "[DONE]",
        [1, "x"],
    ),
    {"type": "text", "text": "t"},
    {"message": "m"},
]


@st.composite
def mutated_bytes(draw: st.DrawFn, bodies: list[bytes]) -> bytes:
    body = draw(st.sampled_from(bodies))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(body)))
        end = min(len(body), start + draw(st.sampled_from([0, 1, 2, 7, 60, 500])))
        middle = draw(st.sampled_from([*ODD_BYTES, body[start:end] * 2]))
        body = body[:start] + middle + body[end:]
    return body


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every container in a JSON value, with each of its keys."""
    if isinstance(value, dict):
        return [(value, key) for key in value] + [place for item in value.values() for place in _places(item)]
    if isinstance(value, list):
        return [(value, i) for i in range(len(value))] + [place for item in value for place in _places(item)]
    return []


def _mutate(draw: st.DrawFn, value: Any) -> bytes:
    container, key = draw(st.sampled_from(_places(value)))
    if isinstance(container, dict) and draw(st.booleans()):
        del container[key]
    else:
        container[key] = draw(st.sampled_from(ODD_VALUES))
    return json.dumps(value).encode()


@st.composite
def mutated_json(draw: st.DrawFn) -> bytes:
    return _mutate(draw, json.loads(draw(st.sampled_from(WHOLE))))


@st.composite
def mutated_events(draw: st.DrawFn) -> bytes:
    events = draw(st.sampled_from(STREAMS)).split(b"\n\n")
    data = [i for i, event in enumerate(events) if event.startswith(b"data: {")]
    for i in draw(st.lists(st.sampled_from(data), min_size=1, max_size=4, unique=True)):
        events[i] = b"data: " + _mutate(draw, json.loads(events[i][6:]))
    return b"\n\n".join(events)


def _whole(body: bytes) -> ModelResponse | ModelError:
    try:
        return WIRE.decode(body, REQUEST)
    except ModelError as error:
        return error


def _stream(body: bytes, size: int) -> list[ModelEvent] | ModelError:
    assembler = WIRE.assembler(REQUEST)
    try:
        events = [event for i in range(0, len(body), size) for event in assembler.feed(body[i : i + size])]
        return [*events, *assembler.end()]
    except ModelError as error:
        assembler.partial()
        return error


def _check_whole(body: bytes) -> None:
    result = _whole(body)
    assert len(str(result)) < 2000 if isinstance(result, ModelError) else isinstance(result.text, str)


def _check_stream(body: bytes, size: int) -> None:
    result = _stream(body, size)
    if isinstance(result, ModelError):
        assert len(str(result)) < 2000
    else:
        assert [event for event in result if isinstance(event, ResponseDone)] == result[-1:]


@LOOK
@given(mutated_bytes(WHOLE))
def test_a_whole_reply_with_broken_bytes(body: bytes) -> None:
    _check_whole(body)


@LOOK
@given(mutated_json())
def test_a_whole_reply_with_odd_values(body: bytes) -> None:
    _check_whole(body)


@LOOK
@given(mutated_bytes(STREAMS), st.sampled_from([1, 7, 100, 10_000]))
def test_a_stream_with_broken_bytes(body: bytes, size: int) -> None:
    _check_stream(body, size)


@LOOK
@given(mutated_events(), st.sampled_from([100, 10_000]))
def test_a_stream_with_odd_values(body: bytes, size: int) -> None:
    _check_stream(body, size)


@LOOK
@given(st.binary(max_size=300))
def test_random_bytes(body: bytes) -> None:
    _check_whole(body)
    _check_stream(body, 10)
