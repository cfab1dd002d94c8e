"""Both drivers, and servers that are closed after the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.http.peers import Driver, Peer, Server


@pytest.fixture(params=["threads", "asyncio"])
def driver(request: pytest.FixtureRequest) -> Driver:
    return Driver(request.param)


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    servers: list[Server] = []

    def start(*scripts: Callable[[Peer], None]) -> Server:
        servers.append(Server(scripts))
        return servers[-1]

    yield start
    for server in servers:
        server.close()
