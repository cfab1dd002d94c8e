"""Network backends for httpcore that cap each connect, read and write at what is left of the attempt's deadlines."""

# httpcore's interface hands the timeout down as an argument, also to coroutines.
# ruff: noqa: ASYNC109

from __future__ import annotations

import ssl
from collections.abc import Iterable
from typing import Any, cast

import httpcore

from agentloop.http.deadlines import Limit, Watch

__all__ = ["AsyncDeadlineBackend", "DeadlineBackend"]

PIECE = 65536  # written at a time, so that a slow receiver is looked at between the pieces


def _seconds(timeout: float | None, name: str, late: type[Exception], socket: Any = None) -> float | None:
    if not isinstance(timeout, Limit):
        return timeout
    wait = timeout.watch.before(name, socket)
    if wait is not None and wait <= 0:
        raise late(f"{timeout.watch.armed}: no time left")
    return wait


class _Reads:
    """Which read of a connection comes next: the first of a response waits by another timeout than the others."""

    __slots__ = ("_socket", "_watch")

    def __init__(self, socket: Any) -> None:
        self._socket = socket
        self._watch: Watch | None = None

    def begin(self, timeout: float | None) -> float | None:
        answered = isinstance(timeout, Limit) and timeout.watch.answered
        return _seconds(timeout, "idle" if answered else "first_byte", httpcore.ReadTimeout, self._socket)

    def begin_write(self, timeout: float | None) -> float | None:
        if isinstance(timeout, Limit) and timeout.watch is not self._watch:
            timeout.watch.reused = self._watch is not None
            self._watch = timeout.watch
        return _seconds(timeout, "write", httpcore.WriteTimeout, self._socket)

    def done(self, timeout: float | None, data: bytes) -> bytes:
        if data and isinstance(timeout, Limit):
            timeout.watch.answered = True
        return data


class _Stream(httpcore.NetworkStream):
    def __init__(self, inner: httpcore.NetworkStream) -> None:
        self._inner = inner
        self._reads = _Reads(inner.get_extra_info("socket"))

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._reads.done(timeout, self._inner.read(max_bytes, self._reads.begin(timeout)))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), PIECE):
            self._inner.write(buffer[start : start + PIECE], self._reads.begin_write(timeout))

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        seconds = _seconds(timeout, "connect", httpcore.ConnectTimeout)
        return _Stream(self._inner.start_tls(ssl_context, server_hostname, seconds))

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


class DeadlineBackend(httpcore.NetworkBackend):
    def __init__(self) -> None:
        self._inner = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        seconds = _seconds(timeout, "connect", httpcore.ConnectTimeout)
        return _Stream(self._inner.connect_tcp(host, port, seconds, local_address, socket_options))


class _AsyncStream(httpcore.AsyncNetworkStream):
    def __init__(self, inner: httpcore.AsyncNetworkStream) -> None:
        self._inner = inner
        self._reads = _Reads(inner.get_extra_info("socket"))

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._reads.done(timeout, await self._inner.read(max_bytes, self._reads.begin(timeout)))

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), PIECE):
            await self._inner.write(buffer[start : start + PIECE], self._reads.begin_write(timeout))

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.AsyncNetworkStream:
        seconds = _seconds(timeout, "connect", httpcore.ConnectTimeout)
        return _AsyncStream(await self._inner.start_tls(ssl_context, server_hostname, seconds))

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


class AsyncDeadlineBackend(httpcore.AsyncNetworkBackend):
    def __init__(self) -> None:
        self._inner = cast("httpcore.AsyncNetworkBackend", httpcore.AnyIOBackend())

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        seconds = _seconds(timeout, "connect", httpcore.ConnectTimeout)
        return _AsyncStream(await self._inner.connect_tcp(host, port, seconds, local_address, socket_options))
