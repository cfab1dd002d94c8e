"""A request to the Responses API: `POST {base}/responses`.

The server keeps nothing between requests: every item of the trajectory goes back each time, reasoning with the item
that it led to. The body begins with the model, the instructions and the tools; what differs between the requests of a
run comes last.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from agentloop.errors import ConfigError
from agentloop.messages import AssistantMessage, Message
from agentloop.model import ModelRequest, ToolSpec
from agentloop.pairing import repair
from agentloop.shapes import as_dict
from agentloop.wire.carry import call_tag
from agentloop.wire.codec import dumps
from agentloop.wire.dialect import Encoded
from agentloop.wire.names import Names
from agentloop.wire.offers import EncodedTools
from agentloop.wire.options import FIELDS, extra_body, tool_choice
from agentloop.wire.prefix import EncodedHistories
from agentloop.wire.quirks import Quirks
from agentloop.wire.responses_messages import ItemWriter

__all__ = ["RequestEncoder"]

_AS_THEY_ARE = (
    "temperature",
    "top_p",
    "top_logprobs",
    "metadata",
    "user",
    "safety_identifier",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
    "service_tier",
    "moderation",
)
_READ = frozenset(
    {
        *_AS_THEY_ARE,
        "max_tokens",
        "n",
        "store",
        "response_format",
        "verbosity",
        "reasoning_effort",
        "parallel_tool_calls",
        "logprobs",
        "stream_options",
    }
)


class RequestEncoder:
    """Bodies of requests to one model of one provider. Keeps the bytes of messages and tools; safe for threads."""

    def __init__(self, model: str, provider: str, quirks: Quirks) -> None:
        self._model = model
        self._provider = provider
        self._quirks = quirks
        self._histories = EncodedHistories()
        self._tools = EncodedTools(_tool)

    def encode(self, request: ModelRequest) -> Encoded:
        repaired = repair(request.messages)
        if not repaired.messages and request.instructions is None:
            raise ConfigError("a request needs at least one message, or instructions")
        notes: list[str] = []
        names = Names.of(request.tools)
        fields = self._fields(request, notes) | extra_body(request.options)
        writer = ItemWriter(
            self._provider,
            self._quirks,
            names,
            tools_offered=bool(request.tools),
            custom_calls=self._custom_calls(repaired.messages),
        )

        def encode_message(message: Message) -> bytes:
            return dumps(writer.write(message), of=f"a {message.role} message")[1:-1]

        head = self._head(request, names, fields)
        given = fields.pop("input", None)  # extra_body may replace what has a name of its own
        tail = b"," + dumps(fields, of="the options")[1:] if fields else b"}"
        if given is not None:
            return Encoded(head + dumps(given, of="extra_body['input']") + tail)
        variant = (bool(request.tools), names.exceptions)
        body = self._histories.body(repaired.messages, variant, encode_message, head=head + b"[", tail=b"]" + tail)
        return Encoded(body, repaired.repairs, tuple(dict.fromkeys((*notes, *writer.notes))))

    def _head(self, request: ModelRequest, names: Names, fields: dict[str, Any]) -> bytes:
        parts = [b'{"model":', dumps(fields.pop("model", self._model), of="the model's name")]
        if request.instructions is not None and "instructions" not in fields:
            parts += (b',"instructions":', dumps(request.instructions, of="the instructions"))
        if request.tools and "tools" not in fields:
            parts += (b',"tools":[', b",".join(self._offer(tool, names) for tool in request.tools), b"]")
        return b"".join((*parts, b',"input":'))

    def _offer(self, tool: ToolSpec | Mapping[str, Any], names: Names) -> bytes:
        if isinstance(tool, Mapping):
            return dumps(_tool_of(names.offer(tool)), of="a tool")
        return self._tools.encode(tool, names.to_wire(tool.name))

    def _fields(self, request: ModelRequest, notes: list[str]) -> dict[str, Any]:
        """All but model, instructions, tools and input. Raises ConfigError for what would change the reply's meaning
        if it were left out; `notes` gets each other option that has no place here."""
        options = cast("dict[str, Any]", request.options)
        given = {name: value for name in FIELDS if (value := options.get(name)) is not None}
        left_out = [name for name in given if name not in _READ]
        notes += [f"option {name} has no place in the Responses API and was left out" for name in left_out]
        if given.get("n", 1) != 1:
            raise ConfigError("the Responses API gives one reply: leave out n, or ask several times")
        fields: dict[str, Any] = {name: given[name] for name in _AS_THEY_ARE if name in given}
        if "max_tokens" in given:
            fields["max_output_tokens"] = given["max_tokens"]
        if "reasoning_effort" in given:
            fields["reasoning"] = {"effort": given["reasoning_effort"]}
        if text := _text(given):
            fields["text"] = text
        if (choice := _choice(tool_choice(request))) is not None:
            fields["tool_choice"] = choice
        if request.tools and "parallel_tool_calls" in given:
            fields["parallel_tool_calls"] = given["parallel_tool_calls"]
        self._add_storage(given, fields)
        if request.stream:
            fields["stream"] = True
            stream_options = {**given.get("stream_options", {})}
            stream_options.pop("include_usage", None)  # usage is always in the last event
            if stream_options:
                fields["stream_options"] = stream_options
        return fields

    def _custom_calls(self, messages: tuple[Message, ...]) -> frozenset[str]:
        """Ids of the calls that go back with free text: those that this provider made so."""
        tag = call_tag("responses", self._provider)
        return frozenset(
            call.id
            for message in messages
            if isinstance(message, AssistantMessage)
            for call in message.tool_calls
            if call.vendor == tag and "custom" in call.extra
        )

    def _add_storage(self, given: dict[str, Any], fields: dict[str, Any]) -> None:
        include: list[str] = []
        if self._quirks.stores:
            fields["store"] = given.get("store", False)
            if not fields["store"]:
                include.append("reasoning.encrypted_content")
        elif "store" in given:
            fields["store"] = given["store"]
        if given.get("logprobs"):
            include.append("message.output_text.logprobs")
        if include:
            fields["include"] = include


def _text(given: dict[str, Any]) -> dict[str, Any]:
    text: dict[str, Any] = {}
    if wanted := as_dict(given.get("response_format")):
        rest = {key: value for key, value in wanted.items() if key != "json_schema"}
        text["format"] = {**rest, **as_dict(wanted.get("json_schema"))}
    if "verbosity" in given:
        text["verbosity"] = given["verbosity"]
    return text


def _choice(choice: Any) -> Any:
    """Flat, where Chat Completions nests."""
    if not isinstance(choice, Mapping):
        return choice
    value = dict(cast("Mapping[str, Any]", choice))
    kind = value.get("type")
    inner = value.pop(kind, None) if isinstance(kind, str) else None
    flat = {**value, **as_dict(inner)}
    if kind == "allowed_tools":
        flat["tools"] = [_choice(tool) for tool in flat.get("tools", ())]
    return flat


def _tool(tool: ToolSpec, name: str) -> dict[str, Any]:
    return _function({"name": name, "description": tool.description, "parameters": tool.parameters})


def _tool_of(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    """A tool in Chat Completions form, as this wire has it; one in the form of this wire as it is."""
    if tool.get("type") == "custom" and (custom := dict(as_dict(tool.get("custom")))):
        form = dict(as_dict(custom.pop("format", None)))
        grammar = as_dict(form.pop("grammar", None))
        return {"type": "custom", **custom, **({"format": {**form, **grammar}} if form else {})}
    if function := as_dict(tool.get("function")):
        return _function(function)
    return {"strict": False, **tool} if tool.get("type") == "function" else tool


def _function(function: Mapping[str, Any]) -> dict[str, Any]:
    """`strict` is said in any case: where it is missing, OpenAI makes every property required."""
    out: dict[str, Any] = {"type": "function", "name": function.get("name")}
    if function.get("description"):
        out["description"] = function["description"]
    return {**out, "parameters": function.get("parameters"), "strict": bool(function.get("strict"))}
