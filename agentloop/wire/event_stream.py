"""A streamed reply of a wire whose events name their type: Responses and Anthropic Messages.

Both end in a terminal event. A body that ends without it was cut, whatever had arrived.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, cast

from agentloop.errors import ModelError, ProtocolError
from agentloop.model import ModelEvent, ModelResponse, ResponseDone
from agentloop.wire.chat_decode import excerpt
from agentloop.wire.codec import loads
from agentloop.wire.origin import Origin
from agentloop.wire.sse import SSEDecoder

__all__ = ["EventAssembler", "Joiner"]


class Joiner(Protocol):
    """Puts one reply together from its events. Each has a text as its `type`."""

    def take(self, event: dict[str, Any], events: list[ModelEvent]) -> ModelResponse | None:
        """One event of the stream: what a caller may see of it is added to `events`; the terminal one gives the whole.

        Raises StatusError when the event says that the reply failed.
        """
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

    def feed(self, chunk: bytes) -> Sequence[ModelEvent]:
        if self.finished:
            return ()
        events: list[ModelEvent] = []
        try:
            if self._unread is not None:
                self._unread.append(chunk)
            for name, data in self._sse.feed(chunk):
                self._take(name, data, events)
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
                self._end_without_terminal_event(events)
        except ModelError as error:
            raise self._told(error) from None
        return events

    def partial(self) -> ModelResponse | None:
        return self._joiner.partial()

    def _take(self, name: str, data: bytes, events: list[ModelEvent]) -> None:
        if self.finished:
            return
        self._unread = None
        event: dict[str, Any]  # if it is one; `cast` would cost a call for each event
        try:
            event = loads(data)
        except ValueError:
            self._take_what_is_no_json(name, data)
            return
        if type(event) is not dict or name == "error" or event.get("type") == "error" or event.get("error"):
            self._refuse(name, event)
        if type(event.get("type")) is not str:  # some servers give the type as the event's name only
            event = {**event, "type": name}
        response = self._joiner.take(event, events)
        if response is not None:
            self.finished = True
            events.append(ResponseDone(response))
        elif events:
            self.content_seen = True

    def _take_what_is_no_json(self, name: str, data: bytes) -> None:
        if name == "error":
            raise self._origin.status_error(data)
        if (text := data.strip()) and not text.startswith(b"[DONE]"):  # which gateways add, and which says nothing here
            raise self._origin.protocol_error("an event of the stream is not JSON", body=excerpt(data))

    def _refuse(self, name: str, event: Any) -> None:
        if name == "error" or isinstance(event, dict):
            raise self._origin.status_error(cast("Any", event))
        body = excerpt(str(event).encode("utf-8", "replace"))
        raise self._origin.protocol_error("an event of the stream is JSON, but no object", body=body)

    def _read_tail(self, events: list[ModelEvent]) -> None:
        """A last event whose blank line is missing counts if it is whole."""
        try:
            for name, data in self._sse.end():
                self._take(name, data, events)
        except ProtocolError:
            raise self._origin.interrupted("in the middle of an event") from None

    def _end_without_terminal_event(self, events: list[ModelEvent]) -> None:
        if self._unread is None:
            raise self._origin.interrupted("without its last event")
        body = b"".join(self._unread)
        if all(line.startswith(b":") for line in body.splitlines() if line.strip()):
            raise self._origin.interrupted("before its first event")
        response = self._decode(body)
        self.finished = True
        events.append(ResponseDone(response))

    def _told(self, error: ModelError) -> ModelError:
        error.provider = error.provider or self._origin.provider
        error.model = error.model or self._origin.model
        error.partial = error.partial or self.partial()
        return error
