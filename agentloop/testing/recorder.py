"""Watching exchanges as they happen, without delaying a byte of them."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import cast

import httpx

from agentloop.testing.bodies import Chunk
from agentloop.testing.decoding import decode_body
from agentloop.testing.exchanges import Exchange, Failure, RecordedResponse
from agentloop.testing.matching import Matcher
from agentloop.testing.player import recorded_request

__all__ = ["Recorder"]


class Recorder:
    """Collects exchanges, from any thread. `clock` gives the times of chunks, in seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._drafts: list[_Draft] = []
        self._moments = 0

    def send(self, request: httpx.Request, inner: httpx.BaseTransport) -> httpx.Response:
        request.read()
        draft = self._begin(request)
        try:
            response = inner.handle_request(request)
        except httpx.TransportError as error:
            draft.fail(error)
            raise
        return draft.watch(response)

    async def send_async(self, request: httpx.Request, inner: httpx.AsyncBaseTransport) -> httpx.Response:
        await request.aread()
        draft = self._begin(request)
        try:
            response = await inner.handle_async_request(request)
        except httpx.TransportError as error:
            draft.fail(error)
            raise
        return draft.watch(response)

    def _begin(self, request: httpx.Request) -> _Draft:
        draft = _Draft(request, self._clock, self._moment)
        with self._lock:
            self._drafts.append(draft)
        return draft

    def _moment(self) -> int:
        """A number for each beginning and end, so that overlap does not depend on the clock's grain."""
        with self._lock:
            self._moments += 1
            return self._moments

    def exchanges(self) -> tuple[Exchange, ...]:
        """What was recorded so far, in the order of sending. Those that overlapped in time are sorted by what was
        sent, so that recording parallel requests again gives the same order. Unfinished ones count as left."""
        with self._lock:
            drafts = sorted(self._drafts, key=lambda draft: draft.begun)
        groups: list[list[_Draft]] = []
        reach = -1.0
        for draft in drafts:
            if draft.begun > reach:
                groups.append([])
            groups[-1].append(draft)
            reach = max(reach, draft.ended)
        matcher = Matcher()
        ordered: list[Exchange] = []
        for group in groups:
            found = [draft.exchange() for draft in group]
            ordered += sorted(found, key=lambda e: matcher.subject(e.request).key) if len(found) > 1 else found
        return tuple(ordered)


class _Draft:
    """An exchange that is under way. It counts as left by its reader until its end or failure is seen."""

    def __init__(self, request: httpx.Request, clock: Callable[[], float], moment: Callable[[], int]) -> None:
        self._request = recorded_request(request)
        self._clock = clock
        self._moment = moment
        self._sent_at = clock()
        self._response: httpx.Response | None = None
        self._chunks: list[Chunk] = []
        self._error: Failure | None = None
        self._complete = False
        self.begun = moment()
        self.ended: float = math.inf

    def watch(self, response: httpx.Response) -> httpx.Response:
        """The same response with a stream that is watched."""
        self._response = response
        return httpx.Response(
            response.status_code,
            headers=response.headers,
            stream=_WatchedStream(response.stream, self),
            extensions=response.extensions,
        )

    def add(self, data: bytes) -> None:
        self._chunks.append(Chunk(data, round(self._clock() - self._sent_at, 3)))

    def complete(self) -> None:
        self._complete = True
        self.close()

    def fail(self, error: httpx.TransportError) -> None:
        self._error = Failure(type(error).__name__, str(error))
        self.close()

    def close(self) -> None:
        if self.ended == math.inf:
            self.ended = self._moment()

    def exchange(self) -> Exchange:
        if self._response is None:
            return Exchange(self._request, error=self._error, left=self._error is None)
        headers = {name.lower(): value for name, value in self._response.headers.items()}
        kept, chunks = decode_body(headers, self._chunks)
        response = RecordedResponse(self._response.status_code, kept, chunks)
        left = self._error is None and not self._complete and not self._has_all(headers)
        return Exchange(self._request, response, self._error, left)

    def _has_all(self, headers: dict[str, str]) -> bool:
        """A reader may stop at the announced length, or not ask for the body of a reply that can have none."""
        length = headers.get("content-length")
        status = self._response.status_code if self._response is not None else 0
        bodiless = status in (204, 304) or self._request.method == "HEAD"
        return bodiless or (length is not None and length == str(sum(len(chunk.data) for chunk in self._chunks)))


class _WatchedStream(httpx.SyncByteStream, httpx.AsyncByteStream):
    """Passes each chunk on as it comes, and tells the draft of it."""

    def __init__(self, inner: object, draft: _Draft) -> None:
        self._inner = inner
        self._draft = draft

    def __iter__(self) -> Iterator[bytes]:
        try:
            for chunk in cast("httpx.SyncByteStream", self._inner):
                self._draft.add(chunk)
                yield chunk
        except httpx.TransportError as error:
            self._draft.fail(error)
            raise
        self._draft.complete()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in cast("httpx.AsyncByteStream", self._inner):
                self._draft.add(chunk)
                yield chunk
        except httpx.TransportError as error:
            self._draft.fail(error)
            raise
        self._draft.complete()

    def close(self) -> None:
        self._draft.close()
        cast("httpx.SyncByteStream", self._inner).close()

    async def aclose(self) -> None:
        self._draft.close()
        await cast("httpx.AsyncByteStream", self._inner).aclose()
