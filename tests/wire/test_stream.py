"""Streamed Chat Completions: what comes out, and how it may end."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from agentloop.errors import ProtocolError, QuotaExceeded, RateLimited, ServerError, StatusError, StreamInterrupted
from agentloop.model import ModelEvent, ModelRequest, ModelResponse, TextDelta, Usage
from agentloop.wire.chat import ChatWire
from agentloop.wire.quirks import Quirks

Events = Callable[..., list[ModelEvent]]
Stream = Callable[..., ModelResponse]

DONE = b"data: [DONE]\n\n"
HALF = b'data: {"choices":[{"index":0,"delta":{"content":"par"},"finish_reason":null}]}\n\n'
STOP = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
CALL = (
    b'data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","function":'
    b'{"name":"f","arguments":"{\\"a\\": \\"pri"}}]}}]}\n\n'
)


# --- framing ---------------------------------------------------------------------------------------------------------


def test_line_separators_inside_a_text_end_no_line(stream: Stream) -> None:
    chunk = 'data: {"choices":[{"index":0,"delta":{"content":"A\u2028B\u0085C\u2029D"}}]}\n\n'.encode()
    assert stream(chunk, STOP, DONE).text == "A\u2028B\u0085C\u2029D"
    assert stream(*(bytes([byte]) for byte in chunk + STOP + DONE)).text == "A\u2028B\u0085C\u2029D"


def test_a_character_split_over_chunks_is_whole_at_every_split(stream: Stream) -> None:
    body = (
        'data: {"choices":[{"index":0,"delta":{"content":"hi \U0001f30d\u5317"},"finish_reason":"stop"}]}\n\n'.encode()
    )
    for i in range(len(body)):
        assert stream(body[:i], body[i:], DONE).text == "hi \U0001f30d\u5317"


def test_data_without_a_space_after_the_colon(stream: Stream) -> None:
    response = stream(
        b'data:{"choices":[{"index":0,"delta":{"content":" x"},"finish_reason":null}]}\n\n'
        b'data:{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata:[DONE]\n\n'
    )
    assert (response.text, response.finish_reason) == (" x", "stop")


def test_blocks_without_data_are_no_events(stream: Stream) -> None:
    response = stream(
        b": OPENROUTER PROCESSING\n\nretry: 3000\n\n"
        b'id: 7\ndata: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}\n\n'
        b": ping\n\nid: 8\n\nevent: noop\n\n"
        b'data: {"choices":[{"index":0,"delta":{"content":"b"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
    )
    assert response.text == "ab"


@pytest.mark.parametrize("end", [b"\r\n", b"\r"])
def test_other_line_ends_and_a_byte_order_mark(stream: Stream, end: bytes) -> None:
    body = b"\xef\xbb\xbf" + (HALF + STOP + DONE).replace(b"\n", end)
    assert stream(body).text == "par"
    assert stream(*(body[i : i + 1] for i in range(len(body)))).text == "par"


@pytest.mark.parametrize("data", [b"", b" ", b": ping", b'{"type":"ping"}', b'{"choices":null}', b'{"choices":[null]}'])
def test_events_that_say_nothing_are_passed_over(stream: Stream, data: bytes) -> None:
    assert stream(b"data: " + data + b"\n\n", HALF, b"data: " + data + b"\n\n", STOP, DONE).text == "par"


# --- what is passed on -----------------------------------------------------------------------------------------------


def test_text_is_passed_on_as_it_comes(wire: ChatWire) -> None:
    assembler = wire.assembler(ModelRequest(()))
    assert not assembler.content_seen
    assert assembler.feed(HALF) == [TextDelta("par")]
    assert assembler.content_seen
    assert not assembler.finished


def test_a_first_delta_without_text_is_not_content(wire: ChatWire) -> None:
    assembler = wire.assembler(ModelRequest(()))
    assembler.feed(b'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}\n\n')
    assert not assembler.content_seen


def test_the_whole_comes_with_the_done_event_and_nothing_after_it(wire: ChatWire) -> None:
    assembler = wire.assembler(ModelRequest(()))
    assert [event.type for event in assembler.feed(HALF + STOP + DONE + HALF)] == ["text_delta", "response_done"]
    assert assembler.finished
    assert not assembler.feed(HALF)
    assert not assembler.end()


def test_the_first_id_and_model_that_are_not_empty_count(stream: Stream) -> None:
    response = stream(
        b'data: {"id":"","object":"","created":0,"model":"","choices":[],"prompt_filter_results":[{}]}\n\n'
        b'data: {"id":"c1","model":"m-1","choices":[{"index":0,"delta":{"role":"assistant","content":"hey"},'
        b'"finish_reason":"stop"}]}\n\ndata: {"id":"c2","model":"","choices":[]}\n\ndata: [DONE]\n\n'
    )
    assert (response.text, response.id, response.model) == ("hey", "c1", "m-1")


def test_an_id_stays_while_the_model_is_still_unknown(stream: Stream) -> None:
    first, second = b'{"id":"c1","model":"",', b'{"id":"c2","model":"m-1",'
    response = stream(HALF.replace(b"{", first, 1), HALF.replace(b"{", second, 1), STOP, DONE)
    assert (response.id, response.model) == ("c1", "m-1")


def test_usage_counts_on_any_chunk_and_the_last_is_the_whole(stream: Stream) -> None:
    response = stream(
        HALF.replace(b"{", b'{"usage":{"prompt_tokens":64,"completion_tokens":13},', 1),
        STOP.replace(b"{", b'{"usage":{"prompt_tokens":64,"completion_tokens":20},', 1),
        b'data: {"choices":[],"usage":null}\n\n',
        DONE,
    )
    assert response.usage == Usage(64, 20, requests=1)


def test_usage_in_a_last_chunk_without_choices(stream: Stream) -> None:
    response = stream(HALF, STOP, b'data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":1}}\n\n', DONE)
    assert (response.usage.input_tokens, response.finish_reason) == (9, "stop")


def test_usage_where_groq_puts_it(stream: Stream) -> None:
    usage = b'data: {"choices":[],"x_groq":{"usage":{"prompt_tokens":9,"completion_tokens":1}}}\n\n'
    assert stream(HALF, STOP, usage, DONE).usage == Usage(9, 1, requests=1)


def test_usage_that_never_came_is_unknown_and_not_zero(stream: Stream) -> None:
    assert stream(HALF, STOP, DONE).usage == Usage(requests=1, complete=False)


def test_raw_is_the_body_that_the_chunks_amount_to(stream: Stream) -> None:
    logprobs = b'"logprobs":{"content":[{"token":"a"}]}'
    chunk = b'data: {"id":"c1","model":"m","choices":[{"index":0,"delta":{"content":"a"},' + logprobs + b"}]}\n\n"
    choice = {
        "index": 0,
        "finish_reason": "stop",
        "logprobs": {"content": [{"token": "a"}, {"token": "a"}]},
        "message": {"role": "assistant", "content": "aa"},
    }
    assert stream(chunk, chunk, STOP, DONE).raw == {
        "id": "c1",
        "model": "m",
        "object": "chat.completion",
        "choices": [choice],
    }


def test_of_several_choices_the_first_is_streamed_and_the_rest_is_in_raw(events: Events) -> None:
    second = HALF.replace(b'"index":0', b'"index":1').replace(b"par", b"other")
    *told, done = events(HALF, second, STOP, STOP.replace(b'"index":0', b'"index":1'), DONE)
    assert told == [TextDelta("par")]
    assert [choice["message"]["content"] for choice in done.response.raw["choices"]] == ["par", "other"]  # type: ignore


def test_a_whole_message_in_one_chunk_is_read_too(stream: Stream) -> None:
    assert stream(STOP.replace(b'"delta":{}', b'"message":{"content":"whole"}'), DONE).text == "whole"


def test_content_that_is_a_number_is_text_as_in_a_whole_reply(stream: Stream) -> None:
    response = stream(HALF.replace(b'"par"', b"1.5"), STOP, DONE)
    assert (response.text, response.notes) == ("1.5", ("content was of type float, not text",))


# --- how it ends -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("last", [DONE, b"data: [DONE]", b"data: [DONE] \n", b""])
def test_finished_when_a_finish_reason_was_seen(stream: Stream, last: bytes) -> None:
    assert stream(HALF, STOP, last).finish_reason == "stop"


def test_a_last_event_without_its_blank_line_counts(stream: Stream) -> None:
    assert stream(HALF, STOP.rstrip()).finish_reason == "stop"


@pytest.mark.parametrize("reason", ["null", '""'])
def test_ended_without_a_reason_when_only_done_came(stream: Stream, reason: str) -> None:
    response = stream(HALF.replace(b"null", reason.encode()), DONE)
    assert (response.text, response.finish_reason) == ("par", None)


def test_an_empty_reason_after_the_real_one_does_not_replace_it(stream: Stream) -> None:
    assert stream(HALF, STOP, STOP.replace(b"stop", b""), DONE).finish_reason == "stop"


@pytest.mark.parametrize("rest", [b"", b'data: {"choices":[{"index":0,"de', b": keep-alive\n\n", HALF.rstrip()])
def test_cut_when_neither_came(stream: Stream, rest: bytes) -> None:
    with pytest.raises(StreamInterrupted) as caught:
        stream(HALF, rest)
    assert caught.value.partial is not None
    assert caught.value.partial.text.startswith("par")
    assert caught.value.partial.finish_reason is None
    assert (caught.value.provider, caught.value.model, caught.value.retryable) == ("custom", "m", True)


def test_a_cut_tool_call_is_no_call_of_the_partial_reply(wire: ChatWire) -> None:
    assembler = wire.assembler(ModelRequest(()))
    assembler.feed(HALF + CALL)
    with pytest.raises(StreamInterrupted) as caught:
        assembler.end()
    assert caught.value.partial is not None
    assert caught.value.partial.tool_calls == ()
    assert caught.value.partial.notes == ("tool calls of an unfinished reply were left out: 1",)
    assert caught.value.partial.raw["choices"][0]["message"]["tool_calls"][0]["id"] == "c1"  # type: ignore[index]


def test_what_has_arrived_can_be_asked_for_at_any_time(wire: ChatWire) -> None:
    assembler = wire.assembler(ModelRequest(()))
    assert assembler.partial() is None
    assembler.feed(HALF)
    partial = assembler.partial()
    assert partial is not None
    assert partial.text == "par"


@pytest.mark.parametrize("body", [b"", b": keep-alive\n\n", b":\n:\n", b"\n\n"])
def test_a_stream_without_an_event_may_be_tried_again(stream: Stream, body: bytes) -> None:
    with pytest.raises(ProtocolError) as caught:
        stream(body)
    assert caught.value.retryable
    assert caught.value.partial is None


def test_done_without_a_chunk_is_no_reply(stream: Stream) -> None:
    with pytest.raises(ProtocolError, match="no choices"):
        stream(DONE)


def test_a_body_that_is_no_stream_but_a_whole_reply_is_read(stream: Stream) -> None:
    body = b'{"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"whole"}}]}'
    assert stream(body[:20], body[20:]).text == "whole"


def test_a_web_page_is_an_error_with_its_beginning(stream: Stream) -> None:
    with pytest.raises(ProtocolError, match="not JSON: <html><body>Bad gateway"):
        stream(b"<html><body>Bad gateway</body></html>")


def test_an_error_body_instead_of_a_stream(stream: Stream) -> None:
    with pytest.raises(RateLimited, match="slow down"):
        stream(b'{"error":{"message":"slow down","code":429}}')


# --- errors inside a stream ------------------------------------------------------------------------------------------


def test_an_error_object_ends_the_stream_and_carries_what_had_arrived(stream: Stream) -> None:
    with pytest.raises(ServerError, match="overloaded") as caught:
        stream(HALF, b'data: {"error":{"message":"overloaded","type":"server_error","code":503}}\n\n')
    assert (caught.value.code, caught.value.status) == ("503", 503)
    assert caught.value.partial is not None
    assert caught.value.partial.text == "par"


@pytest.mark.parametrize("nothing", ["null", "{}", '""', "false"])
def test_an_error_of_null_is_no_error(stream: Stream, nothing: str) -> None:
    assert stream(HALF.replace(b"{", b'{"error":%s,' % nothing.encode(), 1), STOP, DONE).text == "par"


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (b'data: {"error":"boom"}', "boom"),
        (b'event: error\ndata: {"message":"quota"}', "quota"),
        (b"event: error\ndata: it broke", "it broke"),
        (b'data: {"object":"error","message":"too bad","code":500}', "too bad"),
        (b'data: {"detail":"not today"}', "not today"),
        (b'data: {"choices":[{"index":0,"delta":{}}],"x_groq":{"error":"over capacity"}}', "over capacity"),
    ],
)
def test_errors_in_other_shapes(stream: Stream, event: bytes, words: str) -> None:
    with pytest.raises(StatusError, match=words):
        stream(event + b"\n\n")


def test_an_error_beside_a_choice(stream: Stream) -> None:
    error = b'"error":{"code":502,"message":"upstream"},'
    with pytest.raises(ServerError, match="upstream") as caught:
        stream(HALF, STOP.replace(b'{"index"', b"{" + error + b'"index"').replace(b"stop", b"error"), DONE)
    assert caught.value.partial is not None
    assert caught.value.partial.text == "par"


def test_the_code_inside_decides_the_class(stream: Stream) -> None:
    with pytest.raises(QuotaExceeded):
        stream(b'data: {"error":{"message":"empty","code":"insufficient_quota"}}\n\n')


@pytest.mark.parametrize("word", ["error", "insufficient_system_resource"])
def test_a_reply_that_finished_in_error_is_raised_with_its_text(stream: Stream, word: str) -> None:
    with pytest.raises(ServerError) as caught:
        stream(HALF, STOP.replace(b"stop", word.encode()), DONE)
    assert caught.value.retryable
    assert caught.value.partial is not None
    assert (caught.value.partial.text, caught.value.partial.raw_finish_reason) == ("par", word)


def test_a_call_of_a_reply_that_finished_in_error_is_no_call(stream: Stream) -> None:
    with pytest.raises(ServerError) as caught:
        stream(CALL, STOP.replace(b"stop", b"error"), DONE)
    assert caught.value.partial is not None
    assert caught.value.partial.tool_calls == ()


@pytest.mark.parametrize("data", [b"{", b"<html>", b"[1]", b'"x"', b"17", b"\xff\xfe", b"[" * 3000])
def test_an_event_that_is_no_chunk_is_a_protocol_error_with_an_excerpt(stream: Stream, data: bytes) -> None:
    with pytest.raises(ProtocolError) as caught:
        stream(HALF, b"data: " + data + b"\n\n", STOP, DONE)
    assert not isinstance(caught.value, StreamInterrupted)
    assert 0 < len(caught.value.body) <= 200
    assert caught.value.partial is not None


def test_think_tags_are_split_off_as_they_come(events: Events) -> None:
    wire = ChatWire("m", "custom", Quirks(think_tags=True))
    pieces = ["\n<thi", "nk>a", "b</th", "ink>\n\nan", "swer"]
    body = [
        b"data: " + json.dumps({"choices": [{"index": 0, "delta": {"content": p}}]}).encode() + b"\n\n" for p in pieces
    ]
    *told, done = events(*body, STOP, DONE, wire=wire)
    assert [(e.type, e.text) for e in told] == [  # type: ignore[union-attr]
        ("reasoning_delta", "a"),
        ("reasoning_delta", "b"),
        ("text_delta", "an"),
        ("text_delta", "swer"),
    ]
    assert _told(done) == ("answer", "ab")


def test_a_held_back_beginning_of_a_tag_is_not_lost(events: Events) -> None:
    wire = ChatWire("m", "custom", Quirks(think_tags=True))
    *told, done = events(HALF.replace(b"par", b" <th"), STOP, DONE, wire=wire)
    assert told == [TextDelta(" <th")]
    assert _told(done) == (" <th", None)


def _told(done: Any) -> tuple[str, str | None]:
    return done.response.text, done.response.reasoning


@pytest.mark.parametrize("index", [b"1", b'"0"', b"7"])
def test_a_choice_with_another_number_is_streamed_all_the_same(events: Events, index: bytes) -> None:
    seen = events(b'data: {"choices":[{"index":' + index + b',"delta":{"content":"ab"},"finish_reason":"stop"}]}\n\n')
    assert [event.type for event in seen] == ["text_delta", "response_done"]
