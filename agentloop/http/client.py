"""The client for threads. Its twin for asyncio is `async_client.py`; neither wraps the other."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from types import TracebackType
from typing import Self, Unpack, cast

import httpx

from agentloop.errors import ModelError
from agentloop.http.asks import Ask, Question, model_request
from agentloop.http.call import LINGER, Call
from agentloop.http.endpoint import ClientSettings, open_endpoint
from agentloop.http.environment import from_environment
from agentloop.http.log import log_from_environment
from agentloop.http.slots import Slots
from agentloop.model import ModelEvent, ModelRequest, ModelResponse, ResponseDone

__all__ = ["Client", "Stream"]


class Client:
    """A model behind HTTP. Safe to use from many threads; close it, or use it as a context manager.

    `transport` is the httpx transport that carries the requests; it may be given or replaced, by a mock say. See
    `ClientSettings` for the other arguments. Raises ConfigError for what can be known to be wrong.
    """

    transport: httpx.BaseTransport

    def __init__(
        self,
        base_url: str,
        *,
        model: str,
        transport: httpx.BaseTransport | None = None,
        **settings: Unpack[ClientSettings],
    ) -> None:
        self._endpoint = endpoint = open_endpoint(base_url, model, **settings)
        self._slots = Slots(endpoint.max_connections)
        if transport is None:
            from agentloop.http.transport import PoolTransport

            transport = PoolTransport(endpoint.url, trust_env=endpoint.trust_env)
        self.transport = transport
        log_from_environment()

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
        base_url, model, found = from_environment(name, model, settings)
        return cls(base_url, model=model, transport=transport, **found)

    @property
    def provider(self) -> str:
        return self._endpoint.provider

    @property
    def model(self) -> str:
        return self._endpoint.model

    @property
    def base_url(self) -> str:
        """The base URL as it may be shown: keys in it are masked."""
        return self._endpoint.base_url

    def respond(self, messages: Question, **ask: Unpack[Ask]) -> ModelResponse:
        """The whole reply to a text or a list of messages. Raises ModelError when there is none."""
        response: ModelResponse | None = None
        for event in self.events(model_request(messages, False, ask)):
            if isinstance(event, ResponseDone):
                response = event.response
        assert response is not None  # `events` ends with it, or raises
        return response

    def stream(self, messages: Question, **ask: Unpack[Ask]) -> Stream:
        """The reply as events while it comes. Use it in a `with` block: leaving the block ends the request."""
        return Stream(self.events(model_request(messages, True, ask)))

    def build_request(self, messages: Question, *, stream: bool = False, **ask: Unpack[Ask]) -> httpx.Request:
        """Exactly the request that `respond` (or `stream`) would send, key included."""
        return Call(self._endpoint, model_request(messages, stream, ask)).http_request(None)

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

    # --- the driver ----------------------------------------------------------------------------------------------

    def events(self, request: ModelRequest) -> Generator[ModelEvent, None, None]:
        """The events of one call: deltas if `request.stream`, AttemptFailed for each failed try, then ResponseDone.

        Raises ModelError. When `request.cancel` is set, a waiting read ends at once and a TransportError says
        "cancelled". Closing the generator ends the request.
        """
        call = Call(self._endpoint, request)
        while True:
            try:
                yield from self._attempt(call)
                return
            except ModelError as failed:
                error = failed
            try:
                failure = call.after(error)
            finally:
                del error  # its traceback holds this frame
            yield failure
            self._endpoint.clock.sleep(failure.attempt.wait or 0.0, request.cancel)

    def _attempt(self, call: Call) -> Generator[ModelEvent, None, None]:
        request = call.begin()
        if not self._slots.acquire(call.watch.wait("pool"), call.cancel):
            raise call.no_slot()
        try:
            response = self._send(call, request)
            try:
                yield from self._read(call, response)
            finally:
                call.watch.close()
                response.close()
        finally:
            call.watch.close()
            self._slots.release()

    def _send(self, call: Call, request: httpx.Request) -> httpx.Response:
        try:
            return self.transport.handle_request(request)
        except httpx.HTTPError as error:
            failure = call.failure(error)
        raise failure  # outside the handler: httpx's error may hold the request, and so the key

    def _read(self, call: Call, response: httpx.Response) -> Generator[ModelEvent, None, None]:
        reply = call.reply(response)
        try:
            with closing(_chunks(response)) as chunks:
                for chunk in chunks:
                    call.check()
                    events = reply.feed(chunk)
                    if not events:
                        continue
                    call.pass_on(events, response)
                    try:
                        yield from events
                    finally:
                        if call.finished:
                            _drain(chunks, call)
                    if call.finished:
                        return
                    if reply.held:
                        raise reply.held
        except httpx.HTTPError as error:
            failure = call.failure(error)
        else:
            yield from call.pass_on(reply.end(), response)
            return
        raise failure


def _chunks(response: httpx.Response) -> Generator[bytes, None, None]:
    """The body as it comes, decompressed."""
    if "content-encoding" in response.headers:
        yield from response.iter_bytes()
    else:
        yield from cast("Iterable[bytes]", response.stream)


def _drain(chunks: Iterator[bytes], call: Call) -> None:
    """After the last event: read the end of the body, so that the connection can be used again."""
    call.watch.linger(LINGER)
    try:
        for _ in chunks:
            if call.watch.overdue():
                return
    except httpx.HTTPError:
        pass  # the reply is complete; only the connection is lost


class Stream:
    """The events of one reply: iterate over it, once. `response` is the whole reply, when it has come."""

    def __init__(self, events: Generator[ModelEvent, None, None]) -> None:
        self._events = events
        self._response: ModelResponse | None = None

    @property
    def response(self) -> ModelResponse | None:
        return self._response

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> ModelEvent:
        event = next(self._events)
        if isinstance(event, ResponseDone):
            self._response = event.response
        return event

    def close(self) -> None:
        """End the request, wherever it is."""
        self._events.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
