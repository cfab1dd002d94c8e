"""FaultTransport: faults for an httpx client without sockets and without waiting."""

from __future__ import annotations

import random
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

import httpx

from agentloop.testing.clock import FakeClock
from agentloop.testing.fault_steps import Answer, Cut, Data, End, Head, Junk, Pause, Reset, Step, steps
from agentloop.testing.faults import Fault, FaultPlan, Faults

__all__ = ["FaultTransport"]

Inner: TypeAlias = Callable[[httpx.Request], httpx.Response] | httpx.BaseTransport | httpx.AsyncBaseTransport


class FaultTransport(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """Answers as `inner` does, with faults: for `httpx.Client(transport=...)` and anything that takes a transport.

    `inner` is a function from request to response, or another transport; its responses are read whole before they are
    played, and a fault that replaces them does not ask for one. `faults` are as for MockProvider (see
    agentloop.testing.faults). Pauses let time pass on `clock`. One that
    is longer than the request's read timeout raises httpx.ReadTimeout after that time, and an endless one without a
    read timeout is a RuntimeError, since it would hang. Broken connections raise what httpx raises for sockets.
    `requests` lists what was asked; `open_responses` counts the bodies that were not closed yet.
    """

    def __init__(
        self,
        inner: Inner,
        faults: Faults[httpx.Request] = (),
        *,
        clock: FakeClock | None = None,
        rng: random.Random | None = None,
    ) -> None:
        self.clock = clock or FakeClock()
        self.requests: list[httpx.Request] = []
        self.open_responses = 0
        self._inner = inner
        self._plan = FaultPlan(faults, rng=rng)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.read()
        fault, answer = self._begin(request), _NO_ANSWER
        if not fault.replaces_answer:
            inner = self._inner
            response = inner.handle_request(request) if isinstance(inner, httpx.BaseTransport) else self._call(request)
            response.read()
            response.close()
            answer = _answer(response)
        playback = _played(steps(answer, fault), request)
        for moment in playback:
            if isinstance(moment, Head):
                return self._open(moment, playback, request)
            if isinstance(moment, Pause):
                self.clock.sleep(moment.seconds or 0)
        raise AssertionError("an answer has a head, or raises before it")

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await request.aread()
        fault, answer = self._begin(request), _NO_ANSWER
        if not fault.replaces_answer:
            inner = self._inner
            is_async = isinstance(inner, httpx.AsyncBaseTransport)
            response = await inner.handle_async_request(request) if is_async else self._call(request)
            await response.aread()
            await response.aclose()
            answer = _answer(response)
        playback = _played(steps(answer, fault), request)
        for moment in playback:
            if isinstance(moment, Head):
                return self._open(moment, playback, request)
            if isinstance(moment, Pause):
                await self.clock.asleep(moment.seconds or 0)
        raise AssertionError("an answer has a head, or raises before it")

    def close(self) -> None:
        if isinstance(self._inner, httpx.BaseTransport):
            self._inner.close()

    async def aclose(self) -> None:
        if isinstance(self._inner, httpx.AsyncBaseTransport):
            await self._inner.aclose()

    def _call(self, request: httpx.Request) -> httpx.Response:
        if isinstance(self._inner, httpx.BaseTransport | httpx.AsyncBaseTransport):
            raise TypeError("the inner transport and the client must both be sync, or both async")
        return self._inner(request)

    def _begin(self, request: httpx.Request) -> Fault:
        self.requests.append(request)
        return self._plan.next(request)

    def _open(self, head: Head, rest: Iterator[_Moment], request: httpx.Request) -> httpx.Response:
        self.open_responses += 1
        return httpx.Response(head.status, headers=list(head.headers), stream=_Body(rest, self), request=request)


class _Body(httpx.SyncByteStream, httpx.AsyncByteStream):
    """The rest of an answer as httpx reads it; time passes on the transport's clock."""

    def __init__(self, rest: Iterator[_Moment], transport: FaultTransport) -> None:
        self._rest = rest
        self._transport = transport
        self._open = True

    def __iter__(self) -> Iterator[bytes]:
        for moment in self._rest:
            if isinstance(moment, Pause):
                self._transport.clock.sleep(moment.seconds or 0)
            elif isinstance(moment, bytes):
                yield moment

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for moment in self._rest:
            if isinstance(moment, Pause):
                await self._transport.clock.asleep(moment.seconds or 0)
            elif isinstance(moment, bytes):
                yield moment

    def close(self) -> None:
        if self._open:
            self._open = False
            self._transport.open_responses -= 1

    async def aclose(self) -> None:
        self.close()


# --- without I/O -----------------------------------------------------------------------------------------------------

_NO_ANSWER = Answer(200, (), ())
_Moment: TypeAlias = Head | Pause | bytes


def _played(listed: Sequence[Step], request: httpx.Request) -> Iterator[_Moment]:
    """What a client meets, step by step: the head, pauses, bytes of the body; raises what httpx raises for sockets."""
    length: int | None = None
    received, begun = 0, False
    for step in listed:
        match step:
            case Head():
                length, begun = _length(step), True
                yield step
            case Pause():
                yield from _paused(step, request)
            case Data(data):
                received += len(data)
                yield data
            case Reset():
                raise httpx.ReadError("[Errno 104] Connection reset by peer", request=request)
            case Cut():
                raise httpx.RemoteProtocolError(_cut_off(begun, received, length), request=request)
            case End() | Junk():
                return  # a client does not read behind the end


def _length(head: Head) -> int | None:
    return next((int(value) for name, value in head.headers if name.lower() == "content-length"), None)


def _cut_off(begun: bool, received: int, length: int | None) -> str:
    if not begun:
        return "Server disconnected without sending a response."
    found = "incomplete chunked read" if length is None else f"received {received} bytes, expected {length}"
    return f"peer closed connection without sending complete message body ({found})"


def _paused(pause: Pause, request: httpx.Request) -> Iterator[Pause]:
    timeouts: Mapping[str, float | None] = request.extensions.get("timeout", {})
    limit = timeouts.get("read")
    if pause.seconds is not None and (limit is None or pause.seconds <= limit):
        yield pause
        return
    if limit is None:
        raise RuntimeError("this stall has no end, and the request has no read timeout: it would hang for ever")
    yield Pause(limit)
    raise httpx.ReadTimeout("timed out", request=request)


def _answer(response: httpx.Response) -> Answer:
    """The response as a healthy answer. Its body has been decoded, so the headers of framing and coding go."""
    framing = ("content-length", "transfer-encoding", "content-encoding")
    headers = tuple((name, value) for name, value in response.headers.multi_items() if name.lower() not in framing)
    if response.headers.get("content-type", "").startswith("text/event-stream"):
        return Answer(response.status_code, headers, _events(response.content), stream=True)
    return Answer(response.status_code, headers, (response.content,))


def _events(body: bytes) -> tuple[bytes, ...]:
    """The bytes of each event of a stream, its blank line included."""
    return tuple(re.findall(rb".+?(?:\r\n\r\n|\n\n|\r\r|\Z)", body, re.DOTALL))
