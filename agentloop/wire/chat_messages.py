"""One message in the form of Chat Completions, as one provider takes it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from agentloop.arguments import arguments_to_send
from agentloop.errors import ConfigError
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
    part_to_dict,
)
from agentloop.shapes import as_dict
from agentloop.wire.names import Names
from agentloop.wire.quirks import Quirks

__all__ = ["MessageWriter"]

EMPTY_RESULT = "(no output)"  # several servers refuse a tool result without text

_NINE = re.compile(r"[a-zA-Z0-9]{9}")
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True, slots=True)
class MessageWriter:
    """What one message becomes depends on the message, the provider, whether tools are offered and how their names are
    spelled; on nothing else, so that what was sent once is sent as the same bytes again. `notes` collects what had to
    be left out."""

    provider: str
    quirks: Quirks
    names: Names
    tools_offered: bool
    notes: list[str] = field(default_factory=list[str])

    def write(self, message: Message) -> dict[str, Any]:
        """The JSON object of a message. Raises ConfigError for a part that this role cannot have here."""
        match message:
            case SystemMessage():
                return self._plain(self.quirks.system_role, message)
            case UserMessage():
                return self._plain("user", message)
            case AssistantMessage():
                return self._assistant(message)
            case ToolMessage():
                call_id = self.call_id(message.tool_call_id)
                content = self._text_only(message.content) or EMPTY_RESULT
                return {"role": "tool", "tool_call_id": call_id, "content": content, **_sent(message.extra)}

    def call_id(self, call_id: str) -> str:
        """The id as the provider takes it: always the same for the same id, and different for different ones (nine
        characters of a SHA-256 hash: two of a million ids are alike with a chance below one in ten thousand)."""
        if self.quirks.call_ids == "any" or _NINE.fullmatch(call_id):
            return call_id
        number = int.from_bytes(hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).digest())
        digits: list[str] = []
        for _ in range(9):
            number, digit = divmod(number, len(_DIGITS))
            digits.append(_DIGITS[digit])
        return "".join(digits)

    def _plain(self, role: str, message: SystemMessage | UserMessage) -> dict[str, Any]:
        name = {} if message.name is None else {"name": message.name}
        return {"role": role, "content": self._content(role, message.content), **name, **_sent(message.extra)}

    def _content(self, role: str, content: str | tuple[Part, ...]) -> str | list[Any]:
        if isinstance(content, str):
            return content
        return [value for part in content if (value := self._part(role, part)) is not None]

    def _part(self, role: str, part: Part) -> Any:
        match part:
            case FilePart(url=str(), file_id=None, file_data=None):
                raise ConfigError(
                    "Chat Completions takes a file by id or by its bytes, not by URL: use data= or file_id="
                )
            case TextPart() | ImagePart() | AudioPart() | FilePart():
                return part_to_dict(part)
            case VendorPart():
                return part.value if self._ours(part) else None
            case ReasoningPart() | RefusalPart() | ToolCall():
                raise ConfigError(f"a {role} message cannot hold a part of type {part.type}")

    def _ours(self, part: VendorPart) -> bool:
        """A part without a provider was written by hand, for whoever gets it."""
        if part.wire in ("", "chat") and part.provider in ("", self.provider):
            return True
        self.notes.append(f"an item that only {part.provider or part.wire} understands was left out")
        return False

    def _text_only(self, content: str | tuple[Part, ...]) -> str:
        """Tool results are plain text in Chat Completions; the model is told what else there was."""
        if isinstance(content, str):
            return content
        texts: list[str] = []
        for part in content:
            if isinstance(part, TextPart):
                texts.append(part.text)
            else:
                self.notes.append(f"a tool result's {part.type} part was left out: Chat Completions takes text only")
                texts.append(f"[{part.type} left out: only text can be shown here]")
        return "\n".join(texts)

    # --- the model's own turns ---------------------------------------------------------------------------------------

    def _assistant(self, message: AssistantMessage) -> dict[str, Any]:
        vendor: dict[str, Any] = {}
        spoken: list[TextPart | VendorPart] = []
        for part in message.parts:
            match part:
                case TextPart():
                    spoken.append(part)
                case RefusalPart():  # as text: not every server knows the field, and every one takes text
                    spoken.append(TextPart(part.text))
                case VendorPart() if self._ours(part):
                    if "type" in (keys := as_dict(part.value)):
                        spoken.append(part)
                    else:
                        vendor |= keys
                case ImagePart() | AudioPart() | FilePart():
                    self.notes.append(f"a model's {part.type} part was left out: it cannot be sent back")
                case _:
                    pass
        calls = [self._call(call) for call in message.tool_calls]
        out: dict[str, Any] = {"role": "assistant", "content": self._spoken(spoken, bool(calls)), **vendor}
        out |= self._reasoning(message)
        if message.name is not None:
            out["name"] = message.name
        if calls:
            out["tool_calls"] = calls
        return {**out, **_sent(message.extra)}

    def _spoken(self, parts: Iterable[TextPart | VendorPart], has_calls: bool) -> str | list[Any] | None:
        parts = [part for part in parts if isinstance(part, VendorPart) or part.text]
        if not parts:
            return self.quirks.empty_content if has_calls else ""
        if all(isinstance(part, TextPart) and not part.extra for part in parts):
            return "".join(part.text for part in parts if isinstance(part, TextPart))
        return [part.value if isinstance(part, VendorPart) else part_to_dict(part) for part in parts]

    def _reasoning(self, message: AssistantMessage) -> dict[str, str]:
        if not self.quirks.returns_reasoning(tools_offered=self.tools_offered, has_calls=bool(message.tool_calls)):
            return {}
        parts = [part for part in message.parts if isinstance(part, ReasoningPart)]
        came_in = next((part.extra["field"] for part in parts if "field" in part.extra), "reasoning_content")
        key = self.quirks.reasoning_field or came_in
        text = "".join(part.text for part in parts) or self.quirks.reasoning_filler
        return {} if text is None else {key: text}

    def _call(self, call: ToolCall) -> dict[str, Any]:
        extra = dict(call.extra) if call.vendor in (None, self.provider) else {}
        head = {"id": self.call_id(call.id)}
        if "custom" in extra:  # a custom tool's input is free text, not JSON
            return {**head, "type": "custom", **extra}
        function = {"name": self.names.to_wire(call.name), "arguments": arguments_to_send(call.arguments)}
        return {**head, "type": "function", "function": function, **extra}


def _sent(extra: Mapping[str, Any]) -> Mapping[str, Any]:
    """The further keys of a message as they go out."""
    return {key: value for key, value in extra.items() if key != PINNED} if PINNED in extra else extra
