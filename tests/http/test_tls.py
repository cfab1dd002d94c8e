"""TLS on loopback: deadlines, cancellation and tunnels hold there too. `localhost.pem` is a certificate for loopback,
made for these tests and trusted nowhere else."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from agentloop.cancel import CancelSignal
from agentloop.errors import ModelTimeout, TransportError
from agentloop.http.client import Client
from agentloop.http.clock import SystemClock
from agentloop.http.timeouts import Timeouts
from agentloop.http.transport import AsyncPoolTransport, PoolTransport
from tests.http.peers import OK, Driver, Peer, Server

PEM = Path(__file__).with_name("localhost.pem")
Serve = Callable[..., Server]


def encrypted(script: Callable[[Peer], None]) -> Callable[[Peer], None]:
    def shake_hands(peer: Peer) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(PEM)
        with context.wrap_socket(peer.sock, server_side=True) as sock:
            script(Peer(sock))

    return shake_hands


def ask(driver: Driver, server: Server, **settings: Any) -> str:
    base_url = server.base_url.replace("http://", "https://")
    kind: Any = PoolTransport if driver.name == "threads" else AsyncPoolTransport
    transport = kind(httpx.URL(base_url), ssl_context=ssl.create_default_context(cafile=PEM))
    return driver.respond(transport, base_url=base_url, clock=SystemClock(), retry=None, **settings).text


def answer(peer: Peer) -> None:
    peer.read_request()
    peer.answer(OK)


def silence(peer: Peer) -> None:
    peer.read_request()
    peer.client_left()


def test_an_answer_comes_through_tls(driver: Driver, serve: Serve) -> None:
    assert ask(driver, serve(encrypted(answer))) == "ok"


def test_a_certificate_that_nobody_vouches_for_is_refused(serve: Serve) -> None:
    server = serve(encrypted(answer))
    with (
        Client(server.base_url.replace("http", "https"), model="m", retry=None) as client,
        pytest.raises(TransportError, match="SSL_CERT_FILE"),
    ):
        client.respond("hi")


def test_bytes_that_drip_through_tls_do_not_outlast_a_deadline(driver: Driver, serve: Serve) -> None:
    def drip(peer: Peer) -> None:
        peer.read_request()
        peer.sock.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n")
        while not peer.client_left(within=0.01):
            peer.sock.sendall(b" ")

    with pytest.raises(ModelTimeout) as caught:
        ask(driver, serve(encrypted(drip)), seconds=0.2)
    assert caught.value.timeout == "total"


def test_a_hand_that_is_not_shaken_is_a_connect_timeout(driver: Driver, serve: Serve) -> None:
    def listen(peer: Peer) -> None:
        while peer.sock.recv(65536):
            pass

    with pytest.raises(ModelTimeout) as caught:
        ask(driver, serve(listen), timeouts=Timeouts(connect=0.1))
    assert caught.value.timeout == "connect"
    assert caught.value.attempts[0].safe


def test_a_cancel_wakes_a_read_through_tls(driver: Driver, serve: Serve) -> None:
    cancel = CancelSignal()

    def hang(peer: Peer) -> None:
        peer.read_request()
        cancel.cancel()
        peer.client_left()

    with pytest.raises(TransportError, match="cancelled"):
        ask(driver, serve(encrypted(hang)), cancel=cancel)


class Relay:
    """A proxy that answers one CONNECT and passes bytes both ways, whatever the name that was asked for."""

    def __init__(self, target: Server) -> None:
        self.asked = b""
        self._port = int(target.base_url.rsplit(":", 1)[1].split("/")[0])

    def __call__(self, peer: Peer) -> None:
        self.asked = peer.sock.recv(65536)
        with socket.create_connection(("127.0.0.1", self._port)) as upstream:
            peer.sock.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            back = threading.Thread(target=self._pass, args=(upstream, peer.sock))
            back.start()
            self._pass(peer.sock, upstream)
            back.join()

    @staticmethod
    def _pass(source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)


@pytest.mark.parametrize("silent", [False, True])
def test_a_tunnel_keeps_the_deadlines_of_what_is_within(driver: Driver, serve: Serve, silent: bool) -> None:
    """The proxy's answer to CONNECT is not the first byte of a response."""
    relay = Relay(serve(encrypted(silence if silent else answer)))
    proxy = serve(relay).base_url.removesuffix("/v1")
    kind: Any = PoolTransport if driver.name == "threads" else AsyncPoolTransport
    context = ssl.create_default_context(cafile=PEM)
    context.check_hostname = False
    transport = kind(httpx.URL("https://api.test/v1"), environment={"HTTPS_PROXY": proxy}, ssl_context=context)
    settings = {"clock": SystemClock(), "retry": None, "timeouts": Timeouts(first_byte=0.1)}
    if silent:
        with pytest.raises(ModelTimeout) as caught:
            driver.respond(transport, base_url="https://api.test/v1", **settings)
        assert caught.value.timeout == "first_byte"
    else:
        assert driver.respond(transport, base_url="https://api.test/v1", **settings).text == "ok"
    assert relay.asked.startswith(b"CONNECT api.test:443 HTTP/1.1")
