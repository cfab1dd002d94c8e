"""From the bytes of a response to events, without I/O: what kind of reply it is, and what it says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from agentloop.errors import ModelError, ProtocolError, RequestRejected, StatusError
from agentloop.model import (
    ModelEvent,
    ModelRequest,
    ModelResponse,
    ReasoningDelta,
    RefusalDelta,
    ResponseDone,
    TextDelta,
    ToolCallDelta,
)
from agentloop.wire.dialect import Assembler, Wire
from agentloop.wire.errors import status_error

__all__ = ["Reply", "open_reply"]

ERROR_BODY_READ = 262144  # bytes; an error that is longer is a web page
BLANKS = b" \t\r\n"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Reply(Protocol):
    """One response as it comes in. `feed` and `end` raise ModelError for what is no reply.

    `held` is an error that followed the events of the last `feed`: to be raised when they have been passed on.
    """

    def feed(self, chunk: bytes) -> Sequence[ModelEvent]: ...
    def end(self) -> Sequence[ModelEvent]: ...
    def partial(self) -> ModelResponse | None: ...

    @property
    def held(self) -> ModelError | None: ...

    @property
    def content_seen(self) -> bool: ...

    def verdict(self) -> ModelError | None:
        """What is known for certain although the body broke off."""
        ...


def open_reply(
    wire: Wire, request: ModelRequest, status: int, headers: Mapping[str, str], *, now: float, provider: str, model: str
) -> Reply:
    """The reply that a response's head announces. Raises RequestRejected for a redirect."""
    if status >= 400:
        return ErrorReply(wire, status, headers, now=now, provider=provider, model=model)
    if status >= 300:
        raise RequestRejected(
            f"{status}: the server redirects to {headers.get('location', 'nowhere')}; redirects are not followed, "
            "since they may take the key elsewhere or drop the body. Set base_url to the right address",
            status=status,
            provider=provider,
            model=model,
        )
    return StreamReply(wire, request) if request.stream else WholeReply(wire, request)


class WholeReply:
    """A JSON body. Blank lines before it are keep-alive; an event stream nobody asked for is read as one."""

    content_seen = False
    held = None

    def __init__(self, wire: Wire, request: ModelRequest) -> None:
        self._wire = wire
        self._request = request
        self._chunks: list[bytes] = []

    def feed(self, chunk: bytes) -> Sequence[ModelEvent]:
        self._chunks.append(chunk)
        return ()

    def end(self) -> Sequence[ModelEvent]:
        body = b"".join(self._chunks).strip(BLANKS)
        if not body:
            raise ProtocolError("200 with an empty response body", retryable=True)
        if body[:1] == b"<":
            raise _html(body)
        if body.startswith((b"data:", b"event:", b":", BYTE_ORDER_MARK)):
            assembler = self._wire.assembler(self._request)
            events = [*assembler.feed(body + b"\n\n"), *assembler.end()]
            return [event for event in events if isinstance(event, ResponseDone)]
        return (ResponseDone(self._wire.decode(body, self._request)),)

    def partial(self) -> ModelResponse | None:
        return None

    def verdict(self) -> ModelError | None:
        return None


