"""The Responses API, streamed: what comes out, and how it may end."""

import json
from typing import Any

import pytest

from agentloop.errors import ModelError, RateLimited, ServerError, StatusError, StreamInterrupted
from agentloop.messages import AssistantMessage, UserMessage
from agentloop.model import (
    ModelEvent,
    ModelRequest,
    ModelResponse,
    ReasoningDelta,
    RefusalDelta,
    ResponseDone,
    TextDelta,
    ToolCallDelta,
)
from agentloop.parts import ToolCall
from agentloop.wire.quirks import Quirks
from agentloop.wire.responses import ResponsesWire

HI = UserMessage("hi")
WIRE = ResponsesWire("m", "p", Quirks())


def event(kind: str, **fields: Any) -> bytes:
    kind = kind if kind == "error" else f"response.{kind}"
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


def message(text: str, **fields: Any) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": "msg_1", "role": "assistant", "content": content, **fields}


def call(arguments: str, place: int = 1) -> dict[str, Any]:
    return {"type": "function_call", "id": f"fc_{place}", "call_id": f"c{place}", "name": "f", "arguments": arguments}


def added(index: int, item: dict[str, Any]) -> bytes:
    return event("output_item.added", output_index=index, item={**item, "content": []} if "content" in item else item)


def done(index: int, item: dict[str, Any]) -> bytes:
    return event("output_item.done", output_index=index, item=item)


def text_delta(text: str, index: int = 0, **fields: Any) -> bytes:
    return event("output_text.delta", output_index=index, item_id="msg_1", content_index=0, delta=text, **fields)


def arguments_delta(piece: str, index: int) -> bytes:
    return event("function_call_arguments.delta", output_index=index, delta=piece)


def end(*output: Any, kind: str = "completed", **fields: Any) -> bytes:
    usage = {"input_tokens": 1, "output_tokens": 2}
    response = {"id": "resp_1", "status": kind, "output": list(output), "usage": usage, **fields}
    return event(kind, response=response)


BEGIN = event("created", response={"id": "resp_1", "model": "m", "status": "in_progress", "output": []})
HALF = added(0, message("")) + text_delta("Hel")


def events(*chunks: bytes) -> list[ModelEvent]:
    assembler = WIRE.assembler(ModelRequest((HI,)))
    return [e for chunk in chunks for e in assembler.feed(chunk)] + list(assembler.end())


def response(*chunks: bytes) -> ModelResponse:
    last = events(*chunks)[-1]
    assert isinstance(last, ResponseDone)
    return last.response


def failure(*chunks: bytes, kind: type[ModelError]) -> Any:
    with pytest.raises(kind) as caught:
        events(*chunks)
    return caught.value


def test_text_comes_as_it_comes_and_the_end_has_the_whole() -> None:
    found = events(BEGIN, HALF, text_delta("lo", obfuscation="xx"), done(0, message("Hello")), end(message("Hello")))
    assert found[:2] == [TextDelta("Hel"), TextDelta("lo")]
    assert isinstance(last := found[2], ResponseDone)
    assert (last.response.text, last.response.model, last.response.usage.output_tokens) == ("Hello", "m", 2)


def test_a_last_event_without_output_counts_the_items_that_are_done() -> None:
    assert response(BEGIN, HALF, done(0, message("Hello")), end()).text == "Hello"


def test_an_item_that_is_done_wins_over_its_deltas() -> None:
    assert response(BEGIN, HALF, done(0, message("Other")), end()).text == "Other"


@pytest.mark.parametrize("fields", [{"arguments": '{"a":1}'}, {"arguments": {"a": 1}}])
def test_arguments_that_are_done_win_over_their_deltas(fields: dict[str, Any]) -> None:
    whole = event("function_call_arguments.done", output_index=0, **fields)
    found = response(BEGIN, added(0, call("")), arguments_delta('{"a', 0), whole, end())
    assert found.tool_calls[0].arguments == '{"a":1}'


def test_a_text_that_comes_only_when_it_is_done_counts() -> None:
    whole = event("output_text.done", output_index=0, content_index=0, text="Hello")
    assert response(BEGIN, added(0, message("")), whole, end()).text == "Hello"


def test_items_that_come_interleaved_keep_apart() -> None:
    body = [
        added(0, call("")),
        added(1, call("", 2)),
        arguments_delta('{"a":', 1),
        arguments_delta("{", 0),
        arguments_delta("1}", 1),
        arguments_delta("}", 0),
    ]
    found = events(BEGIN, *body, end(call("{}"), call('{"a":1}', 2)))
    assert found[2:6] == [
        ToolCallDelta(1, "c2", "f", '{"a":'),
        ToolCallDelta(0, "c1", "f", "{"),
        ToolCallDelta(1, "c2", "f", "1}"),
        ToolCallDelta(0, "c1", "f", "}"),
    ]
    assert isinstance(last := found[6], ResponseDone)
    assert last.response.message == AssistantMessage(None, (ToolCall("c1", "f", "{}"), ToolCall("c2", "f", '{"a":1}')))


