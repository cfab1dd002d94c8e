"""Every fault on a real connection, and the same fault in memory: both must look the same to a client."""

from __future__ import annotations

import json
import socket
import zlib
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from agentloop.mock import MockProvider, ReceivedRequest, mock_handler
from agentloop.testing import Fault, FaultTransport

PROMPT = "one two three"
WHOLE: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": PROMPT}]}
STREAM = {**WHOLE, "stream": True}


@pytest.fixture
def client() -> Iterator[httpx.Client]:
    with httpx.Client(trust_env=False, timeout=20) as client:
        yield client


class Outcome:
    """What a client saw of one answer: status, headers, decoded body as far as it came, and the error that ended it."""

    def __init__(self, client: httpx.Client, base_url: str, body: dict[str, Any]) -> None:
        self.status, self.headers, self.body, self.error = 0, httpx.Headers(), b"", ""
        try:
            with client.stream("POST", f"{base_url}/chat/completions", json=body) as response:
                self.status, self.headers = response.status_code, response.headers
                for data in response.iter_bytes():
                    self.body += data
        except httpx.TransportError as error:
            self.error = f"{type(error).__name__}: {error}"

    @property
    def events(self) -> list[str]:
        return [event.removeprefix("data: ") for event in self.body.decode().split("\n\n") if event]

    @property
    def text(self) -> str:
        chunks = [json.loads(event) for event in self.events if event != "[DONE]"]
        return "".join(chunk["choices"][0]["delta"].get("content") or "" for chunk in chunks)


@pytest.fixture(params=["on a socket", "in memory"])
def meet(request: pytest.FixtureRequest, client: httpx.Client) -> Any:
    """A function from faults and a request body to the outcome."""

    def on_a_socket(faults: Any, body: dict[str, Any]) -> Outcome:
        with MockProvider("echo", faults=faults) as mock:
            return Outcome(client, mock.base_url, body)

    def in_memory(faults: Any, body: dict[str, Any]) -> Outcome:
        with httpx.Client(transport=FaultTransport(mock_handler("echo"), faults)) as faulty:
            return Outcome(faulty, "http://mock/v1", body)

    return on_a_socket if request.param == "on a socket" else in_memory


CUT = "RemoteProtocolError: peer closed connection without sending complete message body"
RESET = "ReadError: [Errno 104] Connection reset by peer"


def test_a_status_comes_with_its_headers_and_an_error_body(meet: Any) -> None:
    found = meet("status=429,retry-after=1,message=Slow down,code=rate_limit_exceeded", STREAM)
    assert (found.status, found.headers["retry-after"]) == (429, "1")
    assert found.headers["content-type"] == "application/json"
    error = {"message": "Slow down", "type": "rate_limit_error", "param": None, "code": "rate_limit_exceeded"}
    assert json.loads(found.body) == {"error": error}


@pytest.mark.parametrize("status", [400, 401, 404, 500, 529])
def test_any_status_has_a_message_of_its_own(meet: Any, status: int) -> None:
    found = meet(f"status={status}", WHOLE)
    assert found.status == status
    assert json.loads(found.body)["error"]["message"]


@pytest.mark.parametrize("status", [204, 304])
def test_a_status_without_a_body_has_none(meet: Any, status: int) -> None:
    found = meet(f"status={status}", STREAM)
    assert (found.status, found.body, found.error) == (status, b"", "")


@pytest.mark.parametrize("body", ["", "\n\n\n", "upstream is away", '{"choices": null}'])
def test_a_body_of_any_kind_can_be_sent(meet: Any, body: str) -> None:
    found = meet([Fault("status", status=200, body=body)], WHOLE)
    assert (found.status, found.body.decode()) == (200, body)


def test_an_error_comes_inside_a_stream_after_the_text_so_far(meet: Any) -> None:
    found = meet("error=overloaded,after=2,code=503", STREAM)
    *before, last = found.events
    assert (found.status, len(before), found.error) == (200, 2, "")
    assert json.loads(last)["error"] == {"message": "overloaded", "type": "server_error", "param": None, "code": 503}


def test_an_error_takes_the_place_of_a_whole_reply(meet: Any) -> None:
    found = meet("error=overloaded", WHOLE)
    assert (found.status, json.loads(found.body)["error"]["message"]) == (200, "overloaded")


