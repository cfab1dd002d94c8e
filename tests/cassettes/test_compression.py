"""Compressed bodies are stored decoded, and the headers agree with what is stored."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from agentloop.testing import Cassette, ReplayTransport, record
from agentloop.testing.bodies import Chunk
from agentloop.testing.decoding import decode_body

URL = "https://api.test/v1/chat/completions"
REPLY = {"choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "hé"}}]}
JSON = {"content-type": "application/json"}


class Body(httpx.SyncByteStream):
    """Bytes as a server sends them, encoding and all."""

    def __init__(self, *chunks: bytes) -> None:
        self.chunks = chunks

    def __iter__(self) -> Iterator[bytes]:
        yield from self.chunks


def record_and_replay(path: Path, headers: dict[str, str], *chunks: bytes, status: int = 200) -> httpx.Response:
    live = httpx.Client(
        transport=httpx.MockTransport(lambda _: httpx.Response(status, headers=headers, stream=Body(*chunks)))
    )
    with record(path, live):
        seen = live.get(URL)
    with httpx.Client(transport=ReplayTransport(path)) as client:
        replayed = client.get(URL)
    assert replayed.status_code == seen.status_code
    return replayed


@pytest.mark.parametrize(("coding", "encode"), [("gzip", gzip.compress), ("deflate", zlib.compress)])
def test_a_compressed_body_is_stored_as_readable_json(tmp_path: Path, coding: str, encode: Any) -> None:
    body = encode(json.dumps(REPLY).encode())
    headers = {**JSON, "Content-Encoding": coding, "Content-Length": str(len(body))}
    replayed = record_and_replay(tmp_path / "x.json", headers, body)
    assert replayed.json() == REPLY
    assert '"content": "hé"' in (tmp_path / "x.json").read_text("utf-8")
    assert "content-encoding" not in replayed.headers
    assert replayed.headers["content-length"] == str(len(replayed.content))


@pytest.mark.parametrize(("status", "length"), [(204, None), (200, "0"), (200, None)])
def test_an_empty_body_with_an_encoding_is_empty(tmp_path: Path, status: int, length: str | None) -> None:
    headers = {"Content-Encoding": "gzip", **({"Content-Length": length} if length else {})}
    assert record_and_replay(tmp_path / "x.json", headers, status=status).content == b""


def test_a_compressed_stream_keeps_its_chunks(tmp_path: Path) -> None:
    squeeze = zlib.compressobj(wbits=31)
    events = [b'data: {"n":1}\n\n', b'data: {"n":2}\n\n']
    chunks = [squeeze.compress(event) + squeeze.flush(zlib.Z_SYNC_FLUSH) for event in events]
    headers = {"content-type": "text/event-stream", "content-encoding": "gzip"}
    record_and_replay(tmp_path / "x.json", headers, *chunks, squeeze.flush())
    [exchange] = Cassette.load(tmp_path / "x.json").exchanges
    assert exchange.response is not None
    assert [chunk.data for chunk in exchange.response.chunks] == events


def test_times_of_chunks_survive_decoding() -> None:
    body = gzip.compress(b"hello")
    chunks = [Chunk(body[:12], 0.1), Chunk(body[12:], 0.5)]
    _, decoded = decode_body({"content-encoding": "gzip"}, chunks)
    assert b"".join(chunk.data for chunk in decoded) == b"hello"
    assert {chunk.at for chunk in decoded} <= {0.1, 0.5}


def test_a_body_that_is_not_what_its_header_says_is_kept_as_it_is(tmp_path: Path) -> None:
    headers = {**JSON, "content-encoding": "gzip"}
    live = httpx.Client(
        transport=httpx.MockTransport(lambda _: httpx.Response(200, headers=headers, stream=Body(b"{}")))
    )
    with record(tmp_path / "x.json", live), pytest.raises(httpx.DecodingError):
        live.get(URL)
    with httpx.Client(transport=ReplayTransport(tmp_path / "x.json")) as client, pytest.raises(httpx.DecodingError):
        client.get(URL)
