"""What a model without tool calls is told: the tools in its instructions, calls and results as text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from agentloop.arguments import arguments_to_send
from agentloop.messages import AssistantMessage, Message, ToolMessage, UserMessage
from agentloop.model import ModelRequest, ToolSpec
from agentloop.parts import Part, TextPart, ToolCall
from agentloop.shapes import as_dict
from agentloop.wire.codec import dumps
from agentloop.wire.names import tool_name
from agentloop.wire.text_calls import CLOSE_TAG, OPEN_TAG

__all__ = ["as_text", "describe", "hint", "offered"]

_FRAME_END = re.compile(r"</(?=\s*tool_result)", re.IGNORECASE)
_HOW = f"""\
# Tools

You can call the tools below. To call one, end your message with this block, and write nothing after it:

{OPEN_TAG}
{{"name": "the tool's name", "arguments": {{"parameter": "value"}}}}
{CLOSE_TAG}
"""
_SEVERAL = "For several calls write several blocks. "
_RESULTS = (
    "The results come in the next message, between <tool_result> tags. Call a tool only when you need one; when you "
    "can answer, answer in plain words and without a block."
)


def offered(request: ModelRequest) -> list[ToolSpec | Mapping[str, Any]]:
    """The tools that can be described as text: those with a name and parameters."""
    if request.tool_choice == "none":
        return []
    return [tool for tool in request.tools if not isinstance(tool, Mapping) or as_dict(tool.get("function"))]


def describe(request: ModelRequest) -> str | None:
    """The instructions of a request with its tools in them."""
    tools = offered(request)
    if not tools:
        return request.instructions
    several = "" if request.options.get("parallel_tool_calls") is False else _SEVERAL
    told = "\n\n".join((f"{_HOW}\n{several}{_RESULTS}", *map(_described, tools)))
    return f"{request.instructions}\n\n{told}" if request.instructions else told


def _described(tool: ToolSpec | Mapping[str, Any]) -> str:
    name = tool_name(tool)
    if isinstance(tool, Mapping):
        function = as_dict(tool.get("function"))
        description, parameters = str(function.get("description") or ""), as_dict(function.get("parameters"))
    else:
        description, parameters = tool.description, tool.parameters
    schema = dumps(parameters, of=f"tool {name!r}").decode("utf-8", "replace")
    lines = (f"## {name}", description, f"Parameters, as a JSON Schema: {schema}")
    return "\n".join(line for line in lines if line)


def hint(doubt: str, tools: Iterable[ToolSpec | Mapping[str, Any]]) -> str:
    """What the model is told, once, about a call that did not run."""
    names = ", ".join(map(tool_name, tools))
    return (
        f"Nothing was run: your last message may hold a tool call, but {doubt}. If you want to call a tool ({names}), "
        f'end your message with {OPEN_TAG}{{"name": ..., "arguments": {{...}}}}{CLOSE_TAG} and nothing after it. If '
        "not, give your answer in plain words."
    )


def as_text(messages: Sequence[Message]) -> list[Message]:
    """A history in which calls are text of the model, and the results of a step are one message of the user. What has
    no call stays the same object."""
    out: list[Message] = []
    results: list[ToolMessage] = []
    names: dict[str, str] = {}
    for message in messages:
        if isinstance(message, ToolMessage):
            results.append(message)
            continue
        out += _answered(results, names)
        results = []
        if isinstance(message, AssistantMessage) and message.tool_calls:
            names = {call.id: call.name for call in message.tool_calls}
            message = _spoken(message)
        out.append(message)
    return out + _answered(results, names)


def _spoken(message: AssistantMessage) -> AssistantMessage:
    """The turn with its calls behind its text, in the form that the model is taught."""
    blocks = "\n".join(map(_block, message.tool_calls))
    if message.content is None or isinstance(message.content, str):
        return replace(message, content=f"{message.content}\n\n{blocks}" if message.content else blocks, tool_calls=())
    parts = [part for part in message.content if not isinstance(part, ToolCall)]
    gap = "\n\n" if any(isinstance(part, TextPart) and part.text for part in parts) else ""
    return replace(message, content=(*parts, TextPart(gap + blocks)), tool_calls=())


def _block(call: ToolCall) -> str:
    name = json.dumps(call.name, ensure_ascii=False)
    return f'{OPEN_TAG}\n{{"name": {name}, "arguments": {arguments_to_send(call.arguments)}}}\n{CLOSE_TAG}'


def _answered(results: Sequence[ToolMessage], names: Mapping[str, str]) -> list[Message]:
    if not results:
        return []
    parts = [part for result in results for part in _result(result, names.get(result.tool_call_id, ""))]
    texts = [part.text for part in parts if isinstance(part, TextPart)]
    return [UserMessage("\n".join(texts) if len(texts) == len(parts) else tuple(parts))]


def _result(message: ToolMessage, name: str) -> list[Part]:
    failed = ' failed="true"' if message.is_error else ""
    head = f"<tool_result name={json.dumps(name, ensure_ascii=False)}{failed}>"
    content = (TextPart(message.content),) if isinstance(message.content, str) else message.content
    # A result must not be able to end its own frame and speak as the user.
    inside = [
        replace(part, text=_FRAME_END.sub(r"<\\/", part.text)) if isinstance(part, TextPart) else part
        for part in content
    ]
    if all(isinstance(part, TextPart) for part in inside):
        text = "\n".join(part.text for part in inside if isinstance(part, TextPart))
        return [TextPart(f"{head}\n{text}\n</tool_result>")]
    return [TextPart(head), *inside, TextPart("</tool_result>")]
