"""Real sockets: what goes back to the pool, what is closed, what is tried again."""

from __future__ import annotations

import gc
import socket
import threading
from collections.abc import Callable

import pytest

from agentloop.cancel import CancelSignal
from agentloop.errors import ModelTimeout, StreamInterrupted, TransportError
from agentloop.http.async_client import AsyncClient
from agentloop.http.client import Client
from agentloop.http.timeouts import Timeouts
from tests.http.peers import OK, Driver, Peer, Server, piece

Serve = Callable[..., Server]


def ask(driver: Driver, server: Server, **settings: object) -> str:
    """Through the client's own transport, and with the real clock."""
    from agentloop.http.clock import SystemClock

    return driver.respond(None, base_url=server.base_url, clock=SystemClock(), **settings).text


def stream(driver: Driver, server: Server, **settings: object) -> str:
    from agentloop.http.clock import SystemClock

    return driver.stream(None, base_url=server.base_url, clock=SystemClock(), **settings).text


def twice(peer: Peer) -> None:
    for _ in range(2):
        peer.read_request()
        peer.answer(OK)
    peer.client_left()


def test_a_connection_is_used_again(serve: Serve) -> None:
    server = serve(twice)
    with Client(server.base_url, model="m") as client:
        assert [client.respond("hi").text, client.respond("hi").text] == ["ok", "ok"]
    assert server.accepted == 1


@pytest.mark.anyio
async def test_a_connection_is_used_again_in_asyncio(serve: Serve) -> None:
    server = serve(twice)
    async with AsyncClient(server.base_url, model="m") as client:
        assert [(await client.respond("hi")).text for _ in range(2)] == ["ok", "ok"]
    assert server.accepted == 1


def test_a_stream_that_ended_with_done_gives_its_connection_back(serve: Serve) -> None:
    def script(peer: Peer) -> None:
        for _ in range(2):
            peer.read_request()
            peer.begin_stream()
            peer.event(piece("ok", "stop"))
            peer.event("[DONE]")
            peer.end_stream()
        peer.client_left()

    server = serve(script)
    with Client(server.base_url, model="m") as client:
        for _ in range(2):
            with client.stream("hi") as events:
                assert [event.type for event in events] == ["text_delta", "response_done"]
    assert server.accepted == 1


def test_a_stream_that_lingers_after_done_is_closed_and_the_caller_does_not_wait(serve: Serve) -> None:
    left = threading.Event()

    def script(peer: Peer) -> None:
        peer.read_request()
        peer.begin_stream()
        peer.event(piece("ok", "stop"))
        peer.event("[DONE]")
        if peer.client_left():
            left.set()

    with Client(serve(script).base_url, model="m") as client, client.stream("hi") as events:
        assert [event.type for event in events] == ["text_delta", "response_done"]
        assert left.wait(5)


def test_leaving_a_stream_early_closes_its_connection(serve: Serve) -> None:
    left = threading.Event()

    def script(peer: Peer) -> None:
        peer.read_request()
        peer.begin_stream()
        peer.event(piece("first"))
        if peer.client_left():
            left.set()

    with Client(serve(script).base_url, model="m") as client:
        with client.stream("hi") as events:
            assert next(events).text == "first"
        assert left.wait(5)
        assert client.transport.connections == []


def test_a_connection_that_the_server_closed_between_two_requests_is_not_noticed(serve: Serve) -> None:
    closed = threading.Event()

    def once(peer: Peer) -> None:
        peer.read_request()
        peer.answer(OK)
        peer.sock.shutdown(socket.SHUT_RDWR)
        closed.set()

    server = serve(once, once)
    with Client(server.base_url, model="m", retry=None) as client:
        client.respond("hi")
        assert closed.wait(5)
        response = client.respond("hi")
    assert response.text == "ok"
    assert len(response.attempts) == 1


@pytest.mark.anyio
async def test_a_connection_that_the_server_closed_is_not_noticed_in_asyncio(serve: Serve) -> None:
    import asyncio

    closed = threading.Event()

    def once(peer: Peer) -> None:
        peer.read_request()
        peer.answer(OK)
        peer.sock.shutdown(socket.SHUT_RDWR)
        closed.set()

    server = serve(once, once)
    async with AsyncClient(server.base_url, model="m", retry=None) as client:
        await client.respond("hi")
        assert await asyncio.to_thread(closed.wait, 5)
        assert len((await client.respond("hi")).attempts) == 1


