"""A small HTTP/1.1 server: asyncio streams carry the bytes, h11 knows the protocol, steps say what is sent."""

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

from agentloop.testing.fault_steps import Cut, Data, End, Head, Junk, Pause, Reset, Step

__all__ = ["Incoming", "Server"]

_LARGEST_BODY = 64 * 1024 * 1024


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
    """Serves on one loop: `start`, then `stop` from the same loop. After `stop` no socket and no task is left."""

    def __init__(self, respond: Respond) -> None:
        self._respond = respond
        self._connections: dict[asyncio.Task[None], _Connection] = {}
        self._opened = 0
        self._server: asyncio.Server | None = None

    @property
    def open_connections(self) -> int:
        return len(self._connections)

    async def start(self, host: str, port: int) -> int:
        """Listen; the port, which the system chooses when 0 is given. OSError when that is not possible."""
        self._server = await asyncio.start_server(self._serve, host, port, backlog=1024)
        return self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        if self._server is None:
            return
        self._server.close()
        tasks = list(self._connections)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._server.wait_closed()
        self._server = None

    def release(self) -> None:
        """End the next pause of every answer that is under way."""
        for connection in self._connections.values():
            connection.release()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._opened += 1
        connection = _Connection(reader, writer, self._opened)
        task = asyncio.current_task()
        assert task is not None
        self._connections[task] = connection
        try:
            await connection.serve(self._respond)
        except (OSError, asyncio.CancelledError):
            writer.transport.abort()  # the client has gone, or the server stops
        finally:
            writer.close()
            with suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()
            del self._connections[task]


class _Connection:
    """One client. While an answer is sent, a task keeps reading, so that a pause ends when the client leaves."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> None:
        self._reader = reader
        self._writer = writer
        self._number = number
        self._http = h11.Connection(h11.SERVER)
        self._wake = asyncio.Event()
        self._gone = False
        writer.transport.set_write_buffer_limits(high=0)  # so that drain() means: handed to the system

    def release(self) -> None:
        self._wake.set()

    async def serve(self, respond: Respond) -> None:
        """Answer requests until the client leaves, an answer ends the connection, or what comes is no HTTP."""
        try:
            await self._serve(respond)
        except h11.RemoteProtocolError:
            if self._http.our_state in (h11.IDLE, h11.SEND_RESPONSE):
                await self._perform(Head(400, (("content-length", "0"), ("connection", "close"))))
                await self._perform(End())

    async def _serve(self, respond: Respond) -> None:
        while (incoming := await self._receive()) is not None:
            self._wake.clear()
            watcher = asyncio.ensure_future(self._watch())
            try:
                for step in respond(incoming):
                    if not (isinstance(step, Data) and incoming.method == "HEAD"):
                        await self._perform(step)
                    if self._gone and isinstance(step, Pause):
                        return
            finally:
                watcher.cancel()
                await asyncio.gather(watcher, return_exceptions=True)
            if self._gone or self._http.our_state is not h11.DONE:
                return
            self._http.start_next_cycle()

    async def _receive(self) -> Incoming | None:
        """The next request with its body, or None when the client has closed."""
        request: h11.Request | None = None
        body = bytearray()
        while True:
            event = self._http.next_event()
            if event is h11.NEED_DATA:
                if self._http.they_are_waiting_for_100_continue:
                    await self._send(h11.InformationalResponse(status_code=100, headers=[]))
                self._http.receive_data(await self._reader.read(65536))
            elif isinstance(event, h11.Request):
                request = event
            elif isinstance(event, h11.Data):
                body += event.data
                if len(body) > _LARGEST_BODY:
                    raise ConnectionError("the body is too large for the mock provider")
            elif isinstance(event, h11.EndOfMessage) and request is not None:
                headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in request.headers}
                method, target = request.method.decode("ascii"), request.target.decode("latin-1")
                return Incoming(method, target, headers, bytes(body), self._number)
            else:  # ConnectionClosed, or PAUSED after a request to close the connection
                return None

    async def _watch(self) -> None:
        """Read on while an answer is sent: what comes is the next request, and the end means that the client left."""
        with suppress(OSError):
            while data := await self._reader.read(65536):
                self._http.receive_data(data)
        self._gone = True
        self._wake.set()

    async def _perform(self, step: Step) -> None:
        match step:
            case Head(status, headers):
                reason = _reason(status)
                await self._send(h11.Response(status_code=status, headers=list(headers), reason=reason))
            case Data(data):
                await self._send(h11.Data(data=data))
            case End():
                await self._send(h11.EndOfMessage())
            case Pause(seconds):
                await self._pause(seconds)
            case Junk(data):
                await self._write(data)
                self._close()
            case Cut():
                self._close()
            case Reset():
                self._reset()

    async def _send(self, event: h11.Event) -> None:
        data = self._http.send(event)
        if data:
            await self._write(data)

    async def _write(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def _pause(self, seconds: float | None) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        self._wake.clear()

    def _close(self) -> None:
        self._gone = True
        self._writer.close()

    def _reset(self) -> None:
        """Close so that the system sends a TCP reset: lingering for zero seconds drops what is unsent."""
        self._gone = True
        found: socket.socket = self._writer.get_extra_info("socket")
        found.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()


def _reason(status: int) -> bytes:
    """The reason phrase, which HTTP/1.1 sends along, and which may be empty."""
    return HTTPStatus(status).phrase.encode("ascii") if status in set(HTTPStatus) else b""
