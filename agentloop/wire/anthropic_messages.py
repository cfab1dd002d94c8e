"""One message as the content blocks of Anthropic Messages."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from agentloop.arguments import arguments_to_send
from agentloop.messages import AssistantMessage, Message, ToolMessage
from agentloop.parts import FilePart, ImagePart, Part, ReasoningPart, TextPart, ToolCall, VendorPart, split_data_url
from agentloop.wire.carry import ABILITIES, Carrier, without_restated
from agentloop.wire.chat_messages import EMPTY_RESULT
from agentloop.wire.codec import dumps
from agentloop.wire.names import Names
from agentloop.wire.quirks import Quirks

__all__ = ["BlockWriter", "role_of"]

NOTHING = b'{"type":"text","text":"(no text)"}'  # blank text is refused, and so is a message without content

_KEPT_KEYS = ("cache_control", "citations", "title", "context")  # of a part, written by hand for this wire


def role_of(message: Message) -> str:
    """A result is the user's: there are two roles."""
    return "assistant" if isinstance(message, AssistantMessage) else "user"


class BlockWriter:
    """What one message becomes depends on the message, the provider, whether tools are offered and how their names are
    spelled; on nothing else. `notes` collects what had to be left out."""

    def __init__(self, provider: str, quirks: Quirks, names: Names, *, tools_offered: bool) -> None:
        self._names = names
        abilities = replace(ABILITIES["anthropic"], reasoning=quirks.reasoning != "never")
        self._carrier = Carrier("anthropic", abilities, provider)
        self._quirks = quirks
        self._tools_offered = tools_offered

    @property
    def notes(self) -> list[str]:
        return self._carrier.losses

    def write(self, message: Message) -> bytes:
        """The blocks of a message with commas between them; at least one."""
        carried = self._carrier.carry(message)
        if isinstance(carried, ToolMessage):
            return dumps(self._result(carried), of="a tool message")
        if isinstance(carried, AssistantMessage):
            blocks = self._assistant(carried)
        elif isinstance(carried.content, str):
            blocks = [_text(carried.content)] if carried.content.strip() else []
        else:
            blocks = [dumps(value, of="a user message") for part in carried.content if (value := _block(part))]
        return b",".join(blocks) or NOTHING

    def _result(self, message: ToolMessage) -> dict[str, Any]:
        out: dict[str, Any] = {"type": "tool_result", "tool_use_id": message.tool_call_id}
        if isinstance(message.content, str):
            out["content"] = message.content if message.content.strip() else EMPTY_RESULT
        else:
            out["content"] = [value for part in message.content if (value := _block(part))] or EMPTY_RESULT
        if message.is_error:
            out["is_error"] = True
        return out

    def _assistant(self, message: AssistantMessage) -> list[bytes]:
        blocks: list[bytes] = []
        returned = self._quirks.returns_reasoning(tools_offered=self._tools_offered, has_calls=bool(message.tool_calls))
        for part in without_restated(message.parts):
            match part:
                case ToolCall():
                    blocks.append(self._tool_use(part))
                case ReasoningPart():  # without a signature; for servers that ask for none
                    if part.text and returned:
                        block = {"type": "thinking", "thinking": part.text, "signature": ""}
                        blocks.append(dumps(block, of="an assistant message"))
                case _:
                    if value := _block(part):
                        blocks.append(dumps(value, of="an assistant message"))
        return blocks

    def _tool_use(self, call: ToolCall) -> bytes:
        """The arguments go byte for byte, if they are an object: reading and writing them again may change numbers."""
        head = dumps({"type": "tool_use", "id": call.id, "name": self._names.to_wire(call.name)}, of="a tool call")
        arguments = arguments_to_send(call.arguments).encode("utf-8", "backslashreplace")
        extra = b"," + dumps(dict(call.extra), of="a tool call")[1:-1] if call.extra else b""
        return head[:-1] + b',"input":' + arguments + extra + b"}"


def _text(text: str) -> bytes:
    return dumps({"type": "text", "text": text}, of="a message")


def _block(part: Part) -> Any:
    """The block of a part; None for text that is blank."""
    match part:
        case TextPart():
            return {"type": "text", "text": part.text, **_keys(part.extra)} if part.text.strip() else None
        case ImagePart():
            return {"type": "image", "source": _image_source(part.url), **_keys(part.extra)}
        case FilePart():
            title = {"title": part.filename} if part.filename else {}
            return {"type": "document", "source": _file_source(part), **title, **_keys(part.extra)}
        case VendorPart():
            return part.value
        case _:
            return None


def _keys(extra: Mapping[str, Any]) -> dict[str, Any]:
    return {key: extra[key] for key in _KEPT_KEYS if key in extra}


def _image_source(url: str) -> dict[str, str]:
    if (split := split_data_url(url)) is None:
        return {"type": "url", "url": url}
    return {"type": "base64", "media_type": split[0], "data": split[1]}


def _file_source(part: FilePart) -> dict[str, str]:
    if part.file_id:
        return {"type": "file", "file_id": part.file_id}
    if part.url:
        return {"type": "url", "url": part.url}
    split = split_data_url(part.file_data or "")
    media_type, data = split or ("application/pdf", part.file_data or "")
    if media_type.startswith("text/"):
        return {"type": "text", "media_type": "text/plain", "data": base64.b64decode(data).decode("utf-8", "replace")}
    return {"type": "base64", "media_type": media_type, "data": data}
