"""A request in the form of Chat Completions: `POST {base}/chat/completions`.

The body begins with the model, the tools and the messages, and what differs between the requests of a run comes last:
each request of a growing history repeats the bytes of the one before, which is what prompt caches look for.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, cast

from agentloop.errors import ConfigError
from agentloop.messages import Message, SystemMessage
from agentloop.model import ModelRequest, Options, ToolSpec
from agentloop.pairing import repair
from agentloop.shapes import as_dict
from agentloop.wire.chat_messages import MessageWriter
from agentloop.wire.chat_shapes import shaped
from agentloop.wire.codec import dumps
from agentloop.wire.dialect import Encoded
from agentloop.wire.names import offered_name
from agentloop.wire.prefix import EncodedHistories
from agentloop.wire.quirks import Quirks

__all__ = ["RequestEncoder", "tool_name"]

_NOT_IN_BODY = ("extra_body", "extra_headers")
_FIELDS = tuple(name for name in Options.__annotations__ if name not in _NOT_IN_BODY)
_WORDS = ("auto", "none", "required")


class RequestEncoder:
    """Bodies of requests to one model of one provider. Keeps the bytes of messages and tools; safe for threads."""

    def __init__(self, model: str, provider: str, quirks: Quirks) -> None:
        self._model = model
        self._provider = provider
        self._quirks = quirks
        self._histories = EncodedHistories()
        self._tools: dict[int, tuple[ToolSpec, bytes]] = {}

    def encode(self, request: ModelRequest) -> Encoded:
        repaired = repair(request.messages)
        instructions, messages = shaped(request.instructions, repaired.messages, self._quirks)
        if not messages and instructions is None:
            raise ConfigError("a request needs at least one message")
        fields = self._fields(request) | self._extra_body(request.options)
        writer = MessageWriter(self._provider, self._quirks, tools_offered=bool(request.tools))

        def encode_message(message: Message) -> bytes:
            return dumps(writer.write(message), of=f"a {message.role} message")

        head = self._head(request.tools, fields)
        given = fields.pop("messages", None)  # extra_body may replace what has a name of its own
        tail = b"]," + dumps(fields, of="the options")[1:] if fields else b"]}"
        if given is not None:
            return Encoded(head[:-1] + dumps(given, of="extra_body['messages']") + tail[1:])
        if instructions is not None:
            head += encode_message(SystemMessage(instructions)) + (b"," if messages else b"")
        body = self._histories.body(messages, writer.tools_offered, encode_message, head=head, tail=tail)
        return Encoded(body, repaired.repairs, tuple(dict.fromkeys(writer.notes)))

    def _head(self, tools: tuple[ToolSpec | Mapping[str, Any], ...], fields: dict[str, Any]) -> bytes:
        parts = [b'{"model":', dumps(fields.pop("model", self._model), of="the model's name")]
        if tools and "tools" not in fields:
            parts += (b',"tools":[', b",".join(map(self._tool, tools)), b"]")
        return b"".join((*parts, b',"messages":['))

    def _tool(self, tool: ToolSpec | Mapping[str, Any]) -> bytes:
        if isinstance(tool, Mapping):  # as it is, and each time anew, since a dict may be changed
            return dumps(tool, of="a tool")
        known = self._tools.get(id(tool))
        if known is None:
            if len(self._tools) > 1000:
                self._tools.clear()
            function: dict[str, Any] = {"name": offered_name(tool.name)}
            if tool.description:
                function["description"] = tool.description
            function["parameters"] = tool.parameters
            value = {"type": "function", "function": function}
            known = self._tools[id(tool)] = (tool, dumps(value, of=f"tool {tool.name!r}"))
        return known[1]

    def _fields(self, request: ModelRequest) -> dict[str, Any]:
        """All but model, tools and messages, in an order of their own whatever order they were given in."""
        options = cast("dict[str, Any]", request.options)
        fields: dict[str, Any] = {}
        for name in _FIELDS:
            if (value := options.get(name)) is not None:
                fields[self._quirks.max_tokens_field if name == "max_tokens" else name] = value
        usage = fields.pop("stream_options", None)
        if not request.tools:
            fields.pop("parallel_tool_calls", None)  # refused where there are no tools, and without meaning
        if (choice := _tool_choice(request)) is not None:
            fields["tool_choice"] = choice
        if request.stream:
            fields["stream"] = True
            if usage is None and self._quirks.stream_usage:
                usage = {"include_usage": True}
            if usage is not None:
                fields["stream_options"] = usage
        return fields

    def _extra_body(self, options: Options) -> dict[str, Any]:
        if unknown := options.keys() - {*_FIELDS, *_NOT_IN_BODY}:
            name = min(unknown)
            close = difflib.get_close_matches(name, _FIELDS, 1)
            meant = f" (did you mean {close[0]}?)" if close else ""
            raise ConfigError(f"unknown option {name!r}{meant}: what has no name here goes into extra_body")
        return dict(options.get("extra_body") or {})


def _tool_choice(request: ModelRequest) -> Any:
    choice = request.tool_choice
    if choice is None or not isinstance(choice, str):
        return choice
    if not request.tools:
        if choice in ("auto", "none"):  # what holds anyway; some servers refuse the word where there are no tools
            return None
        raise ConfigError(f"tool_choice={choice!r} needs tools, and this request has none")
    if choice in _WORDS:
        return choice
    if choice not in map(tool_name, request.tools):
        names = ", ".join(map(tool_name, request.tools))
        raise ConfigError(
            f"tool_choice={choice!r} is none of auto, none, required, nor a tool of the request ({names})"
        )
    return {"type": "function", "function": {"name": offered_name(choice)}}


def tool_name(tool: ToolSpec | Mapping[str, Any]) -> str:
    if not isinstance(tool, Mapping):
        return tool.name
    inner = as_dict(tool.get("function")) or as_dict(tool.get("custom")) or tool
    return str(inner.get("name", ""))
