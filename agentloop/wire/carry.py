"""What a wire can carry of a message. The rest is dropped or turned into text, and each loss is told.

The neutral history keeps everything; this makes the message that one wire can say. Encoders and `convert` use it alike.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from agentloop.messages import PINNED, AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage
from agentloop.parts import (
    AudioPart,
    FilePart,
    ImagePart,
    Part,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCall,
    VendorPart,
)
from agentloop.shapes import as_dict, as_list, as_text
from agentloop.wire.names import legal_call_id

__all__ = ["ABILITIES", "Abilities", "Carrier", "call_tag", "reasoning_text", "without_restated"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Abilities:
    """What a wire has words for, beside text, calls, results, and images and files in a user message.

    `result_media`: images and files in a tool result; `file_urls`: a file by its address; `names`: names and further
    keys of messages; `reasoning`: reasoning in clear; `any_ids`: call ids with any characters.
    """

    result_media: bool
    file_urls: bool
    audio: bool
    names: bool
    refusals: bool
    reasoning: bool
    any_ids: bool


ABILITIES = {
    "chat": Abilities(
        result_media=False, file_urls=False, audio=True, names=True, refusals=True, reasoning=True, any_ids=True
    ),
    "responses": Abilities(
        result_media=True, file_urls=True, audio=False, names=False, refusals=True, reasoning=True, any_ids=True
    ),
    "anthropic": Abilities(
        result_media=True, file_urls=True, audio=False, names=False, refusals=False, reasoning=False, any_ids=False
    ),
}


def call_tag(wire: str, provider: str) -> str:
    """What `ToolCall.vendor` says of a call's further keys: they mean something on that wire of that provider only."""
    return provider if wire == "chat" else f"{wire}:{provider}"


def reasoning_text(item: dict[str, Any]) -> str:
    """What can be read of a `reasoning` item of the Responses API: the reasoning itself, else its summary."""
    for key in ("content", "summary"):
        if texts := [text for part in map(as_dict, as_list(item.get(key))) if (text := as_text(part.get("text")))]:
            return "\n\n".join(texts)
    return ""


def without_restated(parts: Sequence[Part]) -> list[Part]:
    """The parts as they go back: a vendor's item that was kept whole stands for the readable parts before it."""
    restated = _restated_places(parts)
    return [part for place, part in enumerate(parts) if place not in restated]


def _restated_places(parts: Sequence[Part]) -> set[int]:
    places: set[int] = set()
    for place, part in enumerate(parts):
        if isinstance(part, VendorPart) and (count := _restated(part.value)):
            before = range(max(0, place - count), place)
            if all(isinstance(parts[i], (TextPart, RefusalPart, ReasoningPart)) for i in before):
                places.update(before)
    return places


def _restated(value: Any) -> int:
    """How many readable parts were made of a vendor's item."""
    item = as_dict(value)
    match item.get("type"):
        case "thinking" | "text" as kind:
            return int(bool(as_text(item.get(kind))))
        case "reasoning":
            return int(bool(reasoning_text(item)))
        case "message":
            content = map(as_dict, as_list(item.get("content")))
            return sum(bool(as_text(part.get("text")) or as_text(part.get("refusal"))) for part in content)
        case _:
            return 0


