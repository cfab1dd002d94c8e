"""The default transports: httpcore's connection pools with deadlines below them, behind httpx's transport interface.

httpx.HTTPTransport takes no network backend; that is all that these two do differently, besides deciding the proxy
once (a client has one base URL) and loading certificates only when TLS is used.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import AsyncGenerator, AsyncIterable, Generator, Iterable, Mapping
from contextlib import aclosing, closing
from functools import lru_cache
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


def _pool_options(
    url: httpx.URL, trust_env: bool, max_connections: int, environment: Mapping[str, str]
) -> tuple[str, dict[str, Any]]:
    """Which of httpcore's pools to make, and its arguments."""
    proxy = environment_proxy(url, environment) if trust_env else None
    tls = url.scheme == "https" or (proxy is not None and proxy.url.scheme == "https")
    options: dict[str, Any] = {
        "ssl_context": _ssl_context(trust_env) if tls else None,
        "max_connections": max_connections,
        "max_keepalive_connections": max_connections,
        "keepalive_expiry": KEEPALIVE_SECONDS,
    }
    if proxy is None:
        return "ConnectionPool", options
    options |= {"proxy_url": str(proxy.url), "proxy_auth": proxy.raw_auth}
    if proxy.url.scheme in ("http", "https"):
        return "HTTPProxy", options
    try:
        import socksio as _socksio  # pyright: ignore[reportMissingImports] # an extra of httpx, needed by httpcore
    except ImportError:
        raise ConfigError("a SOCKS proxy is set: pip install 'httpx[socks]', or set trust_env=False") from None
    del _socksio
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


def _as_httpx(error: Exception) -> httpx.TransportError:
    """httpx's exception of the same name."""
    kind = getattr(httpx, type(error).__name__, httpx.TransportError)
    return kind(str(error) or type(error).__name__)


_CORE_ERRORS = (httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError, httpcore.ProxyError)


class _Body(httpx.SyncByteStream):
    def __init__(self, chunks: Any) -> None:
        self._chunks = chunks

    def __iter__(self) -> Generator[bytes, None, None]:
        chunks = cast("Generator[bytes, None, None]", iter(cast("Iterable[bytes]", self._chunks)))
        with closing(chunks):
            try:
                yield from chunks
            except _CORE_ERRORS as error:
                raise _as_httpx(error) from error

    def close(self) -> None:
        self._chunks.close()


class PoolTransport(httpx.BaseTransport):
    """For one base URL. Raises httpx's transport errors, as httpx's own transports do."""

    def __init__(
        self,
        url: httpx.URL,
        *,
        trust_env: bool = True,
        max_connections: int = 100,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        kind, options = _pool_options(url, trust_env, max_connections, environment)
        self._pool = getattr(httpcore, kind)(network_backend=DeadlineBackend(), **options)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        try:
            response = self._pool.handle_request(_core_request(request))
        except _CORE_ERRORS as error:
            raise _as_httpx(error) from error
        return httpx.Response(
            response.status, headers=response.headers, stream=_Body(response.stream), extensions=response.extensions
        )

    def close(self) -> None:
        self._pool.close()

    @property
    def connections(self) -> list[str]:
        """One line per open connection, with its state."""
        return [connection.info() for connection in self._pool.connections]


class _AsyncBody(httpx.AsyncByteStream):
    def __init__(self, chunks: Any) -> None:
        self._chunks = chunks

    async def __aiter__(self) -> AsyncGenerator[bytes, None]:
        chunks = cast("AsyncGenerator[bytes, None]", aiter(cast("AsyncIterable[bytes]", self._chunks)))
        async with aclosing(chunks):
            try:
                async for chunk in chunks:
                    yield chunk
            except _CORE_ERRORS as error:
                raise _as_httpx(error) from error

    async def aclose(self) -> None:
        await self._chunks.aclose()


class AsyncPoolTransport(httpx.AsyncBaseTransport):
    """The same for asyncio. Its connections belong to the event loop that it was first used in."""

    def __init__(
        self,
        url: httpx.URL,
        *,
        trust_env: bool = True,
        max_connections: int = 100,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        kind, options = _pool_options(url, trust_env, max_connections, environment)
        self._pool = getattr(httpcore, f"Async{kind}")(network_backend=AsyncDeadlineBackend(), **options)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        try:
            response = await self._pool.handle_async_request(_core_request(request))
        except _CORE_ERRORS as error:
            raise _as_httpx(error) from error
        return httpx.Response(
            response.status,
            headers=response.headers,
            stream=_AsyncBody(response.stream),
            extensions=response.extensions,
        )

    async def aclose(self) -> None:
        await self._pool.aclose()

    @property
    def connections(self) -> list[str]:
        """One line per open connection, with its state."""
        return [connection.info() for connection in self._pool.connections]
