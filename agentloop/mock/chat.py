"""Chat Completions, as the mock reads and writes it: POST /chat/completions, whole and streamed."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from typing import Any

from agentloop.mock.checks import check_chat_request
from agentloop.mock.conversation import Call, Offer, Question, Reply, Turn, tokens_of
from agentloop.mock.dialect import Dialect, Rendering
from agentloop.mock.refusal import refuse
from agentloop.shapes import as_dict, as_list

__all__ = ["CHAT"]


def _read(body: Mapping[str, Any]) -> Question:
    if (body.get("n") or 1) > 1:
        refuse("The mock provider gives one choice: leave out 'n'.", "n")
    must_call, tools = _choose(body.get("tool_choice"), [_offer(tool) for tool in as_list(body.get("tools"))])
    stop = body.get("stop")
    return Question(
        turns=tuple(_turn(message) for message in body["messages"]),
        tools=tuple(tools),
        must_call=must_call,
        parallel_calls=body.get("parallel_tool_calls") is not False,
        output_schema=_output_schema(as_dict(body.get("response_format"))),
        max_tokens=body.get("max_completion_tokens") or body.get("max_tokens"),
        stop=(stop,) if isinstance(stop, str) else tuple(as_list(stop)),
    )


def _turn(message: dict[str, Any]) -> Turn:
    calls = tuple(_call(item) for item in as_list(message.get("tool_calls")))
    role = "system" if message["role"] == "developer" else message["role"]
    return Turn(role, _text(message.get("content")), calls, message.get("tool_call_id", ""))


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in as_list(content))


def _call(item: dict[str, Any]) -> Call:
    inner = item[item["type"]]
    return Call(inner["name"], inner.get("arguments", inner.get("input", "")), item["id"])


def _offer(tool: dict[str, Any]) -> Offer:
    inner = tool[tool["type"]]
    return Offer(inner["name"], inner.get("description") or "", as_dict(inner.get("parameters")))


def _choose(choice: Any, tools: list[Offer]) -> tuple[bool, list[Offer]]:
    """Whether a call is demanded, and of which tools."""
    if choice == "none":
        return False, []
    if choice == "required" or not isinstance(choice, dict):
        return choice == "required", tools
    chosen = as_dict(choice)
    inner = as_dict(chosen[chosen["type"]])
    if chosen["type"] != "allowed_tools":
        return True, [tool for tool in tools if tool.name == inner["name"]]
    names = [tool[tool["type"]]["name"] for tool in inner["tools"]]
    return inner["mode"] == "required", [tool for tool in tools if tool.name in names]


def _output_schema(response_format: dict[str, Any]) -> dict[str, Any] | None:
    match response_format.get("type"):
        case "json_schema":
            return as_dict(response_format["json_schema"].get("schema"))
        case "json_object":
            return {"type": "object"}
        case _:
            return None


# --- writing ---------------------------------------------------------------------------------------------------------


def _whole(reply: Reply, rendering: Rendering) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or (None if reply.calls else "")}
    message["refusal"] = None
    if reply.reasoning:
        message["reasoning_content"] = reply.reasoning
    if reply.calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in reply.calls
        ]
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reply.finish_word}
    return {**_head("chat.completion", rendering), "choices": [choice], "usage": _usage(reply, rendering.request)}


def _head(kind: str, rendering: Rendering) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{rendering.reply_id}",
        "object": kind,
        "created": int(time.time()),
        "model": rendering.model,
    }


def _streamed(reply: Reply, rendering: Rendering) -> list[bytes]:
    """With `include_usage` a last chunk without choices has the usage, and all others have `usage: null`, as OpenAI's
    API description has it."""
    with_usage = bool(as_dict(rendering.request.get("stream_options")).get("include_usage"))
    head = _head("chat.completion.chunk", rendering)
    tail: dict[str, Any] = {"usage": None} if with_usage else {}
    chunks = [
        {**head, "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}], **tail}
        for delta, finish in _deltas(reply)
    ]
    if with_usage:
        chunks.append({**head, "choices": [], "usage": _usage(reply, rendering.request)})
    return [*(_event(json.dumps(chunk, ensure_ascii=False)) for chunk in chunks), _event("[DONE]")]


def _event(data: str) -> bytes:
    return f"data: {data}\n\n".encode()


def _deltas(reply: Reply) -> Iterator[tuple[dict[str, Any], str | None]]:
    yield {"role": "assistant", "content": None if reply.calls and not reply.text else ""}, None
    for piece in tokens_of(reply.reasoning):
        yield {"reasoning_content": piece}, None
    for piece in tokens_of(reply.text):
        yield {"content": piece}, None
    for index, call in enumerate(reply.calls):
        function = {"name": call.name, "arguments": ""}
        yield {"tool_calls": [{"index": index, "id": call.id, "type": "function", "function": function}]}, None
        for piece in tokens_of(call.arguments):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}, None
    yield {}, reply.finish_word


def _usage(reply: Reply, request: Mapping[str, Any]) -> dict[str, Any]:
    """Counted in the mock's own tokens: pieces of the request's messages and tools, and of the reply."""
    asked = json.dumps([request.get("messages"), request.get("tools")], ensure_ascii=False)
    reasoning = len(tokens_of(reply.reasoning))
    spoken = len(tokens_of(reply.text)) + sum(1 + len(tokens_of(call.arguments)) for call in reply.calls)
    prompt, completion = len(tokens_of(asked)), spoken + reasoning
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": reasoning},
    }


CHAT = Dialect("/chat/completions", check_chat_request, _read, _whole, _streamed)
