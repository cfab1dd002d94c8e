"""Input that no server should send: a typed error with a short excerpt, never a hang or a bare exception."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from agentloop.arguments import read_arguments
from agentloop.errors import ModelError, ProtocolError
from agentloop.messages import UserMessage
from agentloop.model import ModelRequest, ModelResponse
from agentloop.wire.chat import ChatWire
from agentloop.wire.codec import dumps, loads

REQUEST = ModelRequest((UserMessage("hi"),))
DEEP = "[" * 50_000 + "]" * 50_000
TEXT = b'{"choices":[{"index":0,"finish_reason":"stop","message":{"content":"%s"}}]}'

NO_REPLIES = {
    "random": bytes(range(256)) * 4,
    "web page": b"<!DOCTYPE html><html><head><title>502</title></head><body>" + b"x" * 5000 + b"</body></html>",
    "cut JSON": b'{"choices":[{"index":0,"mess',
    "cut UTF-8": '{"choices":"é'.encode()[:-1],
    "megabyte line": b"x" * 1_000_000,
    "deep": DEEP.encode(),
    "deep in a reply": b'{"choices":' + DEEP.encode() + b"}",
    "list": b"[1,2]",
    "text": b'"hello"',
    "number": b"1e999",
    "huge integer": b"9" * 10_000,
    "UTF-16": '{"choices":[]}'.encode("utf-16"),
    "nulls": b"\0" * 100,
}


@pytest.mark.parametrize("body", NO_REPLIES.values(), ids=NO_REPLIES)
def test_a_whole_body_that_is_no_reply(wire: ChatWire, body: bytes) -> None:
    with pytest.raises(ProtocolError) as caught:
        wire.decode(body, REQUEST)
    assert 0 < len(caught.value.body) <= 200
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("body", NO_REPLIES.values(), ids=NO_REPLIES)
def test_a_stream_that_is_none(wire: ChatWire, body: bytes) -> None:
    def read(data: bytes) -> None:
        assembler = wire.assembler(REQUEST)
        assembler.feed(data)
        assembler.end()

    with pytest.raises(ModelError):
        read(body)
    with pytest.raises(ModelError):
        read(b"data: " + body + b"\n\n")


def test_a_line_without_an_end_is_an_error_and_not_memory_without_end(wire: ChatWire) -> None:
    assembler = wire.assembler(REQUEST)
    with pytest.raises(ProtocolError, match="larger than") as caught:
        [assembler.feed(b"data: " + b"x" * 1_000_000) for _ in range(20)]
    assert (caught.value.provider, caught.value.model) == ("custom", "m")


def test_endless_lines_that_are_no_events_are_an_error(wire: ChatWire) -> None:
    assembler = wire.assembler(REQUEST)
    with pytest.raises(ProtocolError, match="no event stream: <p>"):
        [assembler.feed(b"<p>\n" * 250_000) for _ in range(20)]


def test_a_megabyte_of_text_in_one_delta(stream: Callable[..., ModelResponse]) -> None:
    text = "x" * 1_000_000
    chunk = json.dumps({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": "stop"}]}).encode()
    assert stream(b"data: " + chunk + b"\n\n", b"data: [DONE]\n\n").text == text


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"a\\ud800b", "a\ud800b"),
        (b"a\xffb", "a\ufffdb"),
        (b"a\nb\x01", "a\nb\x01"),
        (b"a\\u0000b", "a\0b"),
    ],
    ids=["lone surrogate", "broken UTF-8", "raw control characters", "null"],
)
def test_text_that_strict_decoders_refuse_is_read(wire: ChatWire, raw: bytes, text: str) -> None:
    assert wire.decode(TEXT % raw, REQUEST).text == text


def test_a_lone_surrogate_can_be_sent_back(wire: ChatWire) -> None:
    reply = wire.decode(TEXT % b"\\ud83d", REQUEST)
    body = wire.encode(ModelRequest((UserMessage("hi"), reply.message))).body
    assert json.loads(body)["messages"][1]["content"] == "\ud83d"


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e999", "9" * 400])
def test_numbers_that_are_none_do_no_harm(wire: ChatWire, number: str) -> None:
    body = TEXT[:-1] % b"ok" + b',"usage":{"prompt_tokens":%s},"created":%s}' % (number.encode(), number.encode())
    assert wire.decode(body, REQUEST).text == "ok"


@pytest.mark.parametrize("arguments", [DEEP, "[" * 900 + "]" * 900, "1e999", "NaN", "9" * 400])
def test_odd_arguments_are_an_error_for_the_model_and_no_crash(wire: ChatWire, arguments: str) -> None:
    call = b'{"choices":[{"message":{"tool_calls":[{"id":"c1","function":{"name":"f","arguments":%s}}]}}]}'
    if arguments is DEEP:
        with pytest.raises(ProtocolError):
            wire.decode(call % arguments.encode(), REQUEST)
    else:
        made = wire.decode(call % arguments.encode(), REQUEST).tool_calls[0]
        assert read_arguments(made.arguments).value in (None, {})


@pytest.mark.parametrize("key", ["id", "model", "usage", "choices", "error", "object", "x_groq", "created"])
@pytest.mark.parametrize("value", [None, 0, "", "x", [], {}, [{}], {"a": []}, True])
def test_any_value_for_any_key_is_read_or_refused(wire: ChatWire, key: str, value: Any) -> None:
    body = {"choices": [{"message": {"content": "ok"}}], key: value}
    try:
        assert wire.decode(json.dumps(body).encode(), REQUEST).text == "ok"
    except ModelError as error:
        refused = key == "choices" or (key == "error" and value)
        assert refused, error  # noqa: PT017 - either way is right, but no third one


def test_json_is_read_with_a_byte_order_mark_and_written_without_blanks() -> None:
    assert loads(b'\xef\xbb\xbf{"a": 1}') == {"a": 1}
    assert loads(b"[NaN, Infinity, -Infinity]") == [None, None, None]
    assert dumps({"a": ["é", None, "\ud800"]}, of="x") == '{"a":["é",null,"\\ud800"]}'.encode()
