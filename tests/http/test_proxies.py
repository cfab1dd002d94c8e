"""Which proxy a base URL gets from the environment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from agentloop.errors import ConfigError
from agentloop.http.client import Client
from agentloop.http.clock import SystemClock
from agentloop.http.proxies import environment_proxy
from agentloop.http.transport import PoolTransport
from tests.http.peers import OK, Driver, Peer, Server

PROXY = {"HTTPS_PROXY": "http://proxy:3128", "http_proxy": "other:81"}


@pytest.mark.parametrize(
    ("environment", "url", "proxy"),
    [
        (PROXY, "https://api.test/v1", "http://proxy:3128"),
        (PROXY, "http://api.test/v1", "http://other:81"),
        ({"ALL_PROXY": "socks5://proxy:1080"}, "https://api.test/v1", "socks5://proxy:1080"),
        ({}, "https://api.test/v1", None),
        ({"HTTPS_PROXY": ""}, "https://api.test/v1", None),
        (PROXY, "http://localhost:8080/v1", None),
        (PROXY, "http://127.0.0.1:8080/v1", None),
        (PROXY, "http://[::1]:8080/v1", None),
        ({**PROXY, "NO_PROXY": "other, api.test"}, "https://api.test/v1", None),
        ({**PROXY, "no_proxy": ".test"}, "https://api.test/v1", None),
        ({**PROXY, "NO_PROXY": "pi.test"}, "https://api.test/v1", "http://proxy:3128"),
        ({**PROXY, "NO_PROXY": "*"}, "https://api.test/v1", None),
        ({**PROXY, "NO_PROXY": "10.0.0.0/8"}, "https://10.1.2.3/v1", None),
        ({**PROXY, "NO_PROXY": "10.0.0.0/8"}, "https://11.1.2.3/v1", "http://proxy:3128"),
        ({**PROXY, "NO_PROXY": "api.test:8443"}, "https://api.test:8443/v1", None),
    ],
)
def test_the_proxy_of_a_base_url(environment: dict[str, str], url: str, proxy: str | None) -> None:
    found = environment_proxy(httpx.URL(url), environment)
    assert (str(found.url) if found else None) == proxy


BROKEN = ["http://", "ftp://proxy:21", "http://proxy:port", "http://[::1", "no proxy", "socks4://user:hunter2@proxy"]


@pytest.mark.parametrize("address", BROKEN)
def test_a_broken_proxy_variable_is_named_without_its_password(address: str) -> None:
    with pytest.raises(ConfigError, match=r"HTTPS_PROXY or ALL_PROXY.*trust_env=False") as caught:
        environment_proxy(httpx.URL("https://api.test/v1"), {"HTTPS_PROXY": address})
    assert "hunter2" not in str(caught.value)


def test_a_proxy_that_cannot_be_reached_is_named_without_its_password() -> None:
    environment = {"HTTP_PROXY": "http://user:hunter2@127.0.0.1:9"}
    transport = PoolTransport(httpx.URL("http://api.test/v1"), environment=environment)
    with pytest.raises(httpx.ConnectError, match=r"through the proxy http://127\.0\.0\.1:9$") as caught:
        transport.handle_request(httpx.Request("POST", "http://api.test/v1", content=b"{}"))
    assert "hunter2" not in f"{transport!r} {caught.value!r} {caught.value.__cause__!r}"


def test_requests_go_through_the_proxy(serve: Callable[..., Server]) -> None:
    seen: list[bytes] = []

    def proxy(peer: Peer) -> None:
        seen.append(peer.read_request())
        peer.answer(OK)

    server = serve(proxy)
    environment = {"HTTP_PROXY": server.base_url.replace("http://", "http://user:pass@").removesuffix("/v1")}
    transport = PoolTransport(httpx.URL("http://api.test/v1"), environment=environment)
    with Client("http://api.test/v1", model="m", transport=transport) as client:
        assert client.respond("hi").text == "ok"
    assert seen[0].startswith(b"POST http://api.test/v1/chat/completions HTTP/1.1")
    assert b"Proxy-Authorization: Basic dXNlcjpwYXNz" in seen[0]


def test_a_proxy_that_refuses_is_a_transport_error(driver: Driver, serve: Callable[..., Server]) -> None:
    def proxy(peer: Peer) -> None:
        peer.sock.recv(65536)
        peer.sock.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n")

    address = serve(proxy).base_url.removesuffix("/v1")
    url, environment = httpx.URL("https://api.test/v1"), {"HTTPS_PROXY": address}
    from agentloop.errors import TransportError
    from agentloop.http.transport import AsyncPoolTransport

    kind: Any = PoolTransport if driver.name == "threads" else AsyncPoolTransport
    with pytest.raises(TransportError, match="the proxy refused: 407"):
        driver.respond(kind(url, environment=environment), base_url=str(url), clock=SystemClock(), retry=None)
