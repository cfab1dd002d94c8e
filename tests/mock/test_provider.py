"""The provider on real sockets: routes, keys, what it keeps of requests, and its end."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from typing import Any

import httpx
import pytest

from agentloop.errors import ConfigError
from agentloop.mock import MockProvider

HI: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
KEY = "sk-mock-0123456789abcdef"


def post(client: httpx.Client, mock: MockProvider, body: Any = HI, **options: Any) -> httpx.Response:
    return client.post(f"{mock.base_url}/chat/completions", json=body, **options)


def test_the_weather_in_fahrenheit_takes_three_steps(client: httpx.Client, tools: list[Any]) -> None:
    results = {"get_weather": '{"city": "Tokyo", "celsius": 18.0, "sky": "cloudy"}', "convert_temperature": "64.4"}
    messages: list[Any] = [{"role": "user", "content": "What is the weather in Tokyo, in Fahrenheit?"}]
    with MockProvider() as mock:
        for _ in range(2):
            message = post(client, mock, {"model": "m", "messages": messages, "tools": tools}).json()["choices"][0][
                "message"
            ]
            (call,) = message["tool_calls"]
            result = {"role": "tool", "tool_call_id": call["id"], "content": results[call["function"]["name"]]}
            messages += [message, result]
        answer = post(client, mock, {"model": "m", "messages": messages, "tools": tools}).json()["choices"][0]
    assert [message["tool_call_id"] for message in messages if message["role"] == "tool"] == ["call_1", "call_2"]
    assert answer["message"]["content"] == "In Tokyo it is 64.4 °F (18.0 °C) and cloudy."


def test_the_path_works_with_and_without_v1(client: httpx.Client) -> None:
    with MockProvider() as mock:
        assert mock.base_url.endswith("/v1")
        assert post(client, mock).status_code == 200
        assert client.post(mock.base_url.removesuffix("v1") + "chat/completions", json=HI).status_code == 200


def test_the_list_of_models_says_that_no_model_answers(client: httpx.Client) -> None:
    with MockProvider() as mock:
        (model,) = client.get(f"{mock.base_url}/models").json()["data"]
        assert client.get(f"{mock.base_url}/models/{model['id']}").json() == model
    assert model["id"] == mock.model == "agentloop-mock-rules"
    assert "rule-driven stand-in" in model["description"]


def test_health_answers_without_a_key(client: httpx.Client) -> None:
    with MockProvider(require_key=KEY) as mock:
        assert client.get(mock.base_url.removesuffix("/v1") + "/health").json() == {"status": "ok"}


def test_another_path_is_404_and_another_method_405(client: httpx.Client) -> None:
    with MockProvider() as mock:
        missing = client.get(f"{mock.base_url}/completions")
        wrong = client.get(f"{mock.base_url}/chat/completions")
        bare = client.head(f"{mock.base_url}/models")
    assert (missing.status_code, missing.json()["error"]["message"]) == (404, "Invalid URL (GET /v1/completions)")
    assert (wrong.status_code, wrong.headers["allow"]) == (405, "POST")
    assert (bare.status_code, bare.content) == (405, b"")


@pytest.mark.parametrize("content", [b"", b"{", b'{"model": "m"', b"\xff"])
def test_broken_json_is_a_400(client: httpx.Client, content: bytes) -> None:
    with MockProvider() as mock:
        response = client.post(f"{mock.base_url}/chat/completions", content=content)
    assert response.status_code == 400
    assert response.json()["error"]["message"].startswith("We could not parse the JSON body of your request")


def test_a_request_that_fails_the_checks_is_a_400_also_when_streamed(client: httpx.Client) -> None:
    with MockProvider() as mock:
        response = post(client, mock, {"model": "m", "messages": [], "stream": True})
    assert (response.status_code, response.json()["error"]["code"]) == (400, "empty_array")


@pytest.mark.parametrize(
    ("authorization", "status"),
    [(f"Bearer {KEY}", 200), ("Bearer sk-wrong-0123456789", 401), (KEY, 401), ("", 401), (None, 401)],
)
def test_a_required_key_must_match(client: httpx.Client, authorization: str | None, status: int) -> None:
    headers = {} if authorization is None else {"authorization": authorization}
    with MockProvider(require_key=KEY) as mock:
        response = post(client, mock, headers=headers)
    assert response.status_code == status
    assert KEY not in response.text


def test_requests_are_kept_without_keys(client: httpx.Client) -> None:
    body = {**HI, "user": f"my key is {KEY}"}
    headers = {"authorization": f"Bearer {KEY}", "x-api-key": KEY, "x-copy": KEY}
    with MockProvider() as mock:
        client.post(f"{mock.base_url}/chat/completions?api_key={KEY}&other={KEY}", json=body, headers=headers)
    (request,) = mock.requests
    assert request.headers["authorization"] == "Bearer ***"
    assert (request.method, request.path.partition("?")[0]) == ("POST", "/v1/chat/completions")
    assert request.json["messages"] == HI["messages"]
    assert KEY not in repr(request)


def test_refused_requests_are_kept_too(client: httpx.Client) -> None:
    with MockProvider() as mock:
        client.post(f"{mock.base_url}/chat/completions", content=b"{")
        client.get(f"{mock.base_url}/nowhere")
    assert [(request.path, request.json) for request in mock.requests] == [
        ("/v1/chat/completions", None),
        ("/v1/nowhere", None),
    ]


def test_one_connection_serves_many_requests(client: httpx.Client) -> None:
    with MockProvider() as mock:
        for stream in (False, True, False):
            post(client, mock, {**HI, "stream": stream})
        assert mock.open_connections == 1
    assert [request.connection for request in mock.requests] == [1, 1, 1]


def test_each_event_is_an_http_chunk_of_its_own() -> None:
    body = json.dumps({**HI, "stream": True}).encode()
    head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {len(body)}\r\n\r\n"
    with MockProvider("echo") as mock, _connected(mock) as raw:
        raw.sendall(head.encode() + body)
        _, _, chunked = _all_of(raw).partition(b"\r\n\r\n")
    sizes, rest = 0, chunked
    while (size := int(rest.partition(b"\r\n")[0], 16)) > 0:
        _, _, rest = rest.partition(b"\r\n")
        assert rest[:size].startswith(b"data: ")
        assert rest[:size].endswith(b"\n\n")
        sizes, rest = sizes + 1, rest[size + 2 :]
    assert sizes == 4  # role, "hi", finish, [DONE]


def test_two_requests_sent_at_once_are_answered_in_order() -> None:
    get = b"GET /v1/%s HTTP/1.1\r\nhost: x\r\n%s\r\n"
    with MockProvider() as mock, _connected(mock) as raw:
        raw.sendall(get % (b"one", b"") + get % (b"two", b"connection: close\r\n"))
        answers = _all_of(raw)
    assert 0 < answers.index(b"GET /v1/one") < answers.index(b"GET /v1/two")


def test_a_client_that_waits_to_be_told_to_go_on_is_told() -> None:
    head = b"POST /v1/x HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\nconnection: close\r\ncontent-length: 2\r\n\r\n"
    with MockProvider() as mock, _connected(mock) as raw:
        raw.sendall(head)
        assert raw.recv(100).startswith(b"HTTP/1.1 100")
        raw.sendall(b"{}")
        assert _all_of(raw).startswith(b"HTTP/1.1 404")


def test_bytes_that_are_no_http_are_a_400() -> None:
    with MockProvider() as mock, _connected(mock) as raw:
        raw.sendall(b"hello\r\n\r\n")
        assert _all_of(raw).startswith(b"HTTP/1.1 400")


def test_waiting_for_the_clients_to_leave_ends_when_they_have_left() -> None:
    with MockProvider() as mock, httpx.Client() as client:
        post(client, mock, HI)
        assert not mock.wait_idle(0.01)
        client.close()
        assert mock.wait_idle()
        assert mock.open_connections == 0
    assert mock.wait_idle()


def test_stopping_while_clients_connect_leaves_nothing_open() -> None:
    with MockProvider() as mock:
        raws = [_connected(mock) for _ in range(50)]
        raws[-1].sendall(b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n")
    for raw in raws:
        with raw, suppress(ConnectionResetError):
            _all_of(raw)  # ends, since the server has closed
    assert mock.open_connections == 0


def test_leaving_the_block_closes_the_port_and_joins_the_thread(client: httpx.Client) -> None:
    before = threading.active_count()
    with MockProvider() as mock:
        post(client, mock)
        base_url = mock.base_url
    assert threading.active_count() == before
    with pytest.raises(httpx.ConnectError):
        client.get(f"{base_url}/models", headers={"connection": "close"})


def test_a_provider_that_is_not_running_has_no_address() -> None:
    with pytest.raises(RuntimeError, match="not running"):
        _ = MockProvider().base_url


def test_a_port_in_use_is_an_error_at_once() -> None:
    with MockProvider() as mock:
        port = int(mock.base_url.rpartition(":")[2].removesuffix("/v1"))
        with pytest.raises(OSError, match=r"(?i)address already in use"):
            MockProvider(port=port).start()


def test_a_port_that_is_none_is_an_error_at_once() -> None:
    with pytest.raises(ConfigError, match="to 65535"):
        MockProvider(port=70000).start()


def test_a_provider_is_started_once() -> None:
    with MockProvider() as mock, pytest.raises(RuntimeError, match="running already"):
        mock.start()


def test_a_provider_can_be_started_again(client: httpx.Client) -> None:
    mock = MockProvider()
    for _ in range(2):
        with mock:
            assert post(client, mock).status_code == 200


@pytest.mark.anyio
async def test_async_with_serves_too() -> None:
    async with MockProvider("echo") as mock, httpx.AsyncClient(trust_env=False) as client:
        response = await client.post(f"{mock.base_url}/chat/completions", json=HI)
    assert response.json()["choices"][0]["message"]["content"] == "hi"


def test_serve_tells_its_address_and_its_requests_and_ends_well_on_an_interrupt(client: httpx.Client) -> None:
    script = """
import signal
from agentloop.mock import serve

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job would ignore it
serve(ready=lambda url: print(url, flush=True), seen=lambda request: print(request.path, flush=True))
print("ended")
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        client.get(process.stdout.readline().strip() + "/models")
        assert process.stdout.readline() == "/v1/models\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == "ended\n"
    assert process.returncode == 0


def _connected(mock: MockProvider) -> socket.socket:
    port = int(mock.base_url.rpartition(":")[2].removesuffix("/v1"))
    return socket.create_connection(("127.0.0.1", port), timeout=20)


def _all_of(raw: socket.socket) -> bytes:
    """What the server sends until it closes."""
    found = b""
    while data := raw.recv(65536):
        found += data
    return found
