"""Blocking the network. Addresses are of the ranges for documentation: no packet could reach anybody."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading

import httpx
import pytest

from agentloop.testing.network import NetworkBlocked, network_blocked

HINT = "Record it."


def test_a_name_is_not_looked_up() -> None:
    with (
        network_blocked(HINT),
        pytest.raises(NetworkBlocked, match=r"a connection to api\.test was refused\. Record it"),
    ):
        httpx.get("http://api.test/", trust_env=False)


@pytest.mark.parametrize(("family", "host"), [("AF_INET", "192.0.2.1"), ("AF_INET6", "2001:db8::1")])
def test_an_address_is_not_connected_to(family: str, host: str) -> None:
    """In a process of its own: here the suite's guard would answer first."""
    program = (
        "import socket; from agentloop.testing.network import network_blocked\n"
        f"with network_blocked('Record it.'): socket.socket(socket.{family}).connect(({host!r}, 80))"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=20)
    assert f"NetworkBlocked: a connection to {host} was refused. Record it." in run.stderr


def test_a_datagram_is_not_sent() -> None:
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as connection,
        network_blocked(HINT),
        pytest.raises(NetworkBlocked, match=r"192\.0\.2\.1"),
    ):
        connection.sendto(b"x", ("192.0.2.1", 53))


def test_other_threads_are_blocked_too() -> None:
    caught: list[BaseException] = []

    def look_up() -> None:
        try:
            socket.getaddrinfo("api.test", 80)
        except NetworkBlocked as error:
            caught.append(error)

    with network_blocked(HINT):
        thread = threading.Thread(target=look_up)
        thread.start()
        thread.join()
    assert len(caught) == 1


@pytest.mark.anyio
async def test_an_async_client_is_blocked() -> None:
    async with httpx.AsyncClient(trust_env=False) as client:
        with network_blocked(HINT), pytest.raises(NetworkBlocked):
            await client.get("http://api.test/")


def test_loopback_is_allowed() -> None:
    with network_blocked(HINT), socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(("localhost", server.getsockname()[1])).close()


def test_the_block_ends_and_nests() -> None:
    with network_blocked("outer"):
        with network_blocked("inner"), pytest.raises(NetworkBlocked, match="inner"):
            socket.getaddrinfo("api.test", 80)
        with pytest.raises(NetworkBlocked, match="outer"):
            socket.getaddrinfo("api.test", 80)
    with socket.socket() as connection, pytest.raises(RuntimeError, match="tests use loopback only"):
        connection.connect(("192.0.2.1", 80))  # the suite's own guard answers now
