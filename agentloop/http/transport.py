"""The default transports: httpcore's connections with deadlines below them, behind httpx's transport interface.

httpx.HTTPTransport takes no network backend, so it cannot hold a deadline. Its pool also serves any number of hosts
and looks through all its connections at each request, which takes longer than the request when a hundred are open.
Here is one base URL, and the client counts its calls itself (`Slots`), so a stack of idle connections does.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Generator, Iterable, Mapping
from contextlib import aclosing, closing
from functools import lru_cache
from importlib.util import find_spec
from typing import Any, cast

import httpcore
import httpx

from agentloop.errors import ConfigError
from agentloop.http.backends import AsyncDeadlineBackend, DeadlineBackend
from agentloop.http.proxies import environment_proxy

__all__ = ["AsyncPoolTransport", "PoolTransport"]

KEEPALIVE_SECONDS = 60.0  # an agent's tools may take a while; a socket that the server closed meanwhile is noticed


@lru_cache(maxsize=2)
def _ssl_context(trust_env: bool) -> ssl.SSLContext:
    """One for all clients: loading the certificates takes tens of milliseconds."""
    return httpx.create_ssl_context(trust_env=trust_env)


def _factory(
    url: httpx.URL, trust_env: bool, environment: Mapping[str, str], ssl_context: ssl.SSLContext | None
) -> tuple[str, dict[str, Any]]:
    """Which of httpcore's pools makes the connections, and its arguments."""
    proxy = environment_proxy(url, environment) if trust_env else None
    tls = url.scheme == "https" or (proxy is not None and proxy.url.scheme == "https")
    options: dict[str, Any] = {
        "ssl_context": ssl_context or (_ssl_context(trust_env) if tls else None),
        "keepalive_expiry": KEEPALIVE_SECONDS,
    }
    if proxy is None:
        return "ConnectionPool", options
    options |= {"proxy_url": str(proxy.url), "proxy_auth": proxy.raw_auth}
    if proxy.url.scheme in ("http", "https"):
        return "HTTPProxy", options
    if find_spec("socksio") is None:  # which httpcore needs
        raise ConfigError("a SOCKS proxy is set: pip install 'httpx[socks]', or set trust_env=False")
    return "SOCKSProxy", options


def _core_request(request: httpx.Request) -> httpcore.Request:
    url = request.url
    return httpcore.Request(
        request.method,
        httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
        headers=request.headers.raw,
        content=request.stream,
        extensions=request.extensions,
    )


def _as_httpx(error: Exception, proxy: str | None = None) -> httpx.TransportError:
    """httpx's exception of the same name; one about connecting names the proxy, if there is one."""
    kind = getattr(httpx, type(error).__name__, httpx.TransportError)
    text = str(error) or type(error).__name__
    return kind(f"{text}, through the proxy {proxy}" if proxy and isinstance(error, httpcore.ConnectError) else text)


_CORE_ERRORS = (httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError, httpcore.ProxyError)


