"""Streams are recorded as they come, and played as they came: chunks, breaks and early ends."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from agentloop.testing import Cassette, CassetteMismatch, RecordTransport, ReplayTransport, record
from agentloop.testing.deck import Deck

Write = Callable[..., Path]
URL = "https://api.test/v1/chat/completions"
SSE = {"content-type": "text/event-stream"}
# The third event is split within a character of four bytes.
CHUNKS = [b"data: one\n\n", b"data: two\n\n", b"data: \xf0\x9f", b"\x98\x80\n\n", b"data: [DONE]\n\n"]


class Served(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A live stream: chunks, and then perhaps an error."""

    def __init__(self, chunks: list[bytes], error: Exception | None = None) -> None:
        self.chunks = chunks
        self.error = error
        self.closed = False

    def __iter__(self) -> Iterator[bytes]:
        yield from self.chunks
        if self.error:
            raise self.error

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self:
            yield chunk

    def close(self) -> None:
        self.closed = True

    async def aclose(self) -> None:
        self.closed = True


def live(stream: Served) -> httpx.MockTransport:
    return httpx.MockTransport(lambda _: httpx.Response(200, headers=SSE, stream=stream))


def chunks_of(path: Path, **options: Any) -> list[bytes]:
    with (
        httpx.Client(transport=ReplayTransport(path, **options)) as client,
        client.stream("GET", URL) as response,
    ):
        return list(response.iter_raw())


def test_a_stream_is_played_in_the_chunks_that_came(tmp_path: Path) -> None:
    with (
        httpx.Client(transport=RecordTransport(tmp_path / "x.json", live(Served(CHUNKS)))) as client,
        client.stream("GET", URL) as response,
    ):
        assert list(response.iter_raw()) == CHUNKS
    assert chunks_of(tmp_path / "x.json") == CHUNKS


@pytest.mark.anyio
async def test_an_async_stream_is_recorded_and_played_too(tmp_path: Path) -> None:
    async with httpx.AsyncClient(transport=RecordTransport(tmp_path / "x.json", live(Served(CHUNKS)))) as client:
        assert (await client.get(URL)).content == b"".join(CHUNKS)
    async with (
        httpx.AsyncClient(transport=ReplayTransport(tmp_path / "x.json")) as client,
        client.stream("GET", URL) as response,
    ):
        assert [chunk async for chunk in response.aiter_raw()] == CHUNKS


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_a_stream_can_be_played_in_other_pieces(write: Write, size: int) -> None:
    path = write({"request": {"url": URL}, "response": {"chunks": ["data: é\n\n", "data: [DONE]\n\n"]}})
    pieces = chunks_of(path, chunk_size=size)
    assert b"".join(pieces) == "data: é\n\ndata: [DONE]\n\n".encode()
    assert len(pieces[0]) == min(size, 24)


def test_a_chunk_reaches_the_reader_before_the_next_is_sent(tmp_path: Path) -> None:
    gate = threading.Event()

    class Gated(Served):
        def __iter__(self) -> Iterator[bytes]:
            yield CHUNKS[0]
            assert gate.wait(5), "the reader never got the first chunk"
            yield CHUNKS[1]

    client = httpx.Client(transport=live(Gated([])))
    with record(tmp_path / "x.json", client), client.stream("GET", URL) as response:
        for chunk in response.iter_raw():
            if chunk == CHUNKS[0]:
                gate.set()
    assert chunks_of(tmp_path / "x.json") == CHUNKS[:2]


def test_chunks_have_the_times_at_which_they_came(tmp_path: Path) -> None:
    ticks = iter([10.0, 10.4, 10.5])
    deck = Deck(tmp_path / "x.json", "all", clock=lambda: next(ticks))
    client = httpx.Client(transport=live(Served(CHUNKS[:2])))
    with deck.attached(client):
        client.get(URL)
    deck.finish()
    response = json.loads((tmp_path / "x.json").read_text())["exchanges"][0]["response"]
    assert [chunk["at"] for chunk in response["chunks"]] == [0.4, 0.5]


