"""The stack of idle connections, used as any httpx transport."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Callable

import httpx
import pytest

from agentloop.http.async_client import AsyncClient
from agentloop.http.transport import AsyncPoolTransport, PoolTransport
from tests.http.peers import OK, Peer, Server

Serve = Callable[..., Server]


def post(server: Server, **extensions: object) -> httpx.Request:
    return httpx.Request("POST", server.base_url, content=b"{}", extensions=extensions)


def keep_answering(peer: Peer) -> None:
    while peer.read_request():
        peer.answer(OK)


def silent(peer: Peer) -> None:
    peer.read_request()
    peer.client_left()


def test_it_serves_an_httpx_client(serve: Serve) -> None:
    server = serve(keep_answering)
    with httpx.Client(transport=PoolTransport(httpx.URL(server.base_url))) as client:
        assert [client.post(server.base_url, json={}).json() for _ in range(3)] == [OK] * 3
    assert server.accepted == 1


@pytest.mark.anyio
async def test_it_serves_an_httpx_client_in_asyncio(serve: Serve) -> None:
    server = serve(keep_answering)
    async with httpx.AsyncClient(transport=AsyncPoolTransport(httpx.URL(server.base_url))) as client:
        assert [(await client.post(server.base_url, json={})).json() for _ in range(3)] == [OK] * 3
    assert server.accepted == 1


def test_plain_numbers_of_seconds_bound_reads_too(serve: Serve) -> None:
    server = serve(silent)
    transport = PoolTransport(httpx.URL(server.base_url))
    with pytest.raises(httpx.ReadTimeout):
        transport.handle_request(post(server, timeout={"read": 0.05}))
    assert transport.connections == []


def test_an_idle_connection_that_the_server_closed_is_dropped_when_another_comes_back(serve: Serve) -> None:
    closed = threading.Event()

    def once(peer: Peer) -> None:
        peer.read_request()
        peer.answer(OK)
        peer.sock.close()
        closed.set()

    server = serve(once, keep_answering)
    transport = PoolTransport(httpx.URL(server.base_url))
    first, second = transport.handle_request(post(server)), transport.handle_request(post(server))
    for response in (first, second):
        response.read()
        response.close()
        assert closed.wait(5)
    assert len(transport.connections) == 1
    transport.close()


def test_close_ends_idle_and_used_connections(serve: Serve) -> None:
    server = serve(keep_answering, keep_answering)
    transport = PoolTransport(httpx.URL(server.base_url))
    idle, used = transport.handle_request(post(server)), transport.handle_request(post(server))
    idle.read()
    idle.close()
    assert ["IDLE" in line for line in sorted(transport.connections)].count(True) == 1
    transport.close()
    assert transport.connections == []
    used.close()
    assert transport.connections == []


def test_an_idle_connection_serves_no_other_host(serve: Serve) -> None:
    one, other = serve(keep_answering), serve(keep_answering)
    with httpx.Client(transport=PoolTransport(httpx.URL(one.base_url))) as client:
        for server in (one, other):
            client.post(server.base_url, json={})
    assert (one.accepted, other.accepted) == (1, 1)


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")  # the first loop is gone, and nobody can close in it
def test_a_client_may_be_used_in_one_event_loop_after_another(serve: Serve) -> None:
    server = serve(keep_answering, keep_answering)
    client = AsyncClient(server.base_url, model="m")

    async def last() -> str:
        async with client:
            return (await client.respond("hi")).text

    assert [asyncio.run(client.respond("hi")).text, asyncio.run(last())] == ["ok", "ok"]
    gc.collect()