class PoolTransport(httpx.BaseTransport):
    """For one base URL; as many connections as there are requests at a time. Raises httpx's transport errors, as
    httpx's own transports do. `environment` is where proxies are looked up if `trust_env`; `ssl_context` replaces the
    usual certificates, for an authority of your own."""

    def __init__(
        self,
        url: httpx.URL,
        *,
        trust_env: bool = True,
        environment: Mapping[str, str] = os.environ,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        kind, options = _factory(url, trust_env, environment, ssl_context)
        self._factory = getattr(httpcore, kind)(network_backend=DeadlineBackend(), **options)
        self._proxy: str | None = options.get("proxy_url")
        self._idle: deque[httpcore.ConnectionInterface] = deque()  # the one used last is taken first
        self._open: set[httpcore.ConnectionInterface] = set()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        sent = _core_request(request)
        connection = self._take(sent.url.origin)
        try:
            response = connection.handle_request(sent)
        except BaseException as error:
            self._drop(connection)
            if isinstance(error, _CORE_ERRORS):
                raise _as_httpx(error, self._proxy) from error
            raise
        body = _Body(response.stream, lambda: self._give_back(connection))
        extensions = cast("dict[str, Any]", response.extensions)
        return httpx.Response(response.status, headers=response.headers, stream=body, extensions=extensions)

    def close(self) -> None:
        while self._open:
            self._drop(self._open.pop())
        self._idle.clear()

    @property
    def connections(self) -> list[str]:
        """One line per open connection, with its state."""
        return [connection.info() for connection in tuple(self._open)]

    def _take(self, origin: httpcore.Origin) -> httpcore.ConnectionInterface:
        while self._idle:
            try:
                connection = self._idle.pop()
            except IndexError:  # another thread was quicker
                break
            if connection.can_handle_request(origin) and not connection.has_expired():
                return connection
            self._drop(connection)
        connection = cast("httpcore.ConnectionInterface", self._factory.create_connection(origin))
        self._open.add(connection)
        return connection

    def _give_back(self, connection: httpcore.ConnectionInterface) -> None:
        if connection not in self._open or not connection.is_idle():
            self._drop(connection)
            return
        self._idle.append(connection)
        try:
            oldest = self._idle.popleft()
        except IndexError:  # another thread has taken it meanwhile
            return
        if oldest.has_expired():
            self._drop(oldest)
        else:
            self._idle.appendleft(oldest)

    def _drop(self, connection: httpcore.ConnectionInterface) -> None:
        self._open.discard(connection)
        connection.close()


class _Body(httpx.SyncByteStream):
    """A response's body. When it is closed, the connection is free or gone."""

    def __init__(self, chunks: Any, release: Callable[[], None]) -> None:
        self._chunks = chunks
        self._release = release
        self._closed = False

    def __iter__(self) -> Generator[bytes, None, None]:
        chunks = cast("Generator[bytes, None, None]", iter(cast("Iterable[bytes]", self._chunks)))
        with closing(chunks):
            try:
                yield from chunks
            except _CORE_ERRORS as error:
                raise _as_httpx(error) from error

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            try:
                self._chunks.close()
            finally:
                self._release()


class AsyncPoolTransport(httpx.AsyncBaseTransport):
    """The same for asyncio. Connections belong to the event loop that they were made in; in another one, such as that
    of a second `asyncio.run`, new ones are made."""

    def __init__(
        self,
        url: httpx.URL,
        *,
        trust_env: bool = True,
        environment: Mapping[str, str] = os.environ,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        kind, options = _factory(url, trust_env, environment, ssl_context)
        self._factory = getattr(httpcore, f"Async{kind}")(network_backend=AsyncDeadlineBackend(), **options)
        self._proxy: str | None = options.get("proxy_url")
        self._idle: deque[httpcore.AsyncConnectionInterface] = deque()  # the one used last is taken first
        self._open: set[httpcore.AsyncConnectionInterface] = set()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        sent = _core_request(request)
        connection = await self._take(sent.url.origin)
        try:
            response = await connection.handle_async_request(sent)
        except BaseException as error:
            await self._drop(connection)
            if isinstance(error, _CORE_ERRORS):
                raise _as_httpx(error, self._proxy) from error
            raise
        body = _AsyncBody(response.stream, lambda: self._give_back(connection))
        extensions = cast("dict[str, Any]", response.extensions)
        return httpx.Response(response.status, headers=response.headers, stream=body, extensions=extensions)

    async def aclose(self) -> None:
        self._forget_other_loops()
        while self._open:
            await self._drop(self._open.pop())
        self._idle.clear()

    @property
    def connections(self) -> list[str]:
        """One line per open connection, with its state."""
        return [connection.info() for connection in self._open]

    def _forget_other_loops(self) -> None:
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._idle.clear()
            self._open.clear()
            self._loop = loop

    async def _take(self, origin: httpcore.Origin) -> httpcore.AsyncConnectionInterface:
        self._forget_other_loops()
        while self._idle:
            connection = self._idle.pop()
            if connection.can_handle_request(origin) and not connection.has_expired():
                return connection
            await self._drop(connection)
        connection = cast("httpcore.AsyncConnectionInterface", self._factory.create_connection(origin))
        self._open.add(connection)
        return connection

    async def _give_back(self, connection: httpcore.AsyncConnectionInterface) -> None:
        if connection not in self._open or not connection.is_idle():
            await self._drop(connection)
            return
        self._idle.append(connection)
        if self._idle[0].has_expired():
            await self._drop(self._idle.popleft())

    async def _drop(self, connection: httpcore.AsyncConnectionInterface) -> None:
        self._open.discard(connection)
        await connection.aclose()


class _AsyncBody(httpx.AsyncByteStream):
    """As `_Body`."""

    def __init__(self, chunks: Any, release: Callable[[], Awaitable[None]]) -> None:
        self._chunks = chunks
        self._release = release
        self._closed = False

    async def __aiter__(self) -> AsyncGenerator[bytes, None]:
        chunks = cast("AsyncGenerator[bytes, None]", aiter(cast("AsyncIterable[bytes]", self._chunks)))
        async with aclosing(chunks):
            try:
                async for chunk in chunks:
                    yield chunk
            except _CORE_ERRORS as error:
                raise _as_httpx(error) from error

    async def aclose(self) -> None:
        if not self._closed:
            self._closed = True
            try:
                await self._chunks.aclose()
            finally:
                await self._release()
