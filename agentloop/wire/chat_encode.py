"""A request in the form of Chat Completions: `POST {base}/chat/completions`.

The body begins with the model, the tools and the messages, and what differs between the requests of a run comes last:
each request of a growing history repeats the bytes of the one before, which is what prompt caches look for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from agentloop.errors import ConfigError
from agentloop.messages import Message, SystemMessage
from agentloop.model import ModelRequest, ToolSpec
from agentloop.pairing import repair
from agentloop.wire.chat_messages import MessageWriter
from agentloop.wire.chat_shapes import shaped
from agentloop.wire.codec import dumps
from agentloop.wire.dialect import Encoded
from agentloop.wire.names import Names
from agentloop.wire.offers import EncodedTools
from agentloop.wire.options import FIELDS, extra_body, tool_choice
from agentloop.wire.prefix import EncodedHistories
from agentloop.wire.quirks import Quirks

__all__ = ["RequestEncoder"]


class RequestEncoder:
    """Bodies of requests to one model of one provider. Keeps the bytes of messages and tools; safe for threads."""

    def __init__(self, model: str, provider: str, quirks: Quirks) -> None:
        self._model = model
        self._provider = provider
        self._quirks = quirks
        self._histories = EncodedHistories()
        self._tools = EncodedTools(_function)

    def encode(self, request: ModelRequest) -> Encoded:
        repaired = repair(request.messages)
        instructions, messages = shaped(request.instructions, repaired.messages, self._quirks)
        if not messages and instructions is None:
            raise ConfigError("a request needs at least one message")
        fields = self._fields(request) | extra_body(request.options)
        names = Names.of(request.tools)
        writer = MessageWriter(self._provider, self._quirks, names, tools_offered=bool(request.tools))

        def encode_message(message: Message) -> bytes:
            return dumps(writer.write(message), of=f"a {message.role} message")

        head = self._head(request.tools, names, fields)
        given = fields.pop("messages", None)  # extra_body may replace what has a name of its own
        tail = b"]," + dumps(fields, of="the options")[1:] if fields else b"]}"
        if given is not None:
            return Encoded(head[:-1] + dumps(given, of="extra_body['messages']") + tail[1:])
        if instructions is not None:
            head += encode_message(SystemMessage(instructions)) + (b"," if messages else b"")
        variant = (writer.tools_offered, names.exceptions)
        body = self._histories.body(messages, variant, encode_message, head=head, tail=tail)
        return Encoded(body, repaired.repairs, tuple(dict.fromkeys(writer.notes)))

    def _head(self, tools: tuple[ToolSpec | Mapping[str, Any], ...], names: Names, fields: dict[str, Any]) -> bytes:
        parts = [b'{"model":', dumps(fields.pop("model", self._model), of="the model's name")]
        if tools and "tools" not in fields:
            parts += (b',"tools":[', b",".join(self._tool(tool, names) for tool in tools), b"]")
        return b"".join((*parts, b',"messages":['))

    def _tool(self, tool: ToolSpec | Mapping[str, Any], names: Names) -> bytes:
        # A dict goes as it is, and each time anew, since it may be changed.
        if isinstance(tool, Mapping):
            return dumps(names.offer(tool), of="a tool")
        return self._tools.encode(tool, names.to_wire(tool.name))

    def _fields(self, request: ModelRequest) -> dict[str, Any]:
        """All but model, tools and messages, in an order of their own whatever order they were given in."""
        options = cast("dict[str, Any]", request.options)
        fields: dict[str, Any] = {}
        for name in FIELDS:
            if (value := options.get(name)) is not None:
                fields[self._quirks.max_tokens_field if name == "max_tokens" else name] = value
        usage = fields.pop("stream_options", None)
        if not request.tools:
            fields.pop("parallel_tool_calls", None)  # refused where there are no tools, and without meaning
        if (choice := tool_choice(request)) is not None:
            fields["tool_choice"] = choice
        if request.stream:
            fields["stream"] = True
            if usage is None and self._quirks.stream_usage:
                usage = {"include_usage": True}
            if usage is not None:
                fields["stream_options"] = usage
        return fields


def _function(tool: ToolSpec, name: str) -> dict[str, Any]:
    function: dict[str, Any] = {"name": name}
    if tool.description:
        function["description"] = tool.description
    return {"type": "function", "function": {**function, "parameters": tool.parameters}}
