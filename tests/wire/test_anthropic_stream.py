"""Anthropic Messages, streamed: what comes out, and how it may end."""

import json
from typing import Any

import pytest

from agentloop.errors import ModelError, ProtocolError, ServerError, StatusError, StreamInterrupted
from agentloop.messages import ToolMessage, UserMessage
from agentloop.model import (
    ModelEvent,
    ModelRequest,
    ModelResponse,
    ReasoningDelta,
    ResponseDone,
    TextDelta,
    ToolCallDelta,
)
from agentloop.wire.anthropic import AnthropicWire
from agentloop.wire.quirks import Quirks

HI = UserMessage("hi")
WIRE = AnthropicWire("claude-x", "p", Quirks())
USAGE = {"input_tokens": 10, "cache_read_input_tokens": 5, "output_tokens": 1}


def event(kind: str, **fields: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


def start(index: int, **block: Any) -> bytes:
    return event("content_block_start", index=index, content_block=block)


def delta(index: int, kind: str, **fields: Any) -> bytes:
    return event("content_block_delta", index=index, delta={"type": kind, **fields})


def stop(index: int) -> bytes:
    return event("content_block_stop", index=index)


BEGIN = event(
    "message_start", message={"id": "msg_1", "model": "m", "content": [], "stop_reason": None, "usage": USAGE}
)
END = event("message_stop")
TEXT = start(0, type="text", text="") + delta(0, "text_delta", text="Hel")
OVERLOADED = event("error", error={"type": "overloaded_error", "message": "Overloaded"})


def finish(reason: str = "end_turn", **usage: Any) -> bytes:
    return event("message_delta", delta={"stop_reason": reason, "stop_sequence": None}, usage=usage) + END


def events(*chunks: bytes) -> list[ModelEvent]:
    assembler = WIRE.assembler(ModelRequest((HI,)))
    return [e for chunk in chunks for e in assembler.feed(chunk)] + list(assembler.end())


def response(*chunks: bytes) -> ModelResponse:
    done = events(*chunks)[-1]
    assert isinstance(done, ResponseDone)
    return done.response


def failure(*chunks: bytes, kind: type[ModelError]) -> Any:
    with pytest.raises(kind) as caught:
        events(*chunks)
    return caught.value


def test_text_comes_as_it_comes_and_the_end_has_the_whole() -> None:
    found = events(BEGIN, event("ping"), TEXT, delta(0, "text_delta", text="lo"), stop(0), finish(output_tokens=7))
    assert found[:2] == [TextDelta("Hel"), TextDelta("lo")]
    assert isinstance(done := found[2], ResponseDone)
    assert (done.response.text, done.response.finish_reason, done.response.id) == ("Hello", "stop", "msg_1")


def test_usage_in_the_delta_is_a_total_and_null_says_nothing() -> None:
    usage = response(BEGIN, TEXT, finish(output_tokens=7, input_tokens=None)).usage
    assert (usage.input_tokens, usage.cached_tokens, usage.output_tokens) == (15, 5, 7)


THOUGHTFUL = [
    start(0, type="thinking", thinking="", signature=""),
    delta(0, "thinking_delta", thinking="al"),
    delta(0, "thinking_delta", thinking="pha"),
    delta(0, "signature_delta", signature="SIG-1"),
    stop(0),
    start(1, type="redacted_thinking", data="OPAQUE=="),
    stop(1),
    start(2, type="thinking", thinking="", signature=""),
    delta(2, "signature_delta", signature="SIG-2"),
    stop(2),
    start(3, type="tool_use", id="tu1", name="f", input={}),
    delta(3, "input_json_delta", partial_json=""),
    delta(3, "input_json_delta", partial_json="{}"),
    stop(3),
]


def test_thinking_signatures_and_redacted_blocks_go_back_unaltered() -> None:
    found = response(BEGIN, *THOUGHTFUL, finish("tool_use"))
    body = json.loads(WIRE.encode(ModelRequest((HI, found.message, ToolMessage("tu1", "1")))).body)
    assert body["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "alpha", "signature": "SIG-1"},
        {"type": "redacted_thinking", "data": "OPAQUE=="},
        {"type": "thinking", "thinking": "", "signature": "SIG-2"},
        {"type": "tool_use", "id": "tu1", "name": "f", "input": {}},
    ]
    assert body["messages"][2]["content"][0]["tool_use_id"] == "tu1"


def test_deltas_say_what_they_belong_to() -> None:
    assert events(BEGIN, *THOUGHTFUL, finish("tool_use"))[:-1] == [
        ReasoningDelta("al"),
        ReasoningDelta("pha"),
        ToolCallDelta(0, "tu1", "f", ""),
        ToolCallDelta(0, "tu1", "f", "{}"),
    ]


@pytest.mark.parametrize(
    ("pieces", "arguments"),
    [
        ([], "{}"),
        (["", ""], "{}"),
        (['{"a":', " 1.0}"], '{"a": 1.0}'),
        (['{"a":'], '{"a":'),
        ([{"a": 1}], '{"a":1}'),
        ([None], "{}"),
    ],
)
def test_arguments_are_the_text_that_the_model_wrote(pieces: list[Any], arguments: str) -> None:
    deltas = [delta(0, "input_json_delta", partial_json=piece) for piece in pieces]
    found = response(BEGIN, start(0, type="tool_use", id="t", name="f", input={}), *deltas, finish("tool_use"))
    assert [call.arguments for call in found.tool_calls] == [arguments]


def test_arguments_that_come_with_the_start_count_when_no_piece_follows() -> None:
    found = response(BEGIN, start(0, type="tool_use", id="t", name="f", input={"a": 1}), finish("tool_use"))
    assert [call.arguments for call in found.tool_calls] == ['{"a":1}']


def test_blocks_that_share_an_index_follow_each_other() -> None:
    call = start(0, type="tool_use", id="t", name="f", input={}) + delta(0, "input_json_delta", partial_json='{"a":1}')
    found = response(BEGIN, TEXT, stop(0), call, stop(0), finish("tool_use"))
    assert (found.text, found.tool_calls[0].arguments) == ("Hel", '{"a":1}')


def test_citations_are_kept_with_their_text() -> None:
    found = response(BEGIN, TEXT, delta(0, "citations_delta", citation={"cited_text": "x"}), stop(0), finish())
    (_, whole) = found.message.parts
    assert found.text == "Hel"
    assert getattr(whole, "value", None) == {"type": "text", "text": "Hel", "citations": [{"cited_text": "x"}]}


def test_what_is_not_known_yet_is_passed_over() -> None:
    odd = delta(0, "tomorrow_delta", tomorrow=1) + event("tomorrow", x=1) + delta(9, "text_delta", text="nowhere")
    assert response(BEGIN, TEXT, odd, finish()).text == "Hel"


def test_the_type_may_stand_in_the_event_name_only() -> None:
    body = (BEGIN + TEXT + finish()).replace(b'"type": "message_stop"', b'"x": 1')
    assert response(body).text == "Hel"


@pytest.mark.parametrize("size", [1, 7, 64])
def test_how_the_bytes_are_split_does_not_matter(size: int) -> None:
    body = BEGIN + b": keep-alive\n\n" + b"".join(THOUGHTFUL) + finish("tool_use") + b"data: [DONE]\n\n"
    pieces = [body[i : i + size] for i in range(0, len(body), size)]
    assert response(*pieces) == response(body)


def test_a_pause_is_no_end() -> None:
    assert response(BEGIN, TEXT, finish("pause_turn")).finish_reason == "pause"


@pytest.mark.parametrize(
    "body",
    [
        BEGIN + TEXT,
        BEGIN + TEXT + stop(0),
        BEGIN + TEXT + finish()[: -len(END)],
        BEGIN + TEXT + END,
        BEGIN + TEXT + b"event: x",
    ],
    ids=["in a block", "after a block", "before message_stop", "no stop reason", "in an event"],
)
def test_a_stream_without_its_end_is_broken_and_keeps_what_came(body: bytes) -> None:
    error = failure(body, kind=StreamInterrupted)
    assert error.partial.text == "Hel"
    assert (error.retryable, error.partial.finish_reason) == (True, None)


def test_calls_and_unsigned_thinking_of_a_broken_stream_are_left_out() -> None:
    error = failure(BEGIN, THOUGHTFUL[0], THOUGHTFUL[1], *THOUGHTFUL[10:13], kind=StreamInterrupted)
    assert (error.partial.reasoning, error.partial.tool_calls) == ("al", ())
    assert error.partial.notes == ("1 tool calls of an unfinished reply were left out",)
    assert len(error.partial.message.parts) == 1


@pytest.mark.parametrize("body", [OVERLOADED, OVERLOADED.partition(b"\n")[2]], ids=["named", "by its type"])
def test_an_error_as_the_first_event_is_the_servers_and_may_be_retried(body: bytes) -> None:
    error = failure(body, kind=ServerError)
    assert (error.status, error.type, error.retryable, error.partial) == (529, "overloaded_error", True, None)


def test_an_error_after_text_carries_the_text() -> None:
    error = failure(BEGIN, TEXT, OVERLOADED, kind=ServerError)
    assert "Overloaded" in str(error)
    assert error.partial.text == "Hel"


def test_a_null_error_is_none() -> None:
    assert (
        response(
            BEGIN.replace(b'"type": "message_start"', b'"type": "message_start", "error": null'), TEXT, finish()
        ).text
        == "Hel"
    )


def test_an_event_that_is_no_json_is_told_with_its_beginning() -> None:
    assert "<html>" in str(failure(BEGIN, b"data: <html>\n\n", kind=ProtocolError))


def test_a_body_of_comments_alone_is_a_broken_stream() -> None:
    error = failure(b": still working on it\n\n", kind=StreamInterrupted)
    assert (error.partial, error.retryable) == (None, True)


@pytest.mark.parametrize("data", [b"[1]", b'"x"', b"3"])
def test_an_event_that_is_json_but_no_object_is_told(data: bytes) -> None:
    assert "is JSON, but no object" in str(failure(BEGIN, b"data: " + data + b"\n\n", kind=ProtocolError))


def test_an_error_event_may_be_plain_text() -> None:
    assert "out of memory" in str(failure(BEGIN, b"event: error\ndata: out of memory\n\n", kind=StatusError))


def test_a_body_that_is_no_stream_is_read_as_a_whole_reply() -> None:
    body = b'{"content":[{"type":"text","text":"x"}],"stop_reason":"end_turn"}'
    assert response(body).text == "x"
