"""A small HTTP/1.1 server: asyncio carries the bytes, h11 knows the protocol, steps say what is sent.

It works on sockets and not on asyncio's streams, because it must own every socket from the moment it is accepted: a
server that stops while clients connect leaves nothing behind, and a reset is sent when a step says so.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import TypeAlias

import h11

from agentloop.errors import ConfigError
from agentloop.testing.fault_steps import Cut, Data, End, Head, Junk, Pause, Reset, Step

__all__ = ["Incoming", "Server"]


@dataclass(frozen=True, slots=True)
class Incoming:
    """A request as read from the socket; header names are in lower case."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    connection: int


Respond: TypeAlias = Callable[[Incoming], Sequence[Step]]


class Server:
    """Serves on one loop, which must be a selector loop: `start`, then `stop` from the same loop.

    After `stop` no socket and no task is left.
    """

    def __init__(self, respond: Respond) -> None:
        self._respond = respond
        self._connections: dict[asyncio.Task[None], _Connection] = {}
        self._opened = 0
        self._listener: socket.socket | None = None

    @property
    def open_connections(self) -> int:
        return len(self._connections)

    async def start(self, host: str, port: int) -> int:
        """Listen; the port, which the system chooses when 0 is given. OSError when that is not possible."""
        if not 0 <= port <= 65535:
            raise ConfigError(f"port {port}: a port is a number from 0, which means any free one, to 65535")
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.create_server((host, port), family=family, backlog=1024)
        listener.setblocking(False)
        asyncio.get_running_loop().add_reader(listener, self._accept, listener)
        self._listener = listener
        return listener.getsockname()[1]

    async def stop(self) -> None:
        if self._listener is None:
            return
        asyncio.get_running_loop().remove_reader(self._listener)
        self._listener.close()
        self._listener = None
        connections = dict(self._connections)
        for task in connections:
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)
        for connection in connections.values():
            connection.close()  # those whose task had not begun

    async def idle(self) -> None:
        """Returns when no client is connected."""
        while self._connections:
            await asyncio.wait(self._connections)

    def release(self) -> None:
        """End the next pause of every answer that is under way."""
        for connection in self._connections.values():
            connection.release()

    def _accept(self, listener: socket.socket) -> None:
        with suppress(BlockingIOError, ConnectionAbortedError):
            accepted, _ = listener.accept()
            self._opened += 1
            connection = _Connection(accepted, self._opened)
            task = asyncio.get_running_loop().create_task(connection.serve(self._respond))
            self._connections[task] = connection
            task.add_done_callback(self._connections.pop)


class _Connection:
    """One client. A task reads all the time, so that a pause ends when the client leaves."""

    def __init__(self, accepted: socket.socket, number: int) -> None:
        accepted.setblocking(False)
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket = accepted
        self._number = number
        self._http = h11.Connection(h11.SERVER)
        self._arrived = asyncio.Event()
        self._wake = asyncio.Event()
        self._over = False  # the client has left, or a step has ended the connection

    def release(self) -> None:
        self._wake.set()

    def close(self) -> None:
        self._socket.close()

    async def serve(self, respond: Respond) -> None:
        """Answer requests until the client leaves, an answer ends the connection, or no HTTP comes; then close."""
        reading = asyncio.ensure_future(self._read())
        try:
            await self._serve(respond)
        except h11.RemoteProtocolError as problem:
            await self._refuse(problem.error_status_hint)
        except OSError:
            pass  # the client has gone
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
            self.close()

    async def _serve(self, respond: Respond) -> None:
        while (incoming := await self._receive()) is not None:
            self._wake.clear()
            for step in respond(incoming):
                if not (isinstance(step, Data) and incoming.method == "HEAD"):
                    await self._perform(step)
                if self._over and isinstance(step, Pause):
                    return
            if self._over or self._http.our_state is not h11.DONE:
                return
            self._http.start_next_cycle()

    async def _refuse(self, status: int) -> None:
        if self._http.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            with suppress(OSError):
                await self._perform(Head(status, (("content-length", "0"), ("connection", "close"))))
                await self._perform(End())

    async def _read(self) -> None:
        """Hand on what comes, also while an answer is sent: the next request, or the end of the client."""
        loop = asyncio.get_running_loop()
        with suppress(OSError):
            while data := await loop.sock_recv(self._socket, 65536):
                self._http.receive_data(data)
                self._arrived.set()
            self._http.receive_data(b"")
        self._over = True
        self._arrived.set()
        self._wake.set()

    async def _receive(self) -> Incoming | None:
        """The next request with its body, or None when the client has left."""
        request: h11.Request | None = None
        body = bytearray()
        while True:
            event = self._http.next_event()
            if event is h11.NEED_DATA:
                if self._over:
                    return None
                await self._wait_for_data()
            elif isinstance(event, h11.Request):
                request = event
            elif isinstance(event, h11.Data):
                body += event.data
            elif isinstance(event, h11.EndOfMessage) and request is not None:
                headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in request.headers}
                method, target = request.method.decode("ascii"), request.target.decode("latin-1")
                return Incoming(method, target, headers, bytes(body), self._number)
            else:  # ConnectionClosed, or PAUSED after a request to close the connection
                return None

    async def _wait_for_data(self) -> None:
        if self._http.they_are_waiting_for_100_continue:
            await self._send(h11.InformationalResponse(status_code=100, headers=[]))
        await self._arrived.wait()
        self._arrived.clear()

    async def _perform(self, step: Step) -> None:
        match step:
            case Head(status, headers):
                await self._send(h11.Response(status_code=status, headers=list(headers), reason=_reason(status)))
            case Data(data):
                await self._send(h11.Data(data=data))
            case End():
                await self._send(h11.EndOfMessage())
            case Pause(seconds):
                await self._pause(seconds)
            case Junk(data):
                await self._write(data)
                self._over = True
            case Cut():
                self._over = True
            case Reset():
                # Lingering for zero seconds makes the system send a reset on closing.
                self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self._over = True

    async def _send(self, event: h11.Event) -> None:
        data = self._http.send(event)
        if data:
            await self._write(data)

    async def _write(self, data: bytes) -> None:
        await asyncio.get_running_loop().sock_sendall(self._socket, data)

    async def _pause(self, seconds: float | None) -> None:
        if self._over:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        self._wake.clear()


def _reason(status: int) -> bytes:
    """The reason phrase, which HTTP/1.1 sends along, and which may be empty."""
    return HTTPStatus(status).phrase.encode("ascii") if status in set(HTTPStatus) else b""
