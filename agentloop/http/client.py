"""The client for threads. Its twin for asyncio is `async_client.py`; neither wraps the other."""

from __future__ import annotations

from collections.abc import Generator
from types import TracebackType
from typing import TYPE_CHECKING, Self, Unpack

import httpx

if TYPE_CHECKING:
    from agentloop.http.asks import Ask, Question
    from agentloop.http.driver import Stream
    from agentloop.http.endpoint import ClientSettings
    from agentloop.model import ModelEvent, ModelRequest, ModelResponse

__all__ = ["Client"]


class Client:
    """A model behind HTTP. Safe to use from many threads; close it, or use it as a context manager.

    `transport` is the httpx transport that carries the requests; it may be given or replaced, by a mock say. See
    `ClientSettings` for the other arguments. Raises ConfigError for what can be known to be wrong.
    """

    def __init__(
        self,
        base_url: str,
        *,
        model: str,
        transport: httpx.BaseTransport | None = None,
        **settings: Unpack[ClientSettings],
    ) -> None:
        from agentloop.http.driver import Driver  # an import of this module does not need all that is behind a client

        self._driver = Driver(base_url, model, transport, settings)

    @classmethod
    def from_env(
        cls,
        name: str | None = None,
        /,
        *,
        model: str | None = None,
        transport: httpx.BaseTransport | None = None,
        **settings: Unpack[ClientSettings],
    ) -> Self:
        """The client of the provider called `name`: base URL, key and model come from its variables, such as
        `DEEPSEEK_API_KEY`.

        Without a name `AGENTLOOP_BASE_URL`, `AGENTLOOP_API_KEY` and `AGENTLOOP_MODEL` count, and then the one
        provider whose key is set. Raises ConfigError, which names the variables to set.
        """
        from agentloop.http.environment import from_environment

        base_url, model, found = from_environment(name, model, settings)
        return cls(base_url, model=model, transport=transport, **found)

    @property
    def transport(self) -> httpx.BaseTransport:
        """What carries the requests of calls that begin from now on."""
        return self._driver.transport

    @transport.setter
    def transport(self, transport: httpx.BaseTransport) -> None:
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

    def respond(self, messages: Question, **ask: Unpack[Ask]) -> ModelResponse:
        """The whole reply to a text or a list of messages. Raises ModelError when there is none."""
        return self._driver.respond(messages, ask)

    def stream(self, messages: Question, **ask: Unpack[Ask]) -> Stream:
        """The reply as events while it comes. Use it in a `with` block: leaving the block ends the request."""
        return self._driver.stream(messages, ask)

    def build_request(self, messages: Question, *, stream: bool = False, **ask: Unpack[Ask]) -> httpx.Request:
        """Exactly the request that `respond` (or `stream`) would send, key included. What had to be mended in the
        messages is listed in `request.extensions["repairs"]`."""
        return self._driver.http_request(messages, ask, stream=stream)

    def events(self, request: ModelRequest) -> Generator[ModelEvent, None, None]:
        """The events of one call: deltas if `request.stream`, AttemptFailed for each failed try, then ResponseDone.

        Raises ModelError. When `request.cancel` is set, a waiting read ends at once and a TransportError says
        "cancelled". Closing the generator ends the request.
        """
        return self._driver.events(request)

    def close(self) -> None:
        """Close all connections."""
        self.transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({self.base_url!r}, model={self.model!r}, provider={self.provider!r})"