@pytest.mark.parametrize("spec", ["stall", "stall=content", "stall=chunks,after=3", "drip=50", "keepalive=2"])
def test_after_a_delay_the_stream_is_whole(meet: Any, spec: str) -> None:
    found = meet(f"{spec},seconds=0.001", STREAM)
    comments = [event for event in found.events if event == ": keep-alive"]
    found.body = found.body.replace(b": keep-alive\n\n", b"")
    assert (found.text, found.error) == (PROMPT, "")
    assert len(comments) == (2 if spec == "keepalive=2" else 0)


@pytest.mark.parametrize("spec", ["stall", "stall=content", "stall=chunks", "drip=50", "keepalive=2"])
def test_after_a_delay_a_whole_reply_is_whole(meet: Any, spec: str) -> None:
    found = meet(f"{spec},seconds=0.001", WHOLE)
    assert json.loads(found.body)["choices"][0]["message"]["content"] == PROMPT
    assert found.body.startswith(b"\n\n{") == (spec == "keepalive=2")


def test_a_stall_ends_in_the_read_timeout_of_the_client(meet: Any, client: httpx.Client) -> None:
    client.timeout = httpx.Timeout(20, read=0.05)
    found = meet("stall", STREAM)
    assert (found.status, found.error) == (0, "ReadTimeout: timed out")


@pytest.mark.parametrize(("spec", "events"), [("stall=content", 1), ("stall=chunks,after=3", 3)])
def test_a_stall_comes_after_the_chunks_before_it(spec: str, events: int) -> None:
    with MockProvider("echo", faults=spec) as mock:
        raw, found = _asked(mock, STREAM), b""
        while found.count(b"data: ") < events:
            found += raw.recv(65536)
    with raw:
        assert (found + _until_closed(raw)).count(b"data: ") == events


@pytest.mark.parametrize(
    ("spec", "error"),
    [("close", "RemoteProtocolError: Server disconnected without sending a response."), ("reset", RESET)],
)
def test_a_connection_can_end_before_the_first_byte(meet: Any, spec: str, error: str) -> None:
    found = meet(spec, WHOLE)
    assert (found.status, found.error) == (0, error)


@pytest.mark.parametrize(("spec", "error"), [("cut-after=3", CUT), ("reset-after=3", RESET)])
def test_a_stream_can_break_after_some_chunks(meet: Any, spec: str, error: str) -> None:
    found = meet(spec, STREAM)
    assert (found.status, found.text) == (200, "one two")
    assert found.error.startswith(error)


def test_a_stream_can_break_inside_a_chunk(meet: Any) -> None:
    found = meet("cut-inside=3", STREAM)
    *before, half = found.events
    assert len(before) == 2
    assert half.startswith('{"id"')
    assert not half.endswith("}")
    assert found.error.startswith(CUT)


@pytest.mark.parametrize(("spec", "error"), [("cut-after=9", CUT), ("cut-inside=2", CUT), ("reset-after=9", RESET)])
def test_a_whole_reply_breaks_in_its_middle(meet: Any, spec: str, error: str) -> None:
    found = meet(spec, WHOLE)
    assert found.body
    assert len(found.body) < int(found.headers["content-length"])
    assert found.error.startswith(error)


def test_a_stream_can_end_properly_but_too_early(meet: Any) -> None:
    found = meet("end-after=3", STREAM)
    assert (found.text, found.error) == ("one two", "")


def test_a_chunk_can_come_twice(meet: Any) -> None:
    assert meet("duplicate=3", STREAM).text == "one two two three"


def test_a_chunk_can_be_broken_json(meet: Any) -> None:
    events = meet("bad-json=3", STREAM).events
    with pytest.raises(ValueError, match=r"Unterminated|Expecting"):
        json.loads(events[2])
    assert events[-1] == "[DONE]"


def test_a_whole_reply_can_be_broken_json(meet: Any) -> None:
    found = meet("bad-json", WHOLE)
    assert (found.status, found.error, len(found.body)) == (200, "", int(found.headers["content-length"]))
    assert not found.body.endswith(b"}")


@pytest.mark.parametrize(("spec", "status"), [("html", 200), ("html=502", 502)])
def test_a_web_page_can_come_instead(meet: Any, spec: str, status: int) -> None:
    found = meet(spec, STREAM)
    assert (found.status, found.headers["content-type"]) == (status, "text/html; charset=utf-8")
    assert b"<html>" in found.body


@pytest.mark.parametrize("body", [WHOLE, STREAM])
def test_a_length_that_is_too_long_breaks_off(meet: Any, body: dict[str, Any]) -> None:
    found = meet("wrong-length=5", body)
    assert int(found.headers["content-length"]) == len(found.body) + 5
    assert found.error.startswith(CUT)