def test_a_stale_connection_found_only_when_sending_is_replaced_at_once(serve: Serve) -> None:
    def reset_the_second(peer: Peer) -> None:
        peer.read_request()
        peer.answer(OK)
        peer.read_request()
        peer.reset()

    server = serve(reset_the_second, twice)
    with Client(server.base_url, model="m") as client:
        client.respond("hi")
        response = client.respond("hi")
    assert response.text == "ok"
    assert (response.attempts[0].rule, response.attempts[0].wait) == ("the idle connection was stale", 0)


def test_a_reset_after_the_request_is_retried_within_the_budget(driver: Driver, serve: Serve) -> None:
    def reset(peer: Peer) -> None:
        peer.read_request()
        peer.reset()

    server = serve(reset, reset)
    from agentloop.http.retry import RetryPolicy

    with pytest.raises(TransportError, match="before a byte of response") as caught:
        ask(driver, server, retry=RetryPolicy(attempts=2, base=0.01))
    assert server.accepted == 2
    assert caught.value.__cause__ is not None


def test_a_cut_body_of_a_whole_reply_is_a_transport_error(driver: Driver, serve: Serve) -> None:
    def cut(peer: Peer) -> None:
        peer.read_request()
        peer.sock.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n" + b'{"choices":')

    with pytest.raises(TransportError, match="within the response"):
        ask(driver, serve(cut), retry=None)


def test_a_cut_stream_carries_what_came(driver: Driver, serve: Serve) -> None:
    def cut(peer: Peer) -> None:
        peer.read_request()
        peer.begin_stream()
        peer.event(piece("half"))

    with pytest.raises(StreamInterrupted) as caught:
        stream(driver, serve(cut))
    assert caught.value.partial.text == "half"


def drip(peer: Peer) -> None:
    """A byte every ten milliseconds, until the client has gone."""
    peer.read_request()
    peer.sock.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100000\r\n\r\n")
    while not peer.client_left(within=0.01):
        peer.sock.sendall(b" ")


@pytest.mark.parametrize("name", ["total", "attempt"])
def test_a_server_that_drips_bytes_does_not_outlast_a_deadline(driver: Driver, serve: Serve, name: str) -> None:
    with pytest.raises(ModelTimeout) as caught:
        ask(driver, serve(drip), timeouts=Timeouts(**{name: 0.15}), retry=None)
    assert (caught.value.timeout, caught.value.seconds) == (name, 0.15)
    assert caught.value.attempts[0].seconds < 1


def test_headers_that_drip_do_not_outlast_a_deadline(driver: Driver, serve: Serve) -> None:
    def slow_head(peer: Peer) -> None:
        peer.read_request()
        peer.sock.sendall(b"HTTP/1.1 200 OK\r\nx: ")
        while not peer.client_left(within=0.01):
            peer.sock.sendall(b"x")

    with pytest.raises(ModelTimeout) as caught:
        ask(driver, serve(slow_head), seconds=0.15)
    assert caught.value.timeout == "total"


def silent(peer: Peer) -> None:
    peer.read_request()
    peer.client_left()


def test_silence_before_the_first_byte_is_named(driver: Driver, serve: Serve) -> None:
    with pytest.raises(ModelTimeout, match=r"no byte of a response came within 0\.05 s") as caught:
        ask(driver, serve(silent), timeouts=Timeouts(first_byte=0.05), retry=None)
    assert caught.value.timeout == "first_byte"


def test_silence_within_a_stream_is_named_and_carries_what_came(driver: Driver, serve: Serve) -> None:
    def stall(peer: Peer) -> None:
        peer.read_request()
        peer.begin_stream()
        peer.event(piece("half"))
        peer.client_left()

    with pytest.raises(ModelTimeout, match=r"Timeouts\(idle=\)") as caught:
        stream(driver, serve(stall), timeouts=Timeouts(idle=0.05))
    assert (caught.value.timeout, caught.value.partial.text) == ("idle", "half")


def comments(first: dict[str, object] | None) -> Callable[[Peer], None]:
    def script(peer: Peer) -> None:
        peer.read_request()
        peer.begin_stream()
        if first:
            peer.event(first)
        while not peer.client_left(within=0.01):
            peer.chunk(b": keep-alive\n\n")

    return script


