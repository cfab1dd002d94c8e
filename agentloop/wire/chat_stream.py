"""A streamed Chat Completions reply: bytes in, deltas out, and at its end the whole.

Three ends are told apart: finished (a finish reason was seen), ended without a reason (only `[DONE]` came), and cut
(neither came, or the connection broke).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from agentloop.errors import ModelError, ProtocolError, StreamInterrupted
from agentloop.messages import Message
from agentloop.model import ModelEvent, ModelResponse, ResponseDone
from agentloop.wire.chat_choice import ChoiceAssembler
from agentloop.wire.chat_decode import ReplyReader, excerpt, found_error
from agentloop.wire.codec import loads
from agentloop.wire.sse import DEFAULT_LIMIT, SSEDecoder

__all__ = ["ChatAssembler"]


class ChatAssembler:
    """One streamed reply to `history`; `tools` are the names that were offered."""

    def __init__(self, reader: ReplyReader, *, history: Sequence[Message], tools: Sequence[str] = ()) -> None:
        self.finished = False
        self.content_seen = False
        self._reader = reader
        self._history = history
        self._tools = frozenset(tools)
        self._sse = SSEDecoder()
        self._unread: list[bytes] | None = []  # the body until its first event: it may turn out to be no stream
        self._unread_size = 0
        self._top: dict[str, Any] = {}
        self._id: str | None = None
        self._model: str | None = None
        self._usage: Any = None
        self._first = ChoiceAssembler(reader.quirks, self._tools)
        self._others: dict[Any, ChoiceAssembler] = {}

    def feed(self, chunk: bytes) -> Sequence[ModelEvent]:
        if self.finished:
            return ()
        events: list[ModelEvent] = []
        try:
            for name, data in self._sse.feed(chunk):
                self._take(name, data, events)
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
                self._end_without_done(events)
        except ModelError as error:
            raise self._told(error) from None
        return events

    def partial(self) -> ModelResponse | None:
        if not self._first.seen:
            return None
        return self._reader.cut(self._body(), notes=self._notes())

    def _keep_unread(self, unread: list[bytes], chunk: bytes) -> None:
        unread.append(chunk)
        self._unread_size += len(chunk)
        if self._unread_size > DEFAULT_LIMIT:
            raise self._reader.protocol_error("the response is no event stream", body=excerpt(unread[0]))

    # --- one event ---------------------------------------------------------------------------------------------------

    def _take(self, name: str, data: bytes, events: list[ModelEvent]) -> None:
        if self.finished:
            return
        self._unread = None
        chunk: dict[str, Any]  # if it is one; `cast` would cost a call for each chunk
        try:
            chunk = loads(data)
        except ValueError:
            self._take_what_is_no_json(name, data, events)
            return
        if type(chunk) is not dict or name == "error" or "error" in chunk or "x_groq" in chunk:
            self._check(name, chunk)
        self._top |= chunk
        if not self._id or not self._model:
            self._id = self._id or chunk.get("id")
            self._model = self._model or chunk.get("model")
        if usage := chunk.get("usage"):
            self._usage = usage
        choices: list[dict[str, Any]] = chunk.get("choices") or []
        if type(choices) is not list or not choices:
            self._check(name, chunk)
            return
        for choice in choices:
            if type(choice) is not dict:
                continue
            if index := choice.get("index"):  # of several choices the first is streamed; the others are found in `raw`
                other = self._others.setdefault(str(index), ChoiceAssembler(self._reader.quirks, self._tools))
                other.take(choice, [])
            else:
                self._first.take(choice, events)
        if events:
            self.content_seen = True

    def _take_what_is_no_json(self, name: str, data: bytes, events: list[ModelEvent]) -> None:
        text = data.strip()
        if text.startswith(b"[DONE]"):
            self._finish(events)
        elif name == "error":
            raise self._reader.status_error(data)
        elif text:
            raise self._reader.protocol_error("an event of the stream is not JSON", body=excerpt(data))

    def _check(self, name: str, chunk: Any) -> None:
        """Raise if this event is an error, or no chunk at all. `"error": null` is not an error."""
        if name == "error":
            raise self._reader.status_error(chunk)
        if not isinstance(chunk, dict):
            body = excerpt(str(chunk).encode("utf-8", "replace"))
            raise self._reader.protocol_error("an event of the stream is JSON, but no object", body=body)
        if (error := found_error(cast("dict[str, Any]", chunk))) is not None:
            raise self._reader.status_error(error)

    # --- the end -----------------------------------------------------------------------------------------------------

    def _finish(self, events: list[ModelEvent]) -> None:
        self._first.flush(events)
        response = self._reader.read(self._body(), history=self._history, notes=self._notes())
        self.finished = True
        events.append(ResponseDone(response))

    def _read_tail(self, events: list[ModelEvent]) -> None:
        """A last event whose blank line is missing counts if it is whole."""
        try:
            for name, data in self._sse.end():
                self._take(name, data, events)
        except ProtocolError:
            raise self._interrupted("in the middle of an event") from None

    def _end_without_done(self, events: list[ModelEvent]) -> None:
        if self._unread is not None:
            self._read_as_whole(b"".join(self._unread), events)
        elif self._first.finish_reason:
            self._finish(events)
        else:
            raise self._interrupted("without a finish reason and without [DONE]")

    def _read_as_whole(self, body: bytes, events: list[ModelEvent]) -> None:
        """A body without a single event: nothing but comments, or no stream at all."""
        if all(line.startswith(b":") for line in body.splitlines() if line.strip()):
            raise self._interrupted("before its first event")
        response = self._reader.decode(body, history=self._history)
        self.finished = True
        events.append(ResponseDone(response))

    def _interrupted(self, where: str) -> StreamInterrupted:
        return StreamInterrupted(
            f"the stream ended {where}: the reply is not complete",
            provider=self._reader.provider,
            model=self._reader.model,
        )

    def _told(self, error: ModelError) -> ModelError:
        error.provider = error.provider or self._reader.provider
        error.model = error.model or self._reader.model
        error.partial = error.partial or self.partial()
        return error

    def _notes(self) -> tuple[str, ...]:
        return tuple(self._first.notes)

    def _body(self) -> dict[str, Any]:
        """The body of the whole reply that the chunks amount to."""
        body = {**self._top, "id": self._id, "model": self._model, "object": "chat.completion"}
        body.pop("obfuscation", None)
        choices = (self._first, *self._others.values())
        body["choices"] = [choice.to_dict() for choice in choices if choice.seen]
        if self._usage is not None:
            body["usage"] = self._usage
        return body
