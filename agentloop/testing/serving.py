"""A cassette as a server on localhost, for curl and for clients in other languages."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import cast

from agentloop.testing.bodies import Chunk, dump_json
from agentloop.testing.cassettes import Cassette
from agentloop.testing.exchanges import Exchange, RecordedRequest, RecordedResponse
from agentloop.testing.matching import CassetteMismatch
from agentloop.testing.player import Player

__all__ = ["ReplayServer", "serve"]


def serve(
    cassette: str | os.PathLike[str] | Cassette,
    host: str = "127.0.0.1",
    port: int = 0,
    timing: bool = False,
    *,
    ignore: Sequence[str] = (),
    secrets: Iterable[str] = (),
    sleep: Callable[[float], object] | None = None,
) -> ReplayServer:
    """Start a server that answers from a cassette; port 0 takes a free one. Close it, or use it in a `with` block.

    Requests are matched as by ReplayTransport, only that scheme, host and port are not compared. Streams come in the
    recorded chunks, with `timing` at the recorded times. A recorded failure closes the connection where it happened.
    What does not match is answered with 404 and the difference in OpenAI's error shape. `sleep` waits instead of the
    server, whose own waits end when it is closed.
    """
    loaded = cassette if isinstance(cassette, Cassette) else Cassette.load(cassette)
    player = Player(loaded, ignore=("host", *ignore), secrets=secrets)
    return ReplayServer(_Server((host, port), player, timing=timing, sleep=sleep))


class ReplayServer:
    """A running server; `url` is its address and `player` knows what is unused. Its threads end with `close()`."""

    def __init__(self, server: _Server) -> None:
        self.player = server.player
        self._server = server
        self._thread = threading.Thread(target=self._server.serve_forever, name="agentloop replay", daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return self._server.url

    def wait(self) -> None:
        """Block until another thread closes the server; a KeyboardInterrupt passes through."""
        self._thread.join()

    def close(self) -> None:
        self._server.stop()
        self._thread.join()

    def __enter__(self) -> ReplayServer:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


class _Server(ThreadingHTTPServer):
    daemon_threads = False

    def __init__(
        self, address: tuple[str, int], player: Player, *, timing: bool, sleep: Callable[[float], object] | None
    ) -> None:
        self.player = player
        self._stopping = threading.Event()
        self.sleep = (sleep or self._stopping.wait) if timing else None
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        super().__init__(address, _Handler)
        self.url = f"http://{address[0]}:{self.server_port}"

    def note(self, connection: socket.socket, *, opened: bool) -> None:
        with self._lock:
            (self._open.add if opened else self._open.discard)(connection)

    def stop(self) -> None:
        """Wake the threads that wait, for the time of a chunk or the next request of a connection, and join them."""
        self._stopping.set()
        self.shutdown()
        with self._lock:
            for connection in self._open:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def setup(self) -> None:
        super().setup()
        self._deck = cast("_Server", self.server)
        self._deck.note(self.connection, opened=True)

    def finish(self) -> None:
        self._deck.note(self.connection, opened=False)
        with suppress(ConnectionError):
            super().finish()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: whoever serves decides what is shown."""

    def do_POST(self) -> None:
        try:
            self._answer()
        except (ConnectionError, TimeoutError, ValueError):
            self.close_connection = True  # the client went away, or sent no proper request

    do_GET = do_HEAD = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = do_POST

    def _answer(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = RecordedRequest(self.command, self._deck.url + self.path, headers, self._read_body())
        try:
            exchange = self._deck.player.take(request)
        except CassetteMismatch as error:
            exchange = _refusal(request, str(error))
        response = exchange.response
        if response is not None:
            self._send(exchange, response)
        if response is None or exchange.left or exchange.error is not None:
            self.close_connection = True

    def _read_body(self) -> bytes:
        if self.headers.get("transfer-encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("content-length") or 0))
        body = b""
        while size := int(self.rfile.readline().split(b";")[0] or b"0", 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass  # trailers
        return body

    def _send(self, exchange: Exchange, response: RecordedResponse) -> None:
        whole = len(response.chunks) < 2 and exchange.error is None and not exchange.left
        chunked = not whole and self.request_version != "HTTP/1.0"
        self.send_response_only(response.status)
        for name, value in response.headers.items():
            self.send_header(name, value)
        if whole and response.status not in (204, 304):
            self.send_header("content-length", str(len(response.content)))
        elif chunked:
            self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        if self.command != "HEAD":
            self._send_chunks(response, chunked=chunked)
            if chunked and exchange.error is None and not exchange.left:
                self.wfile.write(b"0\r\n\r\n")
        self.close_connection = self.close_connection or not (whole or chunked)

    def _send_chunks(self, response: RecordedResponse, *, chunked: bool) -> None:
        reached = 0.0
        for chunk in response.chunks:
            if self._deck.sleep is not None and chunk.at is not None and chunk.at > reached:
                self.wfile.flush()
                self._deck.sleep(chunk.at - reached)
                reached = chunk.at
            if chunk.data:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(chunk.data), chunk.data) if chunked else chunk.data)


def _refusal(request: RecordedRequest, message: str) -> Exchange:
    error = {"error": {"message": message, "type": "cassette_mismatch", "code": None}}
    headers = {"content-type": "application/json"}
    return Exchange(request, RecordedResponse(404, headers, (Chunk(dump_json(error)),)))
