"""The driver for threads: it does what a `Call` asks for. Its twin for asyncio is `async_driver.py`."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from types import TracebackType
from typing import Self, cast

import httpx

from agentloop.errors import ConfigError, ModelError
from agentloop.http.asks import Ask, Question, model_request
from agentloop.http.call import LINGER, Call
from agentloop.http.endpoint import ClientSettings, open_endpoint
from agentloop.http.log import log_from_environment
from agentloop.http.slots import Slots
from agentloop.model import ModelEvent, ModelRequest, ModelResponse, ResponseDone

__all__ = ["Driver", "Stream"]


class Driver:
    """What is behind a `Client`; see there. `transport` carries the requests of calls that begin from now on."""

    def __init__(
        self, base_url: str, model: str, transport: httpx.BaseTransport | None, settings: ClientSettings
    ) -> None:
        self.endpoint = endpoint = open_endpoint(base_url, model, **settings)
        self._slots = Slots(endpoint.max_connections)
        self._pool: httpx.BaseTransport | None = None
        if transport is None:
            from agentloop.http.transport import PoolTransport

            transport = PoolTransport(endpoint.url, trust_env=endpoint.trust_env)
            self._pool = transport
        self.transport = transport
        log_from_environment()

    def respond(self, messages: Question, ask: Ask) -> ModelResponse:
        response: ModelResponse | None = None
        for event in self.events(model_request(messages, False, ask)):
            if isinstance(event, ResponseDone):
                response = event.response
        assert response is not None  # `events` ends with it, or raises
        return response

    def stream(self, messages: Question, ask: Ask) -> Stream:
        return Stream(self.events(model_request(messages, True, ask)))

    def http_request(self, messages: Question, ask: Ask, *, stream: bool) -> httpx.Request:
        return Call(self.endpoint, model_request(messages, stream, ask)).to_show()

    def events(self, request: ModelRequest) -> Generator[ModelEvent, None, None]:
        call = Call(self.endpoint, request)
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
            self.endpoint.clock.sleep(failure.attempt.wait or 0.0, request.cancel)

    def _attempt(self, call: Call) -> Generator[ModelEvent, None, None]:
        if self.transport is self._pool and self.endpoint.missing_key:
            raise ConfigError(self.endpoint.missing_key)  # a transport of the caller's (a replay, say) needs no key
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
                    events = call.take(reply, chunk, response)
                    if not events:
                        continue
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
