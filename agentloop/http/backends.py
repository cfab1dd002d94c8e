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


def _seconds(timeout: float | None, late: type[Exception], socket: Any = None) -> float | None:
    """How long the next operation on the socket may take. Raises `late` when there is no time left."""
    if not isinstance(timeout, Limit):
        return timeout
    watch, name = timeout.watch, timeout.kind
    if name == "read":
        name = "idle" if watch.answered else "first_byte"
    wait = watch.before(name, socket)
    if wait is not None and wait <= 0:
        raise late(f"{watch.armed}: no time left")
    return wait


class _Use:
    """What the attempts that use a connection learn of it: whether it is new, and whether a response has begun."""

    __slots__ = ("_watch",)

    def __init__(self) -> None:
        self._watch: Watch | None = None

    def wrote(self, timeout: float | None) -> None:
        if isinstance(timeout, Limit) and timeout.watch is not self._watch:
            timeout.watch.reused = self._watch is not None
            self._watch = timeout.watch

    def read(self, timeout: float | None, data: bytes) -> bytes:
        # While it is connected, a proxy's answer is read within the connect timeout; that is no response.
        if data and isinstance(timeout, Limit) and timeout.kind == "read":
            timeout.watch.answered = True
        return data

    def encrypted(self, timeout: float | None) -> None:
        """What was read until now was a proxy's answer to CONNECT."""
        if isinstance(timeout, Limit):
            timeout.watch.answered = False


class _Stream(httpcore.NetworkStream):
    def __init__(self, inner: httpcore.NetworkStream) -> None:
        self._inner = inner
        self._socket = inner.get_extra_info("socket")
        self._use = _Use()

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        seconds = _seconds(timeout, httpcore.ReadTimeout, self._socket)
        return self._use.read(timeout, self._inner.read(max_bytes, seconds))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._use.wrote(timeout)
        for start in range(0, len(buffer), PIECE):
            seconds = _seconds(timeout, httpcore.WriteTimeout, self._socket)
            self._inner.write(buffer[start : start + PIECE], seconds)

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        seconds = _seconds(timeout, httpcore.ConnectTimeout, self._socket)
        try:
            stream = self._inner.start_tls(ssl_context, server_hostname, seconds)
        except BaseException:  # a task that is cancelled while it shakes hands
            self._inner.close()
            raise
        self._use.encrypted(timeout)
        return _Stream(stream)

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
        seconds = _seconds(timeout, httpcore.ConnectTimeout)
        return _Stream(self._inner.connect_tcp(host, port, seconds, local_address, socket_options))


class _AsyncStream(httpcore.AsyncNetworkStream):
    def __init__(self, inner: httpcore.AsyncNetworkStream) -> None:
        self._inner = inner
        self._socket = inner.get_extra_info("socket")
        self._use = _Use()

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        seconds = _seconds(timeout, httpcore.ReadTimeout, self._socket)
        return self._use.read(timeout, await self._inner.read(max_bytes, seconds))

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._use.wrote(timeout)
        for start in range(0, len(buffer), PIECE):
            seconds = _seconds(timeout, httpcore.WriteTimeout, self._socket)
            await self._inner.write(buffer[start : start + PIECE], seconds)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.AsyncNetworkStream:
        seconds = _seconds(timeout, httpcore.ConnectTimeout, self._socket)
        try:
            stream = await self._inner.start_tls(ssl_context, server_hostname, seconds)
        except BaseException:  # a task that is cancelled while it shakes hands
            await self._inner.aclose()
            raise
        self._use.encrypted(timeout)
        return _AsyncStream(stream)

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
        seconds = _seconds(timeout, httpcore.ConnectTimeout)
        return _AsyncStream(await self._inner.connect_tcp(host, port, seconds, local_address, socket_options))
