"""The driver for asyncio. Its twin for threads is `driver.py`; neither wraps the other."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator
from contextlib import aclosing
from types import TracebackType
from typing import Self, cast

import httpx

from agentloop.errors import ConfigError, ModelError
from agentloop.http.asks import Ask, Question, model_request
from agentloop.http.async_slots import AsyncSlots
from agentloop.http.call import LINGER, Call
from agentloop.http.endpoint import ClientSettings, open_endpoint
from agentloop.http.log import log_from_environment
from agentloop.model import ModelEvent, ModelRequest, ModelResponse, ResponseDone

__all__ = ["AsyncDriver", "AsyncStream"]


class AsyncDriver:
    """What is behind an `AsyncClient`; see there. `transport` carries the requests of calls that begin from now on."""

    def __init__(
        self, base_url: str, model: str, transport: httpx.AsyncBaseTransport | None, settings: ClientSettings
    ) -> None:
        self.endpoint = endpoint = open_endpoint(base_url, model, **settings)
        self._slots = AsyncSlots(endpoint.max_connections)
        self._pool: httpx.AsyncBaseTransport | None = None
        if transport is None:
            from agentloop.http.transport import AsyncPoolTransport

            transport = AsyncPoolTransport(endpoint.url, trust_env=endpoint.trust_env)
            self._pool = transport
        self.transport = transport
        log_from_environment()

    async def respond(self, messages: Question, ask: Ask) -> ModelResponse:
        response: ModelResponse | None = None
        async with aclosing(self.events(model_request(messages, False, ask))) as events:
            async for event in events:
                if isinstance(event, ResponseDone):
                    response = event.response
        assert response is not None  # `events` ends with it, or raises
        return response

    def stream(self, messages: Question, ask: Ask) -> AsyncStream:
        return AsyncStream(self.events(model_request(messages, True, ask)))

    def http_request(self, messages: Question, ask: Ask, *, stream: bool) -> httpx.Request:
        return Call(self.endpoint, model_request(messages, stream, ask)).to_show()

    async def events(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        call = Call(self.endpoint, request)
        while True:
            try:
                async with aclosing(self._attempt(call)) as events:
                    async for event in events:
                        yield event
                return
            except ModelError as failed:
                error = failed
            try:
                failure = call.after(error)
            finally:
                del error  # its traceback holds this frame
            yield failure
            await self.endpoint.clock.asleep(failure.attempt.wait or 0.0, request.cancel)

    async def _attempt(self, call: Call) -> AsyncGenerator[ModelEvent, None]:
        if self.transport is self._pool and self.endpoint.missing_key:
            raise ConfigError(self.endpoint.missing_key)  # a transport of the caller's (a replay, say) needs no key
        request = call.begin()
        if not await self._slots.acquire(call.watch.wait("pool"), call.cancel):
            raise call.no_slot()
        try:
            response = await self._send(call, request)
            try:
                async with aclosing(self._read(call, response)) as events:
                    async for event in events:
                        yield event
            finally:
                call.watch.close()
                await response.aclose()
        finally:
            call.watch.close()
            self._slots.release()

    async def _send(self, call: Call, request: httpx.Request) -> httpx.Response:
        try:
            return await self.transport.handle_async_request(request)
        except httpx.HTTPError as error:
            failure = call.failure(error)
        raise failure  # outside the handler: httpx's error may hold the request, and so the key

    async def _read(self, call: Call, response: httpx.Response) -> AsyncGenerator[ModelEvent, None]:
        reply = call.reply(response)
        try:
            async with aclosing(_chunks(response)) as chunks:
                async for chunk in chunks:
                    events = call.take(reply, chunk, response)
                    if not events:
                        continue
                    try:
                        for event in events:
                            yield event
                    finally:
                        if call.finished:
                            await _drain(chunks, call)
                    if call.finished:
                        return
                    if reply.held:
                        raise reply.held
        except httpx.HTTPError as error:
            failure = call.failure(error)
        else:
            for event in call.pass_on(reply.end(), response):
                yield event
            return
        raise failure


async def _chunks(response: httpx.Response) -> AsyncGenerator[bytes, None]:
    """The body as it comes, decompressed."""
    compressed = "content-encoding" in response.headers
    chunks = aiter(response.aiter_bytes() if compressed else cast("AsyncIterable[bytes]", response.stream))
    try:
        async for chunk in chunks:
            yield chunk
    finally:
        if isinstance(chunks, AsyncGenerator):
            await chunks.aclose()


async def _drain(chunks: AsyncIterator[bytes], call: Call) -> None:
    """After the last event: read the end of the body, so that the connection can be used again."""
    call.watch.linger(LINGER)
    try:
        async for _ in chunks:
            if call.watch.overdue():
                return
    except httpx.HTTPError:
        pass  # the reply is complete; only the connection is lost


class AsyncStream:
    """The events of one reply: iterate over it, once. `response` is the whole reply, when it has come."""

    def __init__(self, events: AsyncGenerator[ModelEvent, None]) -> None:
        self._events = events
        self._response: ModelResponse | None = None

    @property
    def response(self) -> ModelResponse | None:
        return self._response

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ModelEvent:
        event = await anext(self._events)
        if isinstance(event, ResponseDone):
            self._response = event.response
        return event

    async def aclose(self) -> None:
        """End the request, wherever it is."""
        await self._events.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()