@pytest.mark.parametrize(
    ("first", "name"), [(None, "first_content"), (piece("half"), "content_idle")], ids=["before", "after"]
)
def test_comments_keep_the_connection_but_are_no_content(
    driver: Driver, serve: Serve, first: dict[str, object] | None, name: str
) -> None:
    with pytest.raises(ModelTimeout) as caught:
        stream(driver, serve(comments(first)), timeouts=Timeouts(**{name: 0.1}), retry=None)
    assert caught.value.timeout == name


def test_comments_count_as_bytes(driver: Driver, serve: Serve) -> None:
    with pytest.raises(ModelTimeout) as caught:
        stream(driver, serve(comments(None)), timeouts=Timeouts(idle=0.2), seconds=0.4)
    assert caught.value.timeout == "total"


def test_a_cancel_from_another_thread_wakes_a_waiting_read(driver: Driver, serve: Serve) -> None:
    cancel = CancelSignal()

    def script(peer: Peer) -> None:
        peer.read_request()
        cancel.cancel()
        peer.client_left()

    with pytest.raises(TransportError, match="cancelled") as caught:
        ask(driver, serve(script), cancel=cancel)
    assert not caught.value.retryable
    assert len(caught.value.attempts) == 1


def test_a_cancel_within_a_stream_carries_what_came(driver: Driver, serve: Serve) -> None:
    cancel = CancelSignal()

    def script(peer: Peer) -> None:
        peer.read_request()
        peer.begin_stream()
        peer.event(piece("half"))
        peer.client_left(within=0.05)
        cancel.cancel()
        peer.client_left()

    with pytest.raises(TransportError, match="cancelled") as caught:
        stream(driver, serve(script), cancel=cancel)
    assert caught.value.partial.text == "half"


def test_a_cancel_ends_the_wait_before_a_retry(driver: Driver, serve: Serve) -> None:
    cancel = CancelSignal()

    def script(peer: Peer) -> None:
        peer.read_request()
        peer.answer(b"{}", "retry-after: 30", status="429 Too Many Requests")
        peer.client_left(within=0.05)
        cancel.cancel()

    with pytest.raises(TransportError, match="cancelled"):
        ask(driver, serve(script), cancel=cancel)


def test_a_later_cancel_does_not_reach_a_connection_in_the_pool(serve: Serve) -> None:
    cancel = CancelSignal()
    server = serve(twice)
    with Client(server.base_url, model="m") as client:
        client.respond("hi", cancel=cancel)
        cancel.cancel()
        assert client.respond("hi").text == "ok"
    assert server.accepted == 1


def test_no_more_calls_than_connections_run_at_a_time(serve: Serve) -> None:
    def hold(peer: Peer) -> None:
        peer.read_request()
        peer.begin_stream()
        peer.event(piece("first"))
        peer.client_left()

    timeouts = Timeouts(pool=0.05)
    with (
        Client(serve(hold).base_url, model="m", max_connections=1, timeouts=timeouts, retry=None) as client,
        client.stream("hi") as first,
    ):
        next(first)
        with pytest.raises(ModelTimeout, match="max_connections") as caught:
            client.respond("hi")
    assert caught.value.timeout == "pool"
    assert caught.value.attempts[0].safe


@pytest.mark.anyio
async def test_a_cancelled_task_closes_its_connection(serve: Serve) -> None:
    import asyncio

    loop, entered, left = asyncio.get_running_loop(), asyncio.Event(), threading.Event()

    def script(peer: Peer) -> None:
        peer.read_request()
        loop.call_soon_threadsafe(entered.set)
        if peer.client_left():
            left.set()

    async with AsyncClient(serve(script).base_url, model="m") as client:
        task = asyncio.create_task(client.respond("hi"))
        await entered.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(left.wait, 5)
        assert client.transport.connections == []


def test_an_abandoned_generator_leaves_no_connection(serve: Serve) -> None:
    def script(peer: Peer) -> None:
        peer.read_request()
        peer.begin_stream()
        peer.event(piece("first"))
        peer.client_left()

    with Client(serve(script).base_url, model="m") as client:
        events = client.stream("hi")
        next(events)
        del events
        gc.collect()
        assert client.transport.connections == []
