"""A streamed reply of Anthropic Messages: its events joined to the body of a whole reply."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from agentloop.messages import Message
from agentloop.model import ModelEvent, ModelResponse, ReasoningDelta, TextDelta, ToolCallDelta
from agentloop.shapes import as_dict, as_text
from agentloop.wire.anthropic_decode import MessageReader
from agentloop.wire.codec import argument_text, loads
from agentloop.wire.event_stream import typed_event

__all__ = ["MessageJoiner"]

_FIELDS = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}


@dataclass(slots=True)
class _Block:
    """A block as it began, the pieces of its text, thinking or arguments, and its place among the calls."""

    start: dict[str, Any]
    pieces: list[str] = field(default_factory=list[str])
    citations: list[Any] = field(default_factory=list[Any])
    call_index: int = -1

    def to_dict(self) -> dict[str, Any]:
        block = dict(self.start)
        text = "".join(self.pieces)
        kind = block.get("type")
        if kind in ("text", "thinking"):
            block[kind] = (as_text(block.get(kind)) or "") + text
        elif text:
            try:
                block["input"] = loads(text.encode("utf-8", "replace"))
            except ValueError:
                block["input"] = text
        if self.citations:
            block["citations"] = self.citations
        return block

    def arguments(self) -> str:
        """What the model wrote; without a piece, what the block began with."""
        return "".join(self.pieces) or argument_text(self.start.get("input") or {})


class MessageJoiner:
    """One reply to `history`; see `Joiner`."""

    def __init__(self, reader: MessageReader, history: Sequence[Message]) -> None:
        self._reader = reader
        self._history = history
        self._message: dict[str, Any] = {}
        self._usage: dict[str, Any] = {}
        self._blocks: list[_Block] = []
        self._places: dict[int, _Block] = {}  # by index; of several with one index the last
        self._calls = 0
        self._stopped = False  # a stop reason was given

    def take(self, name: str, data: bytes, events: list[ModelEvent]) -> ModelResponse | None:
        event = typed_event(name, data, self._reader.origin)
        if event is None:
            return None
        kind = event["type"]
        if kind == "content_block_delta":
            self._extend(event, events)
        elif kind == "content_block_start":
            self._begin(event, events)
        elif kind == "message_start":
            self._message |= as_dict(event.get("message"))
            self._count(self._message.get("usage"))
        elif kind == "message_delta":
            self._message |= as_dict(event.get("delta"))
            self._count(event.get("usage"))
            self._stopped = bool(self._message.get("stop_reason"))
        elif kind == "message_stop":
            if not self._stopped:
                raise self._reader.origin.interrupted("without a stop reason")
            return self._reader.read(self._body(), history=self._history, arguments=self._arguments())
        return None  # ping, the end of a block, and whatever may be added to the wire

    def end(self, events: list[ModelEvent]) -> ModelResponse:
        raise self._reader.origin.interrupted("without its last event")

    def partial(self) -> ModelResponse | None:
        if not self._message and not self._blocks:
            return None
        return self._reader.cut(self._body(), self._arguments())

    def _begin(self, event: dict[str, Any], events: list[ModelEvent]) -> None:
        block = _Block(as_dict(event.get("content_block")))
        index = event.get("index")
        self._places[index if type(index) is int else len(self._blocks)] = block
        self._blocks.append(block)
        kind = block.start.get("type")
        if kind == "tool_use":
            block.call_index = self._calls
            self._calls += 1
            events.append(self._call_delta(block, ""))
        elif kind == "text" and (text := as_text(block.start.get("text"))):
            events.append(TextDelta(text))
        elif kind == "thinking" and (text := as_text(block.start.get("thinking"))):
            events.append(ReasoningDelta(text))

    def _extend(self, event: dict[str, Any], events: list[ModelEvent]) -> None:
        index = event.get("index")
        block = self._places.get(index if type(index) is int else len(self._blocks) - 1)
        delta: dict[str, Any] = event.get("delta") or {}
        if block is None or type(delta) is not dict:
            return
        kind = delta.get("type")
        piece = delta.get(_FIELDS.get(kind, "")) if type(kind) is str else None
        if kind == "input_json_delta":
            piece = argument_text(piece)
        if type(piece) is not str:
            self._extend_whole(block, delta)
        elif piece:
            block.pieces.append(piece)
            if kind == "text_delta":
                events.append(TextDelta(piece))
            elif kind == "thinking_delta":
                events.append(ReasoningDelta(piece))
            elif block.call_index >= 0:
                events.append(self._call_delta(block, piece))

    def _extend_whole(self, block: _Block, delta: dict[str, Any]) -> None:
        """Deltas that are no piece of a text."""
        if delta.get("type") == "signature_delta":
            block.start = {**block.start, "signature": delta.get("signature")}
        elif delta.get("type") == "citations_delta":
            block.citations.append(delta.get("citation"))

    def _call_delta(self, block: _Block, piece: str) -> ToolCallDelta:
        start = block.start
        return ToolCallDelta(block.call_index, as_text(start.get("id")) or "", as_text(start.get("name")) or "", piece)

    def _count(self, usage: Any) -> None:
        """Totals so far: a later value replaces the one before."""
        self._usage |= {key: value for key, value in as_dict(usage).items() if value is not None}

    def _arguments(self) -> dict[int, str]:
        blocks = enumerate(self._blocks)
        return {place: block.arguments() for place, block in blocks if block.call_index >= 0}

    def _body(self) -> dict[str, Any]:
        content = [block.to_dict() for block in self._blocks]
        return {**self._message, "content": content, "usage": self._usage}
