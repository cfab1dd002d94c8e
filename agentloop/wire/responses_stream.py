"""A streamed reply of the Responses API: its events joined to the body of a whole reply.

Deltas are for whoever watches. What counts is the item as it is when it is done, and the output of the last event where
a server fills it in. Items may come interleaved; an event belongs to the item that its `output_index` or `item_id`
names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from agentloop.messages import Message
from agentloop.model import ModelEvent, ModelResponse, ReasoningDelta, RefusalDelta, TextDelta, ToolCallDelta
from agentloop.shapes import as_dict, as_text
from agentloop.wire.responses_decode import ResponseReader

__all__ = ["ItemJoiner"]

_CALLS = ("function_call", "custom_tool_call")
_CALL_DELTAS = frozenset({"response.function_call_arguments.delta", "response.custom_tool_call_input.delta"})
_TEXT_DELTAS = {
    "response.refusal.delta": ("refusal", RefusalDelta),
    "response.reasoning_text.delta": ("reasoning_text", ReasoningDelta),
    "response.reasoning_summary_text.delta": ("summary_text", ReasoningDelta),
}
_TERMINAL = ("response.completed", "response.incomplete", "response.failed")


@dataclass(slots=True)
class _Item:
    """An item as it began or, once it is done, as it is; until then also the pieces of its parts."""

    item: dict[str, Any]
    call_index: int = -1
    done: bool = False
    pieces: dict[tuple[str, int], list[str]] = field(default_factory=dict[tuple[str, int], list[str]])

    def to_dict(self) -> dict[str, Any]:
        if self.done or not self.pieces:
            return self.item
        out = dict(self.item)
        texts = [(kind, "".join(pieces)) for (kind, _), pieces in sorted(self.pieces.items(), key=lambda p: p[0][1])]
        if self.call_index >= 0:
            out["arguments" if out.get("type") == "function_call" else "input"] = texts[0][1]
            return out
        summary = [{"type": kind, "text": text} for kind, text in texts if kind == "summary_text"]
        content = [
            {"type": kind, "refusal" if kind == "refusal" else "text": text}
            for kind, text in texts
            if kind != "summary_text"
        ]
        return {**out, "content": content, **({"summary": summary} if summary else {})}


class ItemJoiner:
    """One reply to `history`; see `Joiner`."""

    def __init__(self, reader: ResponseReader, history: Sequence[Message]) -> None:
        self._reader = reader
        self._history = history
        self._response: dict[str, Any] = {}
        self._items: list[_Item] = []
        self._places: dict[Any, _Item] = {}  # by output_index and by item id
        self._calls = 0

    def take(self, event: dict[str, Any], events: list[ModelEvent]) -> ModelResponse | None:
        kind: str = event.get("type") or ""
        if kind == "response.output_text.delta":
            if text := self._add(event, "output_text"):
                events.append(TextDelta(text))
        elif kind in _CALL_DELTAS:
            self._add_arguments(event, events)
        elif kind in _TEXT_DELTAS:
            part, delta = _TEXT_DELTAS[kind]
            if text := self._add(event, part):
                events.append(delta(text))
        elif kind == "response.output_item.added":
            self._open(event, events)
        elif kind == "response.output_item.done":
            self._close(event, events)
        elif kind in _TERMINAL:
            return self._finish(kind, as_dict(event.get("response")))
        elif response := as_dict(event.get("response")):  # created, queued, in progress
            self._response |= response
        return None

    def partial(self) -> ModelResponse | None:
        return self._reader.cut(self._body()) if self._response or self._items else None

    # --- items -------------------------------------------------------------------------------------------------------

    def _find(self, event: dict[str, Any]) -> _Item | None:
        """Some servers leave `output_index` out."""
        item = self._places.get(event.get("output_index", event.get("item_id")))
        return item or (self._items[-1] if self._items else None)

    def _open(self, event: dict[str, Any], events: list[ModelEvent]) -> None:
        opened = _Item(as_dict(event.get("item")))
        self._items.append(opened)
        for place in (event.get("output_index"), as_text(opened.item.get("id"))):
            if place is not None:
                self._places[place] = opened
        if opened.item.get("type") in _CALLS:
            opened.call_index = self._calls
            self._calls += 1
            events.append(_call_delta(opened, ""))

    def _close(self, event: dict[str, Any], events: list[ModelEvent]) -> None:
        item = as_dict(event.get("item"))
        place = event.get("output_index", as_text(item.get("id")))
        if place not in self._places:
            self._open(event, events)
        known = self._places.get(place) or self._items[-1]
        known.item, known.done = item, True

    def _add(self, event: dict[str, Any], part: str) -> str:
        """Add a delta to its item; the text of it."""
        text = event.get("delta")
        item = self._find(event)
        if type(text) is not str or not text or item is None:
            return ""
        index = event.get("content_index", event.get("summary_index", 0))
        item.pieces.setdefault((part, index if isinstance(index, int) else 0), []).append(text)
        return text

    def _add_arguments(self, event: dict[str, Any], events: list[ModelEvent]) -> None:
        item = self._find(event)
        if (text := self._add(event, "arguments")) and item is not None and item.call_index >= 0:
            events.append(_call_delta(item, text))

    # --- the end -----------------------------------------------------------------------------------------------------

    def _finish(self, kind: str, response: dict[str, Any]) -> ModelResponse:
        self._response |= response
        body = self._body()
        body.setdefault("status", kind.rpartition(".")[2])
        if response.get("output"):
            body["output"] = response["output"]
        return self._reader.read(body, history=self._history)

    def _body(self) -> dict[str, Any]:
        return {**self._response, "output": [item.to_dict() for item in self._items]}


def _call_delta(item: _Item, piece: str) -> ToolCallDelta:
    call_id = as_text(item.item.get("call_id")) or as_text(item.item.get("id")) or ""
    return ToolCallDelta(item.call_index, call_id, as_text(item.item.get("name")) or "", piece)
