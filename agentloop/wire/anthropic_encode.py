"""A request in the form of Anthropic Messages: `POST {base}/v1/messages`.

The body begins with the model, the system text and the tools; then come the messages, and last what differs between the
requests of a run. Neighbours of one role are one message, with the results first: every call must be answered in the
very next message. A cache breakpoint never stands inside a message, so that its bytes stay the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from agentloop.errors import ConfigError
from agentloop.messages import Message, SystemMessage
from agentloop.model import ModelRequest, ToolSpec
from agentloop.pairing import repair
from agentloop.shapes import as_dict
from agentloop.wire.anthropic_messages import NOTHING, BlockWriter, role_of
from agentloop.wire.anthropic_options import body_fields
from agentloop.wire.codec import dumps
from agentloop.wire.dialect import Encoded
from agentloop.wire.names import Names
from agentloop.wire.offers import EncodedTools
from agentloop.wire.prefix import EncodedHistories
from agentloop.wire.quirks import Quirks

__all__ = ["RequestEncoder"]

_MARK = {"type": "ephemeral"}
_OPENING = {"user": b'{"role":"user","content":[', "assistant": b'{"role":"assistant","content":['}


class RequestEncoder:
    """Bodies of requests to one model of one provider; with `counting` those of count_tokens. Safe for threads."""

    def __init__(self, model: str, provider: str, quirks: Quirks, *, counting: bool = False) -> None:
        self._model = model
        self._provider = provider
        self._quirks = quirks
        self._counting = counting
        self._histories = EncodedHistories(_joint)
        self._tools = EncodedTools(_tool)

    def encode(self, request: ModelRequest) -> Encoded:
        repaired = repair(request.messages)
        system = [message for message in repaired.messages if isinstance(message, SystemMessage)]
        messages: tuple[Message, ...] = repaired.messages
        if system:
            messages = tuple(message for message in messages if not isinstance(message, SystemMessage))
        notes: list[str] = []
        if any(found is not message for found, message in zip(system, repaired.messages, strict=False)):
            notes.append("a system message amid the conversation was moved to its front")
        fields = body_fields(request, self._model, self._quirks, notes, counting=self._counting)
        names = Names.of(request.tools)
        writer = BlockWriter(self._provider, self._quirks, names, tools_offered=bool(request.tools))
        head = self._head(request, names, system, fields)
        given = fields.pop("messages", None)  # extra_body may replace what has a name of its own
        tail = b"," + dumps(fields, of="the options")[1:] if fields else b"}"
        if given is not None:
            return Encoded(head + dumps(given, of="extra_body['messages']") + tail)
        if not messages:
            raise ConfigError("a request needs at least one message that is not a system message")
        opening = b"[" + _OPENING[role_of(messages[0])]
        if role_of(messages[0]) == "assistant":  # a history must begin with the user
            notes.append("a user turn was put before the model's, which cannot be the first")
            opening = b"[" + _OPENING["user"] + NOTHING + b"]}," + opening[1:]
        variant = (bool(request.tools), names.exceptions)
        body = self._histories.body(messages, variant, writer.write, head=head + opening, tail=b"]}]" + tail)
        return Encoded(body, repaired.repairs, tuple(dict.fromkeys((*notes, *writer.notes))))

    def _head(
        self, request: ModelRequest, names: Names, system: Sequence[SystemMessage], fields: dict[str, Any]
    ) -> bytes:
        parts = [b'{"model":', dumps(fields.pop("model", self._model), of="the model's name")]
        if "max_tokens" in fields:
            parts += (b',"max_tokens":', dumps(fields.pop("max_tokens"), of="max_tokens"))
        texts = [message.text for message in system]
        if request.instructions:
            texts.insert(0, request.instructions)
        if (text := "\n\n".join(text for text in texts if text.strip())) and "system" not in fields:
            marked = [{"type": "text", "text": text, "cache_control": _MARK}]
            parts += (b',"system":', dumps(text if self._quirks.cache == "off" else marked, of="the system text"))
        if request.tools and "tools" not in fields:
            parts += (b',"tools":[', b",".join(self._offers(request.tools, names)), b"]")
        return b"".join((*parts, b',"messages":'))

    def _offers(self, tools: Sequence[ToolSpec | Mapping[str, Any]], names: Names) -> list[bytes]:
        offers = [
            dumps(_tool_of(names.offer(tool)), of="a tool")
            if isinstance(tool, Mapping)
            else self._tools.encode(tool, names.to_wire(tool.name))
            for tool in tools
        ]
        if self._quirks.cache != "off":
            offers[-1] = offers[-1][:-1] + b',"cache_control":' + dumps(_MARK, of="a tool") + b"}"
        return offers


def _joint(before: Message, after: Message) -> bytes:
    """What stands between the blocks of two messages."""
    role = role_of(after)
    return b"," if role_of(before) == role else b"]}," + _OPENING[role]


def _tool(tool: ToolSpec, name: str) -> dict[str, Any]:
    return _described(name, tool.description, tool.parameters)


def _tool_of(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    """A tool in Chat Completions form, as this wire has it; one in the form of this wire as it is."""
    if tool.get("type") == "custom" and "custom" in tool:
        raise ConfigError(
            f"Anthropic Messages has no custom tools with free text: {as_dict(tool['custom']).get('name')!r}"
        )
    function = as_dict(tool.get("function"))
    if not function:
        return tool
    out = _described(str(function.get("name", "")), function.get("description"), as_dict(function.get("parameters")))
    return {**out, "strict": True} if function.get("strict") else out


def _described(name: str, description: Any, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Without `type`: some servers of this wire refuse it."""
    out: dict[str, Any] = {"name": name}
    if description:
        out["description"] = description
    schema = cast("dict[str, Any]", parameters)
    out["input_schema"] = schema if schema.get("type") == "object" else {"type": "object", **schema}
    return out