def test_an_item_is_found_by_its_id_when_there_is_no_index() -> None:
    two = event("output_item.added", item=message("")) + event("output_item.added", item=call(""))
    text = event("output_text.delta", item_id="msg_1", delta="x")
    finished = event("output_item.done", item=call('{"a":1}')) + event("output_item.done", item=message("x"))
    found = response(BEGIN, two, text, finished, end())
    assert (found.text, found.tool_calls[0].arguments) == ("x", '{"a":1}')


@pytest.mark.parametrize(
    ("kind", "delta"),
    [
        ("refusal.delta", RefusalDelta("a")),
        ("reasoning_text.delta", ReasoningDelta("a")),
        ("reasoning_summary_text.delta", ReasoningDelta("a")),
    ],
)
def test_each_kind_of_text_has_its_delta(kind: str, delta: ModelEvent) -> None:
    assert events(BEGIN, HALF, event(kind, output_index=0, delta="a"), end(message("x")))[1] == delta


def test_a_free_text_call_streams_its_input() -> None:
    item = {"type": "custom_tool_call", "id": "x", "call_id": "c1", "name": "patch", "input": ""}
    piece = event("custom_tool_call_input.delta", output_index=0, delta="*** a")
    found = events(BEGIN, added(0, item), piece, end({**item, "input": "*** a"}))
    assert found[1] == ToolCallDelta(0, "c1", "patch", "*** a")
    assert isinstance(last := found[2], ResponseDone)
    assert last.response.tool_calls[0].arguments == "*** a"


def test_unknown_events_and_a_stray_done_are_passed_over() -> None:
    odd = event("tomorrow", x=1) + event("web_search_call.searching", output_index=7)
    assert response(BEGIN, odd, HALF, end(message("Hello")), b"data: [DONE]\n\n").text == "Hello"


def test_a_cut_reply_is_length() -> None:
    details = {"reason": "max_output_tokens"}
    assert (
        response(BEGIN, HALF, end(message("Hel"), kind="incomplete", incomplete_details=details)).finish_reason
        == "length"
    )


@pytest.mark.parametrize(
    "body",
    [
        BEGIN + HALF,
        BEGIN + HALF + done(0, message("Hel")),
        BEGIN + HALF + b"data: [DONE]\n\n",
        BEGIN + HALF + b"event: r",
    ],
)
def test_a_stream_without_its_last_event_is_broken_and_keeps_what_came(body: bytes) -> None:
    error = failure(body, kind=StreamInterrupted)
    assert (error.partial.text, error.partial.finish_reason, error.retryable) == ("Hel", None, True)


def test_the_calls_of_a_broken_stream_are_only_in_its_raw_body() -> None:
    error = failure(BEGIN, HALF, added(1, call("")), arguments_delta('{"a": "pri', 1), kind=StreamInterrupted)
    assert (error.partial.text, error.partial.tool_calls) == ("Hel", ())
    assert error.partial.raw["output"][1]["arguments"] == '{"a": "pri'
    assert error.partial.notes == ("1 tool calls of an unfinished reply were left out",)


def test_a_failed_reply_carries_what_came() -> None:
    failed = end(kind="failed", error={"code": "server_error", "message": "The model is overloaded"})
    error = failure(BEGIN, HALF, failed, kind=ServerError)
    assert "The model is overloaded" in str(error)
    assert (error.partial.text, error.retryable) == ("Hel", True)


@pytest.mark.parametrize(
    "fields",
    [
        {"code": "rate_limit_exceeded", "message": "Slow down", "param": None},
        {"error": {"code": "rate_limit_exceeded", "message": "Slow down"}},
    ],
)
def test_an_error_event_has_its_fields_on_top_or_below(fields: Any) -> None:
    error = failure(BEGIN, HALF, event("error", **fields), kind=RateLimited)
    assert "Slow down" in str(error)
    assert error.partial.text == "Hel"


def test_an_error_event_needs_no_name() -> None:
    body = b'data: {"type": "error", "code": "rate_limit_exceeded", "message": "Slow down"}\n\n'
    assert "Slow down" in str(failure(BEGIN, body, kind=RateLimited))


def test_an_error_without_a_type_is_one_too() -> None:
    assert failure(BEGIN, b'data: {"error": "boom"}\n\n', kind=StatusError).message.endswith("boom")


@pytest.mark.parametrize("size", [1, 7, 64])
def test_how_the_bytes_are_split_does_not_matter(size: int) -> None:
    body = BEGIN + HALF + text_delta("lo") + done(0, message("Hello")) + end(message("Hello"))
    assert response(*(body[i : i + size] for i in range(0, len(body), size))) == response(body)
