"""A streamed Chat Completions reply: its chunks joined to the body of a whole reply.

Three ends are told apart: finished (a finish reason was seen), ended without a reason (only `[DONE]` came), and cut
(neither came, or the connection broke).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agentloop.messages import Message
from agentloop.model import ModelEvent, ModelResponse
from agentloop.wire.chat_choice import ChoiceAssembler
from agentloop.wire.chat_decode import ReplyReader, found_error
from agentloop.wire.codec import loads
from agentloop.wire.event_stream import check_object, says_done

__all__ = ["ChunkJoiner"]


class ChunkJoiner:
    """One streamed reply to `history`; `tools` are the names that were offered. See `Joiner`."""

    def __init__(self, reader: ReplyReader, *, history: Sequence[Message], tools: Sequence[str] = ()) -> None:
        self._reader = reader
        self._history = history
        self._tools = frozenset(tools)
        self._top: dict[str, Any] = {}
        self._id: str | None = None
        self._model: str | None = None
        self._usage: Any = None
        self._index: Any = None  # of the choice that came first; some servers count from 1
        self._first = ChoiceAssembler(reader.quirks, self._tools)
        self._others: dict[Any, ChoiceAssembler] = {}

    def take(self, name: str, data: bytes, events: list[ModelEvent]) -> ModelResponse | None:
        chunk: dict[str, Any]  # if it is one; `cast` would cost a call for each chunk
        try:
            chunk = loads(data)
        except ValueError:
            return self._finish(events) if says_done(name, data, self._reader.origin) else None
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
            return None
        for choice in choices:
            if type(choice) is not dict:
                continue
            index = choice.get("index") or 0
            if self._index is None:
                self._index = index
            if index == self._index:  # of several choices the first is streamed; the others are found in `raw`
                self._first.take(choice, events)
            else:
                other = self._others.setdefault(str(index), ChoiceAssembler(self._reader.quirks, self._tools))
                other.take(choice, [])
        return None

    def end(self, events: list[ModelEvent]) -> ModelResponse:
        if not self._first.finish_reason:
            raise self._reader.origin.interrupted("without a finish reason and without [DONE]")
        return self._finish(events)

    def partial(self) -> ModelResponse | None:
        return self._reader.cut(self._body(), notes=self._notes()) if self._first.seen else None

    def _check(self, name: str, chunk: Any) -> None:
        """Raise if this event is an error, or no chunk at all. `"error": null` is not an error."""
        check_object(name, chunk, self._reader.origin)
        if (error := found_error(chunk)) is not None:
            raise self._reader.origin.status_error(error)

    def _finish(self, events: list[ModelEvent]) -> ModelResponse:
        self._first.flush(events)
        return self._reader.read(self._body(), history=self._history, notes=self._notes())

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