class StreamReply:
    """An event stream, or the whole JSON reply or web page that some servers send instead: the first byte tells. A
    whole reply comes as one delta for each of its parts."""

    def __init__(self, wire: Wire, request: ModelRequest) -> None:
        self._wire = wire
        self._request = request
        self._head = b""
        self._assembler: Assembler | None = None
        self._whole: WholeReply | None = None
        self.held: ModelError | None = None

    def feed(self, chunk: bytes) -> Sequence[ModelEvent]:
        assembler = self._assembler
        if assembler is None:
            return self._begin(chunk)
        if len(chunk.partition(b"\n")[2]) < 2:  # as most are: no more than one event ends in it
            return assembler.feed(chunk)
        return self._feed_each(assembler, _pieces(chunk))

    def _begin(self, chunk: bytes) -> Sequence[ModelEvent]:
        if self._whole is not None:
            return self._whole.feed(chunk)
        self._head += chunk
        start = self._head.lstrip(BLANKS)[:1]
        if not start:
            return ()
        if start in b"{[<":
            self._whole = WholeReply(self._wire, self._request)
        else:
            self._assembler = self._wire.assembler(self._request)
        return self.feed(self._head)

    def _feed_each(self, assembler: Assembler, pieces: Sequence[bytes]) -> Sequence[ModelEvent]:
        """Event by event, so that what came before an error in the same chunk still reaches the caller, and the
        outcome does not depend on how the bytes were split."""
        events: list[ModelEvent] = []
        try:
            for piece in pieces:
                events += assembler.feed(piece)
        except ModelError as error:
            if not events:
                raise
            self.held = error
        return events

    def end(self) -> Sequence[ModelEvent]:
        if self._assembler is not None:
            return self._assembler.end()
        whole = self._whole or WholeReply(self._wire, self._request)
        return _with_deltas(whole.end())

    def partial(self) -> ModelResponse | None:
        return self._assembler.partial() if self._assembler else None

    @property
    def content_seen(self) -> bool:
        return self._assembler is not None and self._assembler.content_seen

    def verdict(self) -> ModelError | None:
        return None


class ErrorReply:
    """An HTTP error: its body is read as far as it is of use, and the status counts even if the body breaks off."""

    content_seen = False
    held = None

    def __init__(
        self, wire: Wire, status: int, headers: Mapping[str, str], *, now: float, provider: str, model: str
    ) -> None:
        self._wire = wire
        self._status = status
        self._headers = headers
        self._now = now
        self._names = (provider, model)
        self._body = bytearray()

    def feed(self, chunk: bytes) -> Sequence[ModelEvent]:
        self._body += chunk
        if len(self._body) > ERROR_BODY_READ:
            raise self.verdict()
        return ()

    def end(self) -> Sequence[ModelEvent]:
        filtered = self._wire.filtered(bytes(self._body)) if self._status == 400 else None
        if filtered is None:
            raise self.verdict()
        return (ResponseDone(filtered),)

    def partial(self) -> ModelResponse | None:
        return None

    def verdict(self) -> StatusError:
        provider, model = self._names
        return status_error(
            bytes(self._body),
            status=self._status,
            headers=self._headers,
            provider=provider,
            model=model,
            now=self._now,
        )


def _with_deltas(events: Sequence[ModelEvent]) -> Sequence[ModelEvent]:
    """A whole reply as who asked for a stream watches it: what only its end would hold would never be shown."""
    deltas: list[ModelEvent] = []
    for response in [event.response for event in events if isinstance(event, ResponseDone)]:
        deltas += [ReasoningDelta(response.reasoning)] if response.reasoning else []
        deltas += [TextDelta(response.text)] if response.text else []
        deltas += [RefusalDelta(response.refusal)] if response.refusal else []
        calls = enumerate(response.tool_calls)
        deltas += [ToolCallDelta(place, call.id, call.name, call.arguments) for place, call in calls]
    return [*deltas, *events]


def _pieces(chunk: bytes) -> list[bytes]:
    """The chunk, parted behind each of its events, and behind what ends the event before."""
    border = b"\r\n\r\n" if b"\r\n\r\n" in chunk else b"\n\n"
    body = chunk.lstrip(b"\r\n")
    *whole, rest = body.split(border)
    pieces = [piece + border for piece in whole]
    if len(body) < len(chunk):
        pieces.insert(0, chunk[: len(chunk) - len(body)])
    return [*pieces, rest] if rest or not pieces else pieces


def _html(body: bytes) -> ProtocolError:
    excerpt = " ".join(body[:300].decode("utf-8", "replace").split())
    return ProtocolError(
        f"200 with a web page instead of JSON: {excerpt} (check the base URL; most end in /v1)", body=excerpt
    )