@dataclass(slots=True)
class Carrier:
    """Makes messages such that `wire` can say them. `provider` None stands for any provider of that wire.

    `losses` collects what could not be carried, in words.
    """

    wire: str
    abilities: Abilities
    provider: str | None = None
    losses: list[str] = field(default_factory=list[str])

    def carry(self, message: Message) -> Message:
        """The message as the wire can say it; the same object when it can say everything."""
        match message:
            case AssistantMessage():
                parts = self._assistant_parts(message)
                calls = tuple(self._call(call) for call in message.tool_calls)
                return self._bare(message, _same(message.content, parts), tool_calls=_kept(message.tool_calls, calls))
            case ToolMessage():
                call_id = self._call_id(message.tool_call_id)
                return self._bare(message, self._content("tool", message.content), tool_call_id=call_id)
            case UserMessage() | SystemMessage():
                return self._bare(message, self._content(message.role, message.content))

    def ours(self, part: VendorPart) -> bool:
        """A part without a provider was written by hand, for whoever gets it."""
        return part.wire in ("", self.wire) and (self.provider is None or part.provider in ("", self.provider))

    def _lose(self, what: str) -> None:
        self.losses.append(what)

    def _bare(self, message: Message, content: Any, **fields: Any) -> Message:
        if not self.abilities.names:
            if not isinstance(message, ToolMessage) and message.name is not None:
                self._lose(f"the name of a {message.role} message was left out")
                fields["name"] = None
            if message.extra:
                keys = ", ".join(sorted(message.extra.keys() - {PINNED}))
                said_again = isinstance(message, ToolMessage) and keys == "name"  # the call says it too
                if keys and not said_again:
                    self._lose(f"further keys of a {message.role} message were left out: {keys}")
                fields["extra"] = {PINNED: message.extra[PINNED]} if PINNED in message.extra else {}
        changed = {key: value for key, value in fields.items() if getattr(message, key) is not value}
        if content is message.content and not changed:
            return message
        return replace(message, content=content, **changed)

    # --- parts -------------------------------------------------------------------------------------------------------

    def _content(self, role: str, content: str | tuple[Part, ...]) -> str | tuple[Part, ...]:
        if isinstance(content, str):
            return content
        return _kept(content, tuple(kept for part in content if (kept := self._part(role, part)) is not None))

    def _part(self, role: str, part: Part) -> Part | None:
        media = role == "user" or (role == "tool" and self.abilities.result_media)
        match part:
            case TextPart():
                return part
            case ImagePart() if media:
                return part
            case FilePart(url=str(), file_id=None, file_data=None) if not self.abilities.file_urls:
                return self._as_text(role, part, f"file left out: {part.url}")
            case FilePart() if media:
                return part
            case AudioPart() if media and self.abilities.audio:
                return part
            case VendorPart():
                return part if self._keeps(part) else None
            case RefusalPart() | ReasoningPart():
                return TextPart(part.text)
            case _:
                return self._as_text(role, part, f"{part.type} left out: it cannot be shown here")

    def _as_text(self, role: str, part: Part, text: str) -> TextPart:
        self._lose(f"part {part.type} of a {role} message became a note in its text")
        return TextPart(f"[{text}]")

    def _keeps(self, part: VendorPart) -> bool:
        if self.ours(part):
            return True
        self._lose(f"an item that only {part.provider or part.wire} understands was left out")
        return False

    def _assistant_parts(self, message: AssistantMessage) -> tuple[Part, ...]:
        if not isinstance(message.content, tuple):
            return ()
        kept = [part for part in message.content if not isinstance(part, VendorPart) or self._keeps(part)]
        restated = _restated_places(kept)
        parts = (part if place in restated else self._spoken(part) for place, part in enumerate(kept))
        return tuple(part for part in parts if part is not None)

    def _spoken(self, part: Part) -> Part | None:
        match part:
            case ReasoningPart() if not self.abilities.reasoning:
                return self._lose("reasoning in clear was left out")
            case RefusalPart() if not self.abilities.refusals:
                self._lose("a refusal became plain text")
                return TextPart(part.text)
            case ImagePart() | AudioPart() | FilePart():
                return self._lose(f"a model's {part.type} part was left out: it cannot be sent back")
            case ToolCall():
                return self._call(part)
            case _:
                return part

    # --- calls -------------------------------------------------------------------------------------------------------

    def _call(self, call: ToolCall) -> ToolCall:
        changed: dict[str, Any] = {}
        if (call_id := self._call_id(call.id)) != call.id:
            changed["id"] = call_id
        if call.extra and not self._owns_keys(call):
            changed |= {"extra": {}, "vendor": None}
            if "custom" in call.extra:
                changed["arguments"] = json.dumps({"input": call.arguments}, ensure_ascii=False)
                self._lose("the free text of a custom call became its argument `input`")
            else:
                self._lose(f"further keys of a tool call were left out: {', '.join(sorted(call.extra))}")
        return replace(call, **changed) if changed else call

    def _owns_keys(self, call: ToolCall) -> bool:
        if self.provider is None:
            wire, colon, _ = (call.vendor or "").partition(":")
            return (wire if colon and wire in ABILITIES else "chat") == self.wire
        return call.vendor == call_tag(self.wire, self.provider) or (call.vendor is None and self.wire == "chat")

    def _call_id(self, call_id: str) -> str:
        if self.abilities.any_ids or (legal := legal_call_id(call_id)) == call_id:
            return call_id
        self._lose("a call id was rewritten in letters that every server takes")
        return legal


def _kept(before: tuple[Any, ...], after: tuple[Any, ...]) -> tuple[Any, ...]:
    """The tuple before, if nothing in it has changed."""
    return before if len(before) == len(after) and all(map(_is, before, after)) else after


def _same(before: str | tuple[Part, ...] | None, parts: tuple[Part, ...]) -> Any:
    return _kept(before, parts) or None if isinstance(before, tuple) else before


def _is(a: Any, b: Any) -> bool:
    return a is b