def test_an_early_left_stream_is_marked_and_must_be_left_again(tmp_path: Path) -> None:
    stream = Served(CHUNKS)
    client = httpx.Client(transport=live(stream))
    with record(tmp_path / "x.json", client), client.stream("GET", URL) as response:
        assert next(response.iter_raw()) == CHUNKS[0]
    assert stream.closed
    assert json.loads((tmp_path / "x.json").read_text())["exchanges"][0]["left"] is True
    with (
        httpx.Client(transport=ReplayTransport(tmp_path / "x.json")) as client,
        client.stream("GET", URL) as response,
    ):
        assert next(response.iter_raw()) == CHUNKS[0]
    with pytest.raises(CassetteMismatch, match="its reader left the stream at this point"):
        chunks_of(tmp_path / "x.json")


def test_a_stream_that_is_still_open_at_the_end_counts_as_left(tmp_path: Path) -> None:
    client = httpx.Client(transport=live(Served(CHUNKS)))
    with record(tmp_path / "x.json", client):
        response = client.send(client.build_request("GET", URL), stream=True)
        next(response.iter_raw())
    [exchange] = Cassette.load(tmp_path / "x.json").exchanges
    assert exchange.left


@pytest.mark.anyio
async def test_a_cancelled_reader_has_left(tmp_path: Path) -> None:
    class Endless(Served):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            yield CHUNKS[0]
            await asyncio.Event().wait()

    client = httpx.AsyncClient(transport=live(Endless([])))
    first = asyncio.Event()

    async def read() -> None:
        async with client.stream("GET", URL) as response:
            async for _ in response.aiter_raw():
                first.set()

    with record(tmp_path / "x.json", client):
        task = asyncio.create_task(read())
        await first.wait()
        task.cancel()
        await asyncio.wait([task])
    [exchange] = Cassette.load(tmp_path / "x.json").exchanges
    assert exchange.left
    assert exchange.response is not None
    assert exchange.response.content == CHUNKS[0]


@pytest.mark.parametrize("error", [httpx.ReadError("reset"), httpx.ReadTimeout("slow")])
def test_a_break_in_a_stream_is_played_as_the_same_break(tmp_path: Path, error: Exception) -> None:
    client = httpx.Client(transport=live(Served(CHUNKS[:3], error)))
    with record(tmp_path / "x.json", client), pytest.raises(type(error)):
        client.get(URL)
    seen: list[bytes] = []
    with (
        httpx.Client(transport=ReplayTransport(tmp_path / "x.json")) as client,
        client.stream("GET", URL) as response,
        pytest.raises(type(error), match=str(error)),
    ):
        seen.extend(response.iter_raw())
    assert Cassette.load(tmp_path / "x.json").exchanges[0].error is not None


def test_all_chunks_before_a_break_are_played(write: Write) -> None:
    path = write({"request": {"url": URL}, "response": {"chunks": ["a", "b"]}, "error": {"type": "ReadError"}})
    seen: list[bytes] = []
    with httpx.Client(transport=ReplayTransport(path)) as client, client.stream("GET", URL) as response:
        chunks = response.iter_raw()
        seen += [next(chunks), next(chunks)]
        with pytest.raises(httpx.ReadError):
            next(chunks)
    assert seen == [b"a", b"b"]


def test_a_json_reply_in_pieces_is_stored_whole(tmp_path: Path) -> None:
    headers = {"content-type": "application/json"}
    transport = httpx.MockTransport(lambda _: httpx.Response(200, headers=headers, stream=Served([b'{"a":', b" [1]}"])))
    client = httpx.Client(transport=transport)
    with record(tmp_path / "x.json", client):
        client.get(URL)
    response = json.loads((tmp_path / "x.json").read_text())["exchanges"][0]["response"]
    assert response == {"status": 200, "headers": headers, "body": {"a": [1]}}


def test_a_cut_json_reply_is_not_shown_as_json(tmp_path: Path) -> None:
    headers = {"content-type": "application/json"}
    stream = Served([b"[1, 2]"], httpx.RemoteProtocolError("cut"))
    client = httpx.Client(transport=httpx.MockTransport(lambda _: httpx.Response(200, headers=headers, stream=stream)))
    with record(tmp_path / "x.json", client), pytest.raises(httpx.RemoteProtocolError):
        client.get(URL)
    form = json.loads((tmp_path / "x.json").read_text())["exchanges"][0]
    assert "chunks" in form["response"]
    assert form["error"] == {"type": "RemoteProtocolError", "message": "cut"}
