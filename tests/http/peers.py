"""Scripted answers for `httpx.MockTransport`, both drivers behind one face, and a loopback server of scripts."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import threading
from collections.abc import Callable
from contextlib import aclosing, closing, suppress
from typing import Any

import httpx

from agentloop.http.asks import model_request
from agentloop.http.async_client import AsyncClient
from agentloop.http.client import Client
from agentloop.model import ModelEvent, ModelResponse
from agentloop.testing import FakeClock

OK = {
    "id": "c1",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "ok"}}],
}


class Answers(httpx.MockTransport):
    """Gives the answers in order (a dict is a 200 with that body, an exception is raised) and keeps the requests."""

    def __init__(self, *answers: Any) -> None:
        super().__init__(self._answer)
        self._left = list(answers)
        self.requests: list[httpx.Request] = []

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = self._left.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return httpx.Response(200, json=answer) if isinstance(answer, dict) else answer


def error(status: int, body: Any = None, **headers: str) -> httpx.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.Response(status, json={"error": body or {"message": "no"}}, headers=named)


def sse(*events: dict[str, Any] | str, **headers: str) -> httpx.Response:
    lines = [f"data: {event if isinstance(event, str) else json.dumps(event)}\n\n" for event in events]
    return httpx.Response(200, content="".join(lines), headers={"content-type": "text/event-stream", **headers})


def piece(text: str, finish: str | None = None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": finish}]}


class Driver:
    """`respond` and `events` through the client for threads or the one for asyncio; `seen` keeps the events."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.clock = FakeClock()
        self.seen: list[ModelEvent] = []

    def respond(self, transport: Any, question: str = "hi", **settings: Any) -> ModelResponse:
        return self._run(transport, question, False, settings)

    def stream(self, transport: Any, question: str = "hi", **settings: Any) -> ModelResponse:
        return self._run(transport, question, True, settings)

    def texts(self) -> list[str]:
        return [event.text for event in self.seen if event.type == "text_delta"]

    def types(self) -> list[str]:
        return [event.type for event in self.seen]

    def _run(self, transport: Any, question: str, stream: bool, settings: dict[str, Any]) -> ModelResponse:
        settings = {"base_url": "http://model.test/v1", "model": "m", "clock": self.clock, **settings}
        asked = {name: settings.pop(name) for name in ("seconds", "cancel", "instructions") if name in settings}
        if self.name == "threads":
            with Client(transport=transport, **settings) as client:
                request = model_request(question, stream, asked)
                with closing(client.events(request)) as events:
                    for event in events:
                        self.seen.append(event)
        else:
            asyncio.run(self._run_async(transport, question, stream, settings, asked))
        return self.seen[-1].response

    async def _run_async(
        self, transport: Any, question: str, stream: bool, settings: dict[str, Any], asked: dict[str, Any]
    ) -> None:
        async with (
            AsyncClient(transport=transport, **settings) as client,
            aclosing(client.events(model_request(question, stream, asked))) as events,
        ):
            async for event in events:
                self.seen.append(event)


# --- sockets ---------------------------------------------------------------------------------------------------------


class Peer:
    """The server's side of one connection."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock

    def read_request(self) -> bytes:
        """Headers and body, or b"" when the client closed the connection."""
        data = b""
        while b"\r\n\r\n" not in data:
            if not (more := self.sock.recv(65536)):
                return b""
            data += more
        head, _, body = data.partition(b"\r\n\r\n")
        length = int(next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))[15:])
        while len(body) < length:
            body += self.sock.recv(65536)
        return head + b"\r\n\r\n" + body

    def answer(self, body: bytes | dict[str, Any], *headers: str, status: str = "200 OK") -> None:
        body = json.dumps(body).encode() if isinstance(body, dict) else body
        head = [f"HTTP/1.1 {status}", "content-type: application/json", f"content-length: {len(body)}", *headers]
        self.sock.sendall("\r\n".join(head).encode() + b"\r\n\r\n" + body)

    def begin_stream(self) -> None:
        self.sock.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")

    def chunk(self, data: bytes) -> None:
        self.sock.sendall(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def event(self, value: dict[str, Any] | str) -> None:
        self.chunk(b"data: " + (value if isinstance(value, str) else json.dumps(value)).encode() + b"\n\n")

    def end_stream(self) -> None:
        self.sock.sendall(b"0\r\n\r\n")

    def reset(self) -> None:
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()

    def client_left(self, within: float = 5.0) -> bool:
        """Whether the client closed the connection within that time."""
        self.sock.settimeout(within)
        try:
            return self.sock.recv(1) == b""
        except TimeoutError:
            return False
        except OSError:
            return True


class Server:
    """Accepts one connection per script, each in a thread of its own."""

    def __init__(self, scripts: tuple[Callable[[Peer], None], ...]) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(10)
        self.base_url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/v1"
        self.accepted = 0
        self._closing = False
        self._threads = [threading.Thread(target=self._accept, args=(scripts,))]
        self._threads[0].start()

    def _accept(self, scripts: tuple[Callable[[Peer], None], ...]) -> None:
        for script in scripts:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            if self._closing:
                sock.close()
                return
            self.accepted += 1
            thread = threading.Thread(target=self._run, args=(script, sock))
            self._threads.append(thread)
            thread.start()

    def _run(self, script: Callable[[Peer], None], sock: socket.socket) -> None:
        sock.settimeout(10)
        with sock, suppress(OSError):  # the client may have gone
            script(Peer(sock))

    def close(self) -> None:
        # Closing a listener does not wake an accept() in another thread; a connection does.
        self._closing = True
        if self._threads[0].is_alive():
            socket.create_connection(self._listener.getsockname()).close()
        self._listener.close()
        for thread in self._threads:
            thread.join(10)
