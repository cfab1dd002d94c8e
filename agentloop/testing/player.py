"""Playing a cassette: which recorded exchange answers a request, and what is left over at the end."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence

import httpx

from agentloop.testing.cassettes import Cassette
from agentloop.testing.exchanges import Exchange, RecordedRequest
from agentloop.testing.matching import CassetteMismatch, Difference, Matcher, Subject, differences, show_differences

__all__ = ["Player", "play", "recorded_request"]


class Player:
    """Answers requests from a cassette. Requests of the same content get their answers in the recorded order; others
    may come in any order and from any thread. Making one costs time in proportion to the cassette, an answer does not.
    """

    def __init__(self, cassette: Cassette, *, ignore: Sequence[str] = (), secrets: Iterable[str] = ()) -> None:
        self.cassette = cassette
        self.mismatch: CassetteMismatch | None = None
        """The first mismatch that was raised: whoever swallowed it can be told at the end."""
        self._matcher = Matcher((*cassette.ignore, *ignore), secrets)
        self._lock = threading.Lock()
        self._subjects = [self._matcher.subject(exchange.request) for exchange in cassette.exchanges]
        self._unused: dict[str, deque[int]] = {}
        for number, subject in enumerate(self._subjects):
            self._unused.setdefault(subject.key, deque()).append(number)

    def find(self, request: RecordedRequest) -> Exchange | None:
        """The next unused exchange for the request, which is used from now on, or None."""
        key = self._matcher.subject(request).key
        with self._lock:
            numbers = self._unused.get(key)
            return self.cassette.exchanges[numbers.popleft()] if numbers else None

    def take(self, request: RecordedRequest) -> Exchange:
        """As `find`, but raises CassetteMismatch, which shows the difference to the nearest exchange."""
        exchange = self.find(request)
        if exchange is None:
            error = CassetteMismatch(self._explain(request))
            self.mismatch = self.mismatch or error
            raise error
        return exchange

    def respond(self, request: httpx.Request) -> httpx.Response:
        """The recorded answer to a request that was read, or the recorded httpx error, or CassetteMismatch."""
        return play(self.take(recorded_request(request)), request)

    @property
    def unused(self) -> list[Exchange]:
        with self._lock:
            numbers = sorted(number for numbers in self._unused.values() for number in numbers)
        return [self.cassette.exchanges[number] for number in numbers]

    def check_all_used(self) -> None:
        """Raise CassetteMismatch if an exchange was never asked for."""
        left = self.unused
        if left:
            shown = [f"  {exchange.request.method} {exchange.request.url}" for exchange in left[:10]]
            more = [f"  and {len(left) - 10} more"] if len(left) > 10 else []
            head = f"{len(left)} of {len(self._subjects)} exchanges of {self._name} were never asked for:"
            raise CassetteMismatch("\n".join([head, *shown, *more]))

    @property
    def _name(self) -> str:
        return str(self.cassette.path or "the cassette")

    def _explain(self, request: RecordedRequest) -> str:
        sent = self._matcher.subject(request)
        unused = {number for numbers in self._unused.values() for number in numbers}
        head = f"{self._name} has no exchange left for {request.method} {sent.url}"
        used = len(self._subjects) - len(unused)
        same = [number for number, subject in enumerate(self._subjects) if subject.key == sent.key]
        if same:
            times = "once" if len(same) == 1 else f"{len(same)} times"
            return f"{head}\nIt was recorded {times} (exchange {same[-1] + 1}) and is used up."
        nearest = self._nearest(sent, sorted(unused) or list(range(len(self._subjects))))
        if nearest is None:
            return f"{head}\nThe cassette is empty."
        number, found = nearest
        state = "not used yet" if number in unused else "used already"
        counts = f"{used} of {len(self._subjects)} exchanges were used"
        return f"{head}; {counts}.\nThe nearest is exchange {number + 1} ({state}):\n{show_differences(found)}"

    def _nearest(self, sent: Subject, numbers: Sequence[int]) -> tuple[int, list[Difference]] | None:
        found = [(number, differences(self._subjects[number], sent)) for number in numbers]
        return min(found, key=lambda item: (_distance(item[1]), item[0]), default=None)


def _distance(found: Sequence[Difference]) -> tuple[bool, int]:
    return (any(difference.where in ("method", "url") for difference in found), len(found))


def recorded_request(request: httpx.Request) -> RecordedRequest:
    """The request as a value. Its body must have been read."""
    headers = {name.lower(): value for name, value in request.headers.items()}
    return RecordedRequest(request.method, str(request.url), headers, request.content)


def play(exchange: Exchange, request: httpx.Request, chunk_size: int | None = None) -> httpx.Response:
    """The response as it came, or the recorded error. `chunk_size` cuts the body anew, into pieces of so many bytes."""
    response = exchange.response
    if response is None:
        raise _recorded_error(exchange, request)
    headers = dict(response.headers)
    whole = exchange.error is None and not exchange.left and len(response.chunks) < 2
    if whole and response.status not in (204, 304):
        headers["content-length"] = str(len(response.content))
    pieces = [chunk.data for chunk in response.chunks if chunk.data]
    if chunk_size is not None:
        content = response.content
        pieces = [content[start : start + chunk_size] for start in range(0, len(content), chunk_size)]
    stream = _Replayed(exchange, request, pieces)
    return httpx.Response(response.status, headers=headers, stream=stream, request=request)


def _recorded_error(exchange: Exchange, request: httpx.Request) -> httpx.TransportError:
    if exchange.error is None:
        return httpx.ReadTimeout("no answer had come when the recorded request was given up", request=request)
    kind: type[httpx.TransportError] = getattr(httpx, exchange.error.type)
    return kind(exchange.error.message, request=request)


class _Replayed(httpx.SyncByteStream, httpx.AsyncByteStream):
    """The pieces, then the end, or the error, or a mismatch when the recorded reader had left here."""

    def __init__(self, exchange: Exchange, request: httpx.Request, pieces: Sequence[bytes]) -> None:
        self._exchange = exchange
        self._request = request
        self._pieces = pieces

    def __iter__(self) -> Iterator[bytes]:
        yield from self._pieces
        exchange = self._exchange
        if exchange.left:
            raise CassetteMismatch(
                f"the recording of {exchange.request.method} {exchange.request.url} ends here: its reader left the "
                "stream at this point, and now somebody reads on. Record it again"
            )
        if exchange.error is not None:
            raise _recorded_error(exchange, self._request)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self:
            yield piece
