"""One message as input items of the Responses API."""

from __future__ import annotations

import hashlib
from collections.abc import Set
from typing import Any

from agentloop.arguments import arguments_to_send
from agentloop.messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage
from agentloop.parts import FilePart, ImagePart, Part, ReasoningPart, RefusalPart, TextPart, ToolCall, VendorPart
from agentloop.shapes import as_dict
from agentloop.wire.carry import ABILITIES, Carrier, without_restated
from agentloop.wire.chat_messages import EMPTY_RESULT
from agentloop.wire.names import Names
from agentloop.wire.quirks import Quirks

__all__ = ["ItemWriter"]


class ItemWriter:
    """What one message becomes depends on the message, the provider, whether tools are offered and how their names are
    spelled, and for a result on whether its call is one of `custom_calls`; on nothing else. `notes` collects what had
    to be left out."""

    def __init__(
        self, provider: str, quirks: Quirks, names: Names, *, tools_offered: bool, custom_calls: Set[str]
    ) -> None:
        self._names = names
        self._carrier = Carrier("responses", ABILITIES["responses"], provider)
        self._quirks = quirks
        self._tools_offered = tools_offered
        self._custom_calls = custom_calls

    @property
    def notes(self) -> list[str]:
        return self._carrier.losses

    def write(self, message: Message) -> list[Any]:
        """The items of a message; at least one."""
        carried = self._carrier.carry(message)
        match carried:
            case SystemMessage():
                return [_message(self._quirks.system_role, _content(carried.content))]
            case UserMessage():
                return [_message("user", _content(carried.content))]
            case ToolMessage():
                return [self._result(carried)]
            case AssistantMessage():
                return self._assistant(carried) or [_message("assistant", [_output_text("")])]

    def _result(self, message: ToolMessage) -> dict[str, Any]:
        custom = message.tool_call_id in self._custom_calls
        kind = "custom_tool_call_output" if custom else "function_call_output"
        return {"type": kind, "call_id": message.tool_call_id, "output": _content(message.content) or EMPTY_RESULT}

    def _assistant(self, message: AssistantMessage) -> list[Any]:
        parts = without_restated(message.parts)
        if self._quirks.calls_together:
            parts.sort(key=lambda part: isinstance(part, ToolCall))
        items: list[Any] = []
        spoken: list[Any] = []  # what the next message item holds
        for part in parts:
            match part:
                case TextPart() | RefusalPart():  # not every server knows a refusal, and every one takes text
                    spoken += [_output_text(part.text)] if part.text else []
                    continue
                case _:
                    items += _flushed(spoken)
                    items += self._item(part, message)
        items += _flushed(spoken)
        while items and as_dict(items[-1]).get("type") == "reasoning":
            items.pop()  # refused without the item that it led to
        return items

    def _item(self, part: Part, message: AssistantMessage) -> list[Any]:
        match part:
            case VendorPart():
                return [part.value]
            case ToolCall():
                return [self._call(part)]
            case ReasoningPart(text) if text and self._quirks.returns_reasoning(
                tools_offered=self._tools_offered, has_calls=bool(message.tool_calls)
            ):
                return [_reasoning(text)]
            case _:
                return []

    def _call(self, call: ToolCall) -> dict[str, Any]:
        head = {"call_id": call.id, "name": self._names.to_wire(call.name)}
        extra = dict(call.extra)
        if "custom" in extra:  # a custom tool's input is free text, not JSON
            del extra["custom"]
            return {"type": "custom_tool_call", **head, "input": call.arguments, **extra}
        return {"type": "function_call", **head, "arguments": arguments_to_send(call.arguments), **extra}


def _flushed(spoken: list[Any]) -> list[Any]:
    if not spoken:
        return []
    item = _message("assistant", list(spoken))
    spoken.clear()
    return [item]


def _message(role: str, content: Any) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": content}


def _output_text(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": []}


def _reasoning(text: str) -> dict[str, Any]:
    """Reasoning in clear, from another wire. An item must have an id; the same text has the same one."""
    number = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]
    content = [{"type": "reasoning_text", "text": text}]
    return {"type": "reasoning", "id": f"rs_{number}", "summary": [], "content": content}


def _content(content: str | tuple[Part, ...]) -> str | list[Any]:
    if isinstance(content, str):
        return content
    return [value for part in content if (value := _input(part)) is not None]


def _input(part: Part) -> Any:
    match part:
        case TextPart():
            return {"type": "input_text", "text": part.text}
        case ImagePart():
            return {"type": "input_image", "image_url": part.url, "detail": part.detail or "auto"}
        case FilePart():
            fields = {"file_id": part.file_id, "file_url": part.url, "file_data": part.file_data}
            named = {**fields, "filename": part.filename}
            return {"type": "input_file", **{key: value for key, value in named.items() if value is not None}}
        case VendorPart():
            return part.value
        case _:
            return None
