"""A cassette as a server: the recorded chunks over a real socket."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from agentloop.testing import serve

Write = Callable[..., Path]
PATH = "/v1/chat/completions"


def raw(url: str, request: bytes) -> bytes:
    """All that the server sends until it closes the connection."""
    address = httpx.URL(url)
    with socket.create_connection((address.host, address.port or 80), timeout=5) as connection:
        connection.sendall(request)
        return b"".join(iter(lambda: connection.recv(65536), b""))


def test_a_json_reply_is_served_whatever_the_recorded_host(write: Write, asked: Any) -> None:
    with serve(write(asked())) as server:
        answer = httpx.post(server.url + PATH, json=asked()["request"]["body"])
        assert answer.json() == {"answer": "hello"}
        assert server.player.unused == []


def test_a_stream_is_served_in_its_recorded_chunks(write: Write) -> None:
    path = write({"request": {"url": "https://x/s"}, "response": {"chunks": ["data: 1\n\n", "data: [DONE]\n\n"]}})
    with serve(path) as server:
        sent = raw(server.url, b"GET /s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    head, _, body = sent.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK")
    assert b"content-type: text/event-stream" in head
    assert body == b"9\r\ndata: 1\n\n\r\ne\r\ndata: [DONE]\n\n\r\n0\r\n\r\n"


def test_an_http_1_0_client_gets_plain_bytes(write: Write) -> None:
    path = write({"request": {"url": "https://x/s"}, "response": {"chunks": ["data: 1\n\n", "data: 2\n\n"]}})
    with serve(path) as server:
        assert raw(server.url, b"GET /s HTTP/1.0\r\n\r\n").endswith(b"\r\n\r\ndata: 1\n\ndata: 2\n\n")


@pytest.mark.parametrize(("timing", "waits"), [(True, [0.5, 1.5]), (False, [])])
def test_the_recorded_times_are_kept_on_request(write: Write, timing: bool, waits: list[float]) -> None:
    slept: list[float] = []
    chunks = [{"at": 0.5, "text": "a"}, {"at": 2.0, "text": "b"}, {"at": 2.0, "text": "c"}]
    path = write({"request": {"url": "https://x/s"}, "response": {"chunks": chunks}})
    with serve(path, timing=timing, sleep=slept.append) as server:
        assert httpx.get(server.url + "/s").text == "abc"
    assert slept == waits


def test_closing_ends_a_pause(write: Write) -> None:
    chunks = [{"at": 0.0, "text": "a"}, {"at": 3600.0, "text": "b"}]
    path = write({"request": {"url": "https://x/s"}, "response": {"chunks": chunks}})
    server = serve(path, timing=True)
    with httpx.stream("GET", server.url + "/s") as response:
        assert next(response.iter_raw()) == b"a"
        server.close()


@pytest.mark.parametrize("ending", [{"error": {"type": "ReadError"}}, {"left": True}])
def test_a_broken_stream_breaks_again(write: Write, ending: dict[str, Any]) -> None:
    path = write({"request": {"url": "https://x/s"}, "response": {"chunks": ["data: 1\n\n"]}, **ending})
    with serve(path) as server, pytest.raises(httpx.RemoteProtocolError):
        httpx.get(server.url + "/s")


def test_a_failure_before_the_answer_closes_the_connection(write: Write) -> None:
    path = write({"request": {"url": "https://x/s"}, "error": {"type": "ConnectError"}})
    with serve(path) as server:
        assert raw(server.url, b"GET /s HTTP/1.1\r\nHost: x\r\n\r\n") == b""


def test_a_mismatch_is_a_404_with_the_difference(write: Write, asked: Any) -> None:
    with serve(write(asked("hi"))) as server:
        answer = httpx.post(server.url + PATH, json=asked("bye")["request"]["body"])
    assert answer.status_code == 404
    error = answer.json()["error"]
    assert error["type"] == "cassette_mismatch"
    assert '$.messages[0].content\n    recorded: "hi"\n    sent:     "bye"' in error["message"]


def test_a_connection_is_kept_and_a_chunked_request_is_read(write: Write) -> None:
    exchange = {"request": {"url": "https://x/s", "body": {"a": 1}}, "response": {"text": "ok"}}
    with serve(write(exchange, exchange)) as server, httpx.Client() as client:
        for _ in range(2):
            assert client.post(server.url + "/s", content=iter([b'{"a"', b":1}"])).text == "ok"


def test_a_head_request_gets_no_body(write: Write) -> None:
    path = write({"request": {"method": "HEAD", "url": "https://x/s"}, "response": {"text": "ok"}})
    with serve(path) as server:
        answer = httpx.head(server.url + "/s")
    assert (answer.status_code, answer.headers["content-length"], answer.content) == (200, "2", b"")


def test_closing_ends_idle_connections_and_frees_the_port(write: Write) -> None:
    exchange = {"request": {"url": "https://x/s"}, "response": {"text": "ok"}}
    with httpx.Client() as client:
        server = serve(write(exchange))
        client.get(server.url + "/s")
        server.close()
        with pytest.raises(httpx.TransportError):
            client.get(server.url + "/s")
    port = httpx.URL(server.url).port or 0
    serve(write(exchange), port=port).close()


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_plain_curl_can_use_it(write: Write, asked: Any) -> None:
    with serve(write(asked())) as server:
        body = json.dumps(asked()["request"]["body"])
        command = ["curl", "-sS", "-H", "content-type: application/json", "-d", body, server.url + PATH]
        shown = subprocess.run(command, capture_output=True, check=True, timeout=10)
    assert json.loads(shown.stdout) == {"answer": "hello"}
