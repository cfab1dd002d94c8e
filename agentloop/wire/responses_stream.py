"""A streamed reply of the Responses API: its events joined to the body of a whole reply.

Deltas are for whoever watches. What counts is the part and the item as they are when they are done, and the output of
the last event where a server fills it in. Items may come interleaved; an event belongs to the item that its
`output_index` or `item_id` names.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from agentloop.model import (
    ModelEvent,
    ModelRequest,
    ModelResponse,
    ReasoningDelta,
    RefusalDelta,
    TextDelta,
    ToolCallDelta,
)
from agentloop.shapes import as_dict, as_text
from agentloop.wire.codec import argument_text
from agentloop.wire.event_stream import typed_event
from agentloop.wire.responses_decode import ResponseReader

__all__ = ["ItemJoiner"]

_CALLS = ("function_call", "custom_tool_call")
_CALL_DELTAS = frozenset({"response.function_call_arguments.delta", "response.custom_tool_call_input.delta"})
_TEXT_DELTAS = {
    "response.refusal.delta": ("refusal", RefusalDelta),
    "response.reasoning_text.delta": ("reasoning_text", ReasoningDelta),
    "response.reasoning_summary_text.delta": ("summary_text", ReasoningDelta),
}
_WHOLE_PARTS = {  # the kind of part, and the field that has all of it
    "response.output_text.done": ("output_text", "text"),
    "response.refusal.done": ("refusal", "refusal"),
    "response.reasoning_text.done": ("reasoning_text", "text"),
    "response.reasoning_summary_text.done": ("summary_text", "text"),
    "response.function_call_arguments.done": ("arguments", "arguments"),
    "response.custom_tool_call_input.done": ("arguments", "input"),
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
    """One reply to a request; see `Joiner`."""

    def __init__(self, reader: ResponseReader, request: ModelRequest) -> None:
        self._reader = reader
        self._request = request
        self._response: dict[str, Any] = {}
        self._items: list[_Item] = []
        self._places: dict[int | str, _Item] = {}  # by output_index and by item id
        self._calls = 0

    def take(self, name: str, data: bytes, events: list[ModelEvent]) -> ModelResponse | None:
        event = typed_event(name, data, self._reader.origin)
        if event is None:
            return None
        kind: str = event["type"]
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
        elif kind in _WHOLE_PARTS:
            self._settle(event, *_WHOLE_PARTS[kind])
        elif kind in _TERMINAL:
            return self._finish(kind, as_dict(event.get("response")))
        elif response := as_dict(event.get("response")):  # created, queued, in progress
            self._response |= response
        return None

    def end(self, events: list[ModelEvent]) -> ModelResponse:
        raise self._reader.origin.interrupted("without its last event")

    def partial(self) -> ModelResponse | None:
        return self._reader.cut(self._body()) if self._response or self._items else None

    # --- items -------------------------------------------------------------------------------------------------------

    def _find(self, event: dict[str, Any]) -> _Item | None:
        item = self._places.get(_place(event, event.get("item_id")))
        return item or (self._items[-1] if self._items else None)

    def _open(self, event: dict[str, Any], events: list[ModelEvent]) -> None:
        opened = _Item(as_dict(event.get("item")))
        item_id = opened.item.get("id")
        self._items.append(opened)
        self._places[_place({}, item_id)] = self._places[_place(event, item_id)] = opened
        if opened.item.get("type") in _CALLS:
            opened.call_index = self._calls
            self._calls += 1
            events.append(_call_delta(opened, ""))

    def _close(self, event: dict[str, Any], events: list[ModelEvent]) -> None:
        item = as_dict(event.get("item"))
        place = _place(event, item.get("id"))
        if place not in self._places:
            self._open(event, events)
        self._places[place].item = item
        self._places[place].done = True

    def _add(self, event: dict[str, Any], part: str) -> str:
        """Add a delta to its item; the text of it."""
        text = event.get("delta")
        item = self._find(event)
        if type(text) is not str or not text or item is None:
            return ""
        item.pieces.setdefault(_part(event, part), []).append(text)
        return text

    def _settle(self, event: dict[str, Any], part: str, field: str) -> None:
        """A part is done: what it is as a whole replaces its deltas."""
        item = self._find(event)
        if item is not None and (whole := event.get(field)) is not None:
            item.pieces[_part(event, part)] = [argument_text(whole)]

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
        return self._reader.read(body, self._request)

    def _body(self) -> dict[str, Any]:
        return {**self._response, "output": [item.to_dict() for item in self._items]}


def _place(event: dict[str, Any], item_id: Any) -> int | str:
    """What tells an item from the others; some servers leave `output_index` out."""
    index = event.get("output_index")
    return index if type(index) is int else item_id if type(item_id) is str else ""


def _part(event: dict[str, Any], kind: str) -> tuple[str, int]:
    index = event.get("content_index", event.get("summary_index", 0))
    return kind, index if isinstance(index, int) else 0


def _call_delta(item: _Item, piece: str) -> ToolCallDelta:
    call_id = as_text(item.item.get("call_id")) or as_text(item.item.get("id")) or ""
    return ToolCallDelta(item.call_index, call_id, as_text(item.item.get("name")) or "", piece)
