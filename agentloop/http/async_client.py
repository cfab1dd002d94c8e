"""The client for asyncio. Its twin for threads is `client.py`; neither wraps the other."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from types import TracebackType
from typing import TYPE_CHECKING, Self, Unpack

import httpx

if TYPE_CHECKING:
    from agentloop.http.asks import Ask, Question
    from agentloop.http.async_driver import AsyncStream
    from agentloop.http.endpoint import ClientSettings
    from agentloop.model import ModelEvent, ModelRequest, ModelResponse

__all__ = ["AsyncClient"]


class AsyncClient:
    """A model behind HTTP, for the tasks of one event loop; close it, or use it in `async with`.

    `transport` is the httpx transport that carries the requests; it may be given or replaced, by a mock say. See
    `ClientSettings` for the other arguments. Raises ConfigError for what can be known to be wrong.
    """

    def __init__(
        self,
        base_url: str,
        *,
        model: str,
        transport: httpx.AsyncBaseTransport | None = None,
        **settings: Unpack[ClientSettings],
    ) -> None:
        from agentloop.http.async_driver import AsyncDriver  # as `Client` does

        self._driver = AsyncDriver(base_url, model, transport, settings)

    @classmethod
    def from_env(
        cls,
        name: str | None = None,
        /,
        *,
        model: str | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
        **settings: Unpack[ClientSettings],
    ) -> Self:
        """As `Client.from_env`."""
        from agentloop.http.environment import from_environment

        base_url, model, found = from_environment(name, model, settings)
        return cls(base_url, model=model, transport=transport, **found)

    @property
    def transport(self) -> httpx.AsyncBaseTransport:
        """What carries the requests of calls that begin from now on."""
        return self._driver.transport

    @transport.setter
    def transport(self, transport: httpx.AsyncBaseTransport) -> None:
        self._driver.transport = transport

    @property
    def provider(self) -> str:
        return self._driver.endpoint.provider

    @property
    def model(self) -> str:
        return self._driver.endpoint.model

    @property
    def base_url(self) -> str:
        """The base URL as it may be shown: keys in it are masked."""
        return self._driver.endpoint.base_url

    async def respond(self, messages: Question, **ask: Unpack[Ask]) -> ModelResponse:
        """The whole reply to a text or a list of messages. Raises ModelError when there is none."""
        return await self._driver.respond(messages, ask)

    def stream(self, messages: Question, **ask: Unpack[Ask]) -> AsyncStream:
        """The reply as events while it comes. Use it in `async with`: leaving the block ends the request."""
        return self._driver.stream(messages, ask)

    def build_request(self, messages: Question, *, stream: bool = False, **ask: Unpack[Ask]) -> httpx.Request:
        """Exactly the request that `respond` (or `stream`) would send, key included. What had to be mended in the
        messages is listed in `request.extensions["repairs"]`."""
        return self._driver.http_request(messages, ask, stream=stream)

    def events(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """As `Client.events`. Iterate within `contextlib.aclosing`, so that leaving early ends the request."""
        return self._driver.events(request)

    async def aclose(self) -> None:
        """Close all connections."""
        await self.transport.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"AsyncClient({self.base_url!r}, model={self.model!r}, provider={self.provider!r})"