@pytest.mark.parametrize("body", [WHOLE, STREAM])
def test_a_length_that_is_too_short_loses_the_end(meet: Any, body: dict[str, Any]) -> None:
    found = meet("wrong-length=-5", body)
    assert int(found.headers["content-length"]) == len(found.body)
    assert not found.body.endswith((b"}", b"[DONE]\n\n"))


@pytest.mark.parametrize("body", [WHOLE, STREAM])
def test_a_body_can_be_compressed(meet: Any, body: dict[str, Any]) -> None:
    found = meet("gzip", body)
    assert found.headers["content-encoding"] == "gzip"
    assert found.body.endswith((b"}", b"[DONE]\n\n"))


def test_headers_can_be_added_to_any_answer(meet: Any) -> None:
    found = meet('ok,header:x-request-id=mine,header:content-type="application/json; charset=utf-8"', WHOLE)
    assert found.headers.get_list("x-request-id") == ["mine"]
    assert found.headers["content-type"] == "application/json; charset=utf-8"


# --- what only sockets have ------------------------------------------------------------------------------------------


def test_each_compressed_event_can_be_read_when_it_arrives() -> None:
    with MockProvider("echo", faults="gzip") as mock, _asked(mock, STREAM) as raw:
        _, _, chunked = _all_of(raw).partition(b"\r\n\r\n")
    size, _, rest = chunked.partition(b"\r\n")
    first = zlib.decompressobj(wbits=31).decompress(rest[: int(size, 16)])
    assert first.startswith(b"data: ")
    assert first.endswith(b"\n\n")


def test_release_lets_a_stalled_answer_go_on(client: httpx.Client) -> None:
    with (
        MockProvider("echo", faults="stall=chunks,after=2") as mock,
        client.stream("POST", f"{mock.base_url}/chat/completions", json=STREAM) as response,
    ):
        lines = response.iter_lines()
        assert next(lines).startswith("data: ")
        mock.release()
        assert "data: [DONE]" in list(lines)


def test_a_stall_ends_when_the_client_leaves() -> None:
    with MockProvider("echo", faults="stall") as mock, _asked(mock, WHOLE) as raw:
        raw.shutdown(socket.SHUT_WR)
        assert _all_of(raw) == b""


def test_after_a_fault_the_server_serves_on(client: httpx.Client) -> None:
    kinds = ["reset", "close", "cut-after", "wrong-length", "wrong-length=-5", "html", "bad-json"]
    with MockProvider("echo", faults=kinds) as mock:
        for _ in kinds:
            Outcome(client, mock.base_url, WHOLE)
        assert Outcome(client, mock.base_url, STREAM).text == PROMPT


def test_only_requests_for_replies_use_faults_up(client: httpx.Client) -> None:
    with MockProvider(faults="status=503") as mock:
        assert client.get(f"{mock.base_url}/models").status_code == 200
        assert Outcome(client, mock.base_url, WHOLE).status == 503


def test_the_fault_can_depend_on_what_is_asked(client: httpx.Client) -> None:
    def choose(request: ReceivedRequest) -> Fault | None:
        return Fault("status", status=503) if request.json["messages"][0]["content"] == "bad" else None

    with MockProvider("echo", faults=choose) as mock:
        assert Outcome(client, mock.base_url, WHOLE).status == 200
        bad = {"model": "m", "messages": [{"role": "user", "content": "bad"}]}
        assert Outcome(client, mock.base_url, bad).status == 503


def _asked(mock: MockProvider, body: dict[str, Any], *headers: str) -> socket.socket:
    """A raw connection on which the request has been sent."""
    port = int(mock.base_url.rpartition(":")[2].removesuffix("/v1"))
    raw = socket.create_connection(("127.0.0.1", port), timeout=20)
    content = json.dumps(body).encode()
    lines = ["POST /v1/chat/completions HTTP/1.1", "host: x", "connection: close", *headers]
    raw.sendall("\r\n".join([*lines, f"content-length: {len(content)}", "", ""]).encode() + content)
    return raw


def _all_of(raw: socket.socket) -> bytes:
    found = b""
    while data := raw.recv(65536):
        found += data
    return found


def _until_closed(raw: socket.socket) -> bytes:
    """As `_all_of`, for a server that may also reset."""
    try:
        return _all_of(raw)
    except ConnectionResetError:
        return b""
