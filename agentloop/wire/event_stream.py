"""A streamed reply, from the bytes of its body to events: what all wires have in common.

The terminal event ends a reply. A body that ends without it was cut, whatever had arrived, unless the wire's joiner
knows better.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from agentloop.errors import ModelError, ProtocolError
from agentloop.model import ModelEvent, ModelResponse, ResponseDone
from agentloop.wire.codec import loads
from agentloop.wire.origin import Origin, excerpt
from agentloop.wire.sse import DEFAULT_LIMIT, SSEDecoder

__all__ = ["EventAssembler", "Joiner", "check_object", "says_done", "typed_event"]


class Joiner(Protocol):
    """Puts one reply together from the events of its stream. All but `partial` may raise a ModelError."""

    def take(self, name: str, data: bytes, events: list[ModelEvent]) -> ModelResponse | None:
        """One event of the stream: what a caller may see of it is added to `events`; the terminal one gives the whole.

        Raises StatusError when the event says that the reply failed.
        """
        ...

    def end(self, events: list[ModelEvent]) -> ModelResponse:
        """The body ended after some events, none of them terminal. Raises StreamInterrupted when that means a cut."""
        ...

    def partial(self) -> ModelResponse | None:
        """What has arrived, without calls; None if nothing has."""
        ...


class EventAssembler:
    """See `Assembler` for the contract. `decode` reads a body that turns out to be no stream."""

    def __init__(self, joiner: Joiner, origin: Origin, decode: Callable[[bytes], ModelResponse]) -> None:
        self.finished = False
        self.content_seen = False
        self._joiner = joiner
        self._origin = origin
        self._decode = decode
        self._sse = SSEDecoder()
        self._unread: list[bytes] | None = []  # the body until its first event: it may turn out to be no stream
        self._unread_size = 0

    def feed(self, chunk: bytes) -> Sequence[ModelEvent]:
        if self.finished:
            return ()
        events: list[ModelEvent] = []
        try:
            self._take(self._sse.feed(chunk), events)
            if self._unread is not None:
                self._keep_unread(self._unread, chunk)
        except ModelError as error:
            raise self._told(error) from None
        return events

    def end(self) -> Sequence[ModelEvent]:
        if self.finished:
            return ()
        events: list[ModelEvent] = []
        try:
            self._read_tail(events)
            if not self.finished:
                self._finish(self._joiner.end(events) if self._unread is None else self._read_as_whole(), events)
        except ModelError as error:
            raise self._told(error) from None
        return events

    def partial(self) -> ModelResponse | None:
        return self._joiner.partial()

    def _take(self, taken: Iterable[tuple[str, bytes]], events: list[ModelEvent]) -> None:
        for name, data in taken:
            self._unread = None
            response = self._joiner.take(name, data, events)
            if response is not None:
                self._finish(response, events)
                return
            if events:
                self.content_seen = True

    def _finish(self, response: ModelResponse, events: list[ModelEvent]) -> None:
        self.finished = True
        events.append(ResponseDone(response))

    def _keep_unread(self, unread: list[bytes], chunk: bytes) -> None:
        unread.append(chunk)
        self._unread_size += len(chunk)
        if self._unread_size > DEFAULT_LIMIT:
            raise self._origin.protocol_error("the response is no event stream", body=excerpt(unread[0]))

    def _read_tail(self, events: list[ModelEvent]) -> None:
        """A last event whose blank line is missing counts if it is whole."""
        try:
            self._take(self._sse.end(), events)
        except ProtocolError:
            raise self._origin.interrupted("in the middle of an event") from None

    def _read_as_whole(self) -> ModelResponse:
        """A body without a single event: nothing but comments, or no stream at all."""
        body = b"".join(self._unread or ())
        if all(line.startswith(b":") for line in body.splitlines() if line.strip()):
            raise self._origin.interrupted("before its first event")
        return self._decode(body)

    def _told(self, error: ModelError) -> ModelError:
        error.provider = error.provider or self._origin.provider
        error.model = error.model or self._origin.model
        error.partial = error.partial or self.partial()
        return error


def says_done(name: str, data: bytes, origin: Origin) -> bool:
    """Whether an event that is no JSON is `[DONE]`; blank ones say nothing. Raises StatusError for an error's text, and
    ProtocolError for any other."""
    text = data.strip()
    if name == "error":
        raise origin.status_error(data)
    if text and not text.startswith(b"[DONE]"):
        raise origin.protocol_error("an event of the stream is not JSON", body=excerpt(data))
    return bool(text)


def check_object(name: str, event: Any, origin: Origin) -> None:
    """Raises StatusError for an event that is named an error, and ProtocolError for one that is no JSON object."""
    if name == "error":
        raise origin.status_error(event)
    if not isinstance(event, dict):
        body = excerpt(str(event).encode("utf-8", "replace"))
        raise origin.protocol_error("an event of the stream is JSON, but no object", body=body)


def typed_event(name: str, data: bytes, origin: Origin) -> dict[str, Any] | None:
    """An event with a text as its `type`, as Responses and Anthropic Messages have them; None for one that says
    nothing. Raises StatusError for an error, and ProtocolError for what is no JSON object."""
    event: dict[str, Any]  # if it is one; `cast` would cost a call for each event
    try:
        event = loads(data)
    except ValueError:
        says_done(name, data, origin)  # gateways add it, and it says nothing here
        return None
    if type(event) is not dict or name == "error" or event.get("type") == "error" or event.get("error"):
        check_object(name, event, origin)
        raise origin.status_error(event)
    if type(event.get("type")) is not str:  # some servers give the type as the event's name only
        return {**event, "type": name}
    return event
