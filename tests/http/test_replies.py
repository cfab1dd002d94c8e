"""Kinds of replies: whole, streamed, compressed, web pages, and the one for the other."""

from __future__ import annotations

import gzip
import json
import zlib
from itertools import pairwise

import httpx
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentloop.errors import ModelError, ProtocolError, ServerError, TransportError
from agentloop.http.async_client import AsyncClient
from agentloop.http.client import Client
from tests.http.peers import OK, Answers, Driver, error, piece, sse

PAGE = "<!doctype html><html><body>Welcome to the gateway</body></html>"


class Chunks(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A body in pieces, which may break off, and which knows whether it was closed."""

    def __init__(self, *chunks: bytes, breaks: bool = True) -> None:
        self.chunks = chunks
        self.breaks = breaks
        self.closed = False
        self.read = 0

    def __iter__(self):
        for chunk in self.chunks:
            self.read += 1
            yield chunk
        if self.breaks:
            raise httpx.ReadError("reset")

    async def __aiter__(self):
        for chunk in self:
            yield chunk

    def close(self) -> None:
        self.closed = True

    async def aclose(self) -> None:
        self.closed = True


@pytest.mark.parametrize("stream", [False, True])
def test_a_web_page_with_200_is_a_protocol_error_with_an_excerpt(driver: Driver, stream: bool) -> None:
    transport = Answers(httpx.Response(200, html=PAGE))
    with pytest.raises(ProtocolError, match="Welcome to the gateway"):
        (driver.stream if stream else driver.respond)(transport)
    assert len(transport.requests) == 1


def test_a_whole_reply_to_a_stream_request_is_taken(driver: Driver) -> None:
    assert driver.stream(Answers(OK)).text == "ok"
    assert driver.types() == ["text_delta", "response_done"]


def test_each_part_of_a_whole_reply_to_a_stream_request_is_a_delta(driver: Driver) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    message = {"role": "assistant", "reasoning_content": "hm", "content": "so", "tool_calls": [call]}
    driver.stream(Answers({"choices": [{"index": 0, "finish_reason": "tool_calls", "message": message}]}))
    assert driver.types() == ["reasoning_delta", "text_delta", "tool_call_delta", "response_done"]


def test_a_stream_nobody_asked_for_is_read(driver: Driver) -> None:
    assert driver.respond(Answers(sse(piece("he"), piece("llo", "stop"), "[DONE]"))).text == "hello"
    assert driver.types() == ["response_done"]


def test_an_error_as_json_to_a_stream_request_is_an_error(driver: Driver) -> None:
    with pytest.raises(ServerError, match="no upstream"):
        driver.stream(Answers({"error": {"message": "no upstream", "code": 502}}), retry=None)


@pytest.mark.parametrize("encode", [gzip.compress, zlib.compress])
def test_compressed_replies_are_read(driver: Driver, encode: object) -> None:
    name = "gzip" if encode is gzip.compress else "deflate"
    body = encode(json.dumps(OK).encode())
    assert driver.respond(Answers(httpx.Response(200, content=body, headers={"content-encoding": name}))).text == "ok"


def test_a_compressed_stream_is_read(driver: Driver) -> None:
    body = gzip.compress(sse(piece("hello", "stop"), "[DONE]").content)
    headers = {"content-encoding": "gzip", "content-type": "text/event-stream"}
    assert (
        driver.stream(
            Answers(httpx.Response(200, stream=Chunks(body[:20], body[20:], breaks=False), headers=headers))
        ).text
        == "hello"
    )


def test_a_broken_compression_is_named_and_not_repeated() -> None:
    driver = Driver("threads")
    body = httpx.Response(200, stream=httpx.ByteStream(b"not gzip"), headers={"content-encoding": "gzip"})
    with pytest.raises(TransportError, match="content encoding"):
        driver.respond(Answers(body))


def test_a_compressed_error_is_read(driver: Driver) -> None:
    body = gzip.compress(b'{"error": {"message": "broken inside"}}')
    with pytest.raises(ServerError, match="broken inside"):
        driver.respond(Answers(httpx.Response(500, content=body, headers={"content-encoding": "gzip"})), retry=None)


def test_the_status_counts_although_the_body_of_an_error_breaks_off(driver: Driver) -> None:
    body = Chunks(b'{"error": {"mess')
    with pytest.raises(ServerError, match=r"503: \{"):
        driver.respond(Answers(httpx.Response(503, stream=body)), retry=None)
    assert body.closed


def test_an_endless_error_page_is_read_only_as_far_as_it_is_of_use(driver: Driver) -> None:
    body = Chunks(*[b"x" * 100_000] * 4)
    with pytest.raises(ServerError, match="500: x"):
        driver.respond(Answers(httpx.Response(500, stream=body)), retry=None)


def test_every_end_closes_the_response(driver: Driver) -> None:
    bodies = [Chunks(), Chunks(b"data: {}\n\n"), Chunks(sse(piece("a", "stop"), "[DONE]").content)]
    answers = [httpx.Response(200, stream=body, headers={"content-type": "text/event-stream"}) for body in bodies]
    assert driver.stream(Answers(*answers)).text == "a"
    assert [body.closed for body in bodies] == [True, True, True]


def test_leaving_early_closes_the_response_at_once() -> None:
    body = Chunks(sse(piece("a")).content, sse(piece("b")).content)
    client = Client("http://h/v1", model="m", transport=Answers(httpx.Response(200, stream=body)))
    with client.stream("hi") as events:
        next(events)
        assert not body.closed
    assert body.closed


@pytest.mark.anyio
async def test_leaving_early_closes_the_response_at_once_in_asyncio() -> None:
    body = Chunks(sse(piece("a")).content, sse(piece("b")).content)
    client = AsyncClient("http://h/v1", model="m", transport=Answers(httpx.Response(200, stream=body)))
    async with client.stream("hi") as events:
        async for _ in events:
            break
        assert not body.closed
    assert body.closed


def test_taking_only_the_last_event_still_reads_the_end_of_the_body() -> None:
    body = Chunks(sse(piece("a", "stop"), "[DONE]").content, b"\n", breaks=False)
    client = Client("http://h/v1", model="m", transport=Answers(httpx.Response(200, stream=body)))
    with client.stream("hi") as events:
        assert next(event for event in events if event.type == "response_done").response.text == "a"
    assert body.read == 2


def test_a_verdict_of_the_content_filter_in_a_400_is_a_reply(driver: Driver) -> None:
    response = driver.respond(Answers(error(400, {"message": "filtered", "code": "content_filter"})))
    assert (response.finish_reason, response.text) == ("content_filter", "")


def test_ids_limits_and_provider_are_on_the_response(driver: Driver) -> None:
    headers = {"x-request-id": "req-1", "x-ratelimit-remaining-requests": "7", "set-cookie": "a=b"}
    response = driver.respond(Answers(httpx.Response(200, json=OK, headers=headers)))
    assert (response.request_id, response.provider) == ("req-1", "model.test")
    assert response.headers == {"x-request-id": "req-1", "x-ratelimit-remaining-requests": "7"}


FAILED = b'data: {"error": {"message": "x"}}\n\n'
CUT = b""
DONE = sse(piece("c", "stop"), "[DONE]").content


@example(end=FAILED, newline=b"\n", cuts=[len(sse(piece("a"), piece("b\n\n")).content) - 1])  # in the blank line
@given(
    st.sampled_from([FAILED, CUT, DONE]), st.sampled_from([b"\n", b"\r\n"]), st.lists(st.integers(0, 400), max_size=6)
)
def test_the_outcome_does_not_depend_on_how_the_bytes_are_split(end: bytes, newline: bytes, cuts: list[int]) -> None:
    body = (sse(piece("a"), piece("b\n\n")).content + end).replace(b"\n", newline)
    cuts = [0, *sorted(cuts), len(body) + 400]
    chunks = [body[start:stop] for start, stop in pairwise(cuts)]
    driver = Driver("threads")
    try:
        outcome = driver.stream(Answers(httpx.Response(200, stream=Chunks(*chunks, breaks=end is CUT)))).text
    except ModelError as failed:
        outcome = f"{type(failed).__name__} after {failed.partial.text!r}"
    expected = {FAILED: "ServerError after 'ab\\n\\n'", CUT: "StreamInterrupted after 'ab\\n\\n'", DONE: "ab\n\nc"}
    assert outcome == expected[end]
    assert driver.texts()[:2] == ["a", "b\n\n"]
